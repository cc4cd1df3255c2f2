package local

import (
	"cmp"
	"fmt"
	"html"
	"html/template"
	"path"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/local/syntax"
	"github.com/kalypso-io/kalypso/internal/text/words"
)

// Limits of a page: files of a pull request, and lines of all files.
const (
	maxDiffFiles = 500
	maxDiffLines = 20_000
	// foldAfter is how many lines of a file are shown unfolded.
	foldAfter = 300
)

const tooManyLines = "The change has too many lines to show them all."

// diff is a pull request's diff.
type diff struct {
	Files []fileDiff
	// Changed is the number of files, of which More are not shown.
	Changed, More  int
	Added, Removed int
}

// fileDiff is the diff of one file.
type fileDiff struct {
	Name string
	// What is the kind of change: "added", "changed", "removed".
	What string
	// Kind is the file's type if it changed. Empty for a new regular file.
	Kind           string
	Added, Removed int
	// Hidden is the reason why lines are not shown. Empty if they are.
	Hidden string
	Folded bool
	// Generated means that a program reads the file: an inventory.
	Generated bool
	Hunks     []hunk
	// Notes are annotations of the file, or of lines that are not shown.
	Notes []forge.Annotation
}

type hunk struct {
	// Old and New are the numbers of the first lines.
	Old, New int
	Lines    []diffLine
}

type diffLine struct {
	// Class is the line's style: "same", "added", "removed".
	Class string
	// Old and New are line numbers; 0 on the side that lacks the line.
	Old, New int
	Sign     string
	Text     string
	// Code is the highlighted text. Empty without highlighting.
	Code template.HTML
	// changed is where the part begins and ends that differs from the other version of the line; equal if nothing
	// is marked.
	changed [2]int
	// Notes are the annotations of the head's line.
	Notes []forge.Annotation
}

// diffOf computes the diff of changes.
func diffOf(objects bare, changes object.Changes) (diff, error) {
	d := diff{Changed: len(changes), More: max(0, len(changes)-maxDiffFiles)}
	lines := 0
	for _, c := range changes[:len(changes)-d.More] {
		f, err := diffFile(objects, c, maxDiffLines-lines)
		if err != nil {
			return diff{}, err
		}
		lines += f.Added + f.Removed
		d.Added, d.Removed = d.Added+f.Added, d.Removed+f.Removed
		d.Files = append(d.Files, f)
	}
	return d, nil
}

// diffFile computes the diff of one file. If it has more than left lines, they are only counted.
func diffFile(objects bare, c *object.Change, left int) (fileDiff, error) {
	f := fileDiff{Name: c.To.Name, What: "changed", Kind: newKind(c)}
	switch {
	case c.From.Name == "":
		f.What = "added"
	case c.To.Name == "":
		f.Name, f.What = c.From.Name, "removed"
	}
	if left <= 0 {
		f.Hidden = tooManyLines
		return f, nil
	}
	before, hidden, err := sideOf(objects, c.From)
	if err != nil {
		return f, err
	}
	after, hiddenToo, err := sideOf(objects, c.To)
	if err != nil {
		return f, err
	}
	if f.Hidden = cmp.Or(hidden, hiddenToo); f.Hidden != "" || before == after {
		return f, nil
	}
	unified, err := udiff.ToUnifiedDiff(f.Name, f.Name, before, udiff.Lines(before, after), udiff.DefaultContextLines)
	if err != nil {
		return f, err
	}
	f.addHunks(unified)
	f.Generated = isInventory(f.Name)
	f.Folded = f.Added+f.Removed > foldAfter || f.Generated
	if f.Added+f.Removed > left {
		f.Hunks, f.Hidden = nil, tooManyLines
	}
	return f, nil
}

// isInventory reports whether Kalypso keeps account of generated files in a file, for programs.
func isInventory(name string) bool {
	return slices.Contains(strings.Split(path.Dir(name), "/"), ".kalypso") && path.Ext(name) == ".json"
}

// newKind returns a file's new type if it changed. The lines do not show that: a link's content is its target.
func newKind(c *object.Change) string {
	before, now := cmp.Or(c.From.TreeEntry.Mode, filemode.Regular), c.To.TreeEntry.Mode
	switch {
	case c.To.Name == "" || before == now:
		return ""
	case now == filemode.Executable:
		return "program"
	}
	return kindOf(now)
}

func sideOf(objects bare, side object.ChangeEntry) (text, hidden string, err error) {
	if side.TreeEntry.Mode == filemode.Submodule {
		return "commit " + side.TreeEntry.Hash.String() + "\n", "", nil
	}
	return readText(objects, side.TreeEntry.Hash)
}

