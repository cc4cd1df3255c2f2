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
	return b.String(), nil
}
