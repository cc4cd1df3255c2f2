package plan

import (
	"fmt"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"
)

// Diff returns the unified differences of the files of one change, in the format of git diff.
func (p *Plan) Diff(c *Change) (string, error) {
	var b strings.Builder
	for _, f := range c.Files {
		old, err := p.before.content(f.before)
		if err != nil {
			return "", err
		}
		now, err := p.after.content(f.after)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "diff --git a/%s b/%s\n", f.Path, f.Path)
		oldName, newName := "a/"+f.Path, "b/"+f.Path
		switch f.Op {
		case Added:
			b.WriteString("new file mode 100644\n")
			oldName = "/dev/null"
		case Removed:
			b.WriteString("deleted file mode 100644\n")
			newName = "/dev/null"
		}
		b.WriteString(udiff.Unified(oldName, newName, string(old), string(now)))
	}
	if p.redact != nil {
		return p.redact(b.String()), nil
	}
	return b.String(), nil
}

// Redact hides parts of file contents in the plan: value those of the values of configuration keys, and text those of the differences
// of files.
func (p *Plan) Redact(text func(text string) string, value func(key, value string) string) {
	p.redact = text
	values := map[string]*string{} // many assignments have the same ones
	hide := func(key string, written *string) *string {
		if written == nil {
			return nil
		}
		id := key + ": " + *written
		if values[id] == nil {
			hidden := value(key, *written)
			values[id] = &hidden
		}
		return values[id]
	}
	for _, c := range p.Assignments {
		for i, k := range c.Config {
			c.Config[i].Old, c.Config[i].New = hide(k.Key, k.Old), hide(k.Key, k.New)
		}
	}
}

// DiffLine is a line of unified differences.
type DiffLine struct {
	// Op is [Added] or [Removed]; empty for context and header lines.
	Op Op
	// Head marks header lines, which are not part of a file.
	Head bool
	Text string
}

// DiffLines parses the result of [Plan.Diff]. A line of a file that looks like a header is not mistaken for one.
func DiffLines(diff string) []DiffLine {
	var all []DiffLine
	within := false
	for one := range strings.Lines(diff) {
		l := DiffLine{Text: strings.TrimSuffix(one, "\n")}
		switch {
		case strings.HasPrefix(one, "diff "):
			within = false
		case strings.HasPrefix(one, "@@"):
			within, l.Head = true, true
		case within && strings.HasPrefix(one, "+"):
			l.Op = Added
		case within && strings.HasPrefix(one, "-"):
			l.Op = Removed
		}
		l.Head = l.Head || !within
		all = append(all, l)
	}
	return all
}