func (f *fileDiff) addHunks(unified udiff.UnifiedDiff) {
	for _, h := range unified.Hunks {
		shown := hunk{Old: h.FromLine, New: h.ToLine}
		before, after := h.FromLine, h.ToLine
		for _, l := range h.Lines {
			line := diffLine{Text: strings.TrimSuffix(l.Content, "\n")}
			switch l.Kind {
			case udiff.Delete:
				line.Class, line.Sign, line.Old = "removed", "-", before
				before, f.Removed = before+1, f.Removed+1
			case udiff.Insert:
				line.Class, line.Sign, line.New = "added", "+", after
				after, f.Added = after+1, f.Added+1
			default:
				line.Class, line.Sign, line.Old, line.New = "same", " ", before, after
				before, after = before+1, after+1
			}
			shown.Lines = append(shown.Lines, line)
		}
		words.Pairs(len(shown.Lines), func(i int) byte { return shown.Lines[i].Sign[0] }, func(removed, added int) {
			mark(&shown.Lines[removed], &shown.Lines[added])
		})
		f.Hunks = append(f.Hunks, shown)
	}
}

// mark marks what differs between two versions of a line.
func mark(before, after *diffLine) {
	if b, a, ok := words.Changed(before.Text, after.Text); ok {
		before.changed, after.changed = changedPart(b), changedPart(a)
	}
}

func changedPart(p words.Parts) [2]int { return [2]int{len(p.Prefix), len(p.Prefix) + len(p.Changed)} }

// HTML is the line, highlighted if possible, with what changed in it marked.
func (l diffLine) HTML() template.HTML {
	code := l.Code
	if code == "" {
		code = template.HTML(template.HTMLEscapeString(l.Text)) //nolint:gosec // it is escaped
	}
	if l.changed[0] == l.changed[1] {
		return code
	}
	return template.HTML(markText(string(code), l.changed[0], l.changed[1])) //nolint:gosec // it only adds <mark> between characters
}

// markText puts <mark> around the bytes from and to of the text of well-formed HTML. Marks end before tags and
// begin again after them.
func markText(code string, from, to int) string {
	var out strings.Builder
	at, open := 0, false
	set := func(want bool) {
		switch {
		case want && !open:
			out.WriteString("<mark>")
		case open && !want:
			out.WriteString("</mark>")
		}
		open = want
	}
	for len(code) > 0 {
		n, length := htmlToken(code)
		set(length > 0 && at >= from && at < to)
		out.WriteString(code[:n])
		code, at = code[n:], at+length
	}
	set(false)
	return out.String()
}

// htmlToken returns the length of the first tag, escaped character or byte of HTML, and that of its text.
func htmlToken(code string) (n, length int) {
	if end := strings.IndexByte(code, '>'); code[0] == '<' && end > 0 {
		return end + 1, 0
	}
	if end := strings.IndexByte(code, ';'); code[0] == '&' && end > 0 {
		return end + 1, len(html.UnescapeString(code[:end+1]))
	}
	return 1, 1
}

// paint highlights the visible lines. Each side of a hunk is parsed as a separate text.
func (d *diff) paint(p *syntax.Painter) {
	for _, f := range d.Files {
		for _, h := range f.Hunks {
			paintSide(p, f.Name, h.Lines, "added")
			paintSide(p, f.Name, h.Lines, "removed")
		}
	}
}

// paintSide highlights the lines of one side that are not highlighted yet. It skips lines with the class leave,
// which only the other side has.
func paintSide(p *syntax.Painter, name string, all []diffLine, leave string) {
	var text strings.Builder
	var side []*diffLine
	bare := false
	for i := range all {
		if line := &all[i]; line.Class != leave {
			side = append(side, line)
			text.WriteString(line.Text + "\n")
			bare = bare || line.Code == ""
		}
	}
	if !bare {
		return
	}
	for i, code := range p.Lines(name, text.String()) {
		if side[i].Code == "" {
			side[i].Code = code
		}
	}
}

// Findings returns the file's number of annotations.
func (f fileDiff) Findings() int {
	n := len(f.Notes)
	for _, h := range f.Hunks {
		for _, l := range h.Lines {
			n += len(l.Notes)
		}
	}
	return n
}

// annotate adds annotations to their lines or files. Annotations of other files are dropped.
func (d *diff) annotate(all []forge.Annotation) {
	for _, a := range all {
		for i := range d.Files {
			if f := &d.Files[i]; f.Name == a.File && f.What != "removed" {
				f.annotate(a)
			}
		}
	}
}

func (f *fileDiff) annotate(a forge.Annotation) {
	for _, h := range f.Hunks {
		for i := range h.Lines {
			if h.Lines[i].New == a.Line && a.Line > 0 {
				h.Lines[i].Notes = append(h.Lines[i].Notes, a)
				return
			}
		}
	}
	if a.Line > 0 {
		a.Title = strings.TrimSpace(fmt.Sprintf("line %d %s", a.Line, a.Title))
	}
	f.Notes = append(f.Notes, a)
}
