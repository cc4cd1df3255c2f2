package output

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// changes shows a row for each group of changes that say the same.
func (v Plan) changes(w io.Writer) error {
	groups := v.Plan.Groups()
	if len(groups) == 0 {
		return nil
	}
	shown, left := mostUrgent(groups)
	t := &terminal.Table{Indent: "  "}
	for _, g := range shown {
		lines := v.details(g)
		head := []terminal.Cell{symbol(v.Style, g.Op), terminal.Plain(names(g.ClusterTypes(), 3, "cluster types")), terminal.Plain(targets(g))}
		t.Row(append(head, lines[0])...)
		for _, line := range lines[1:] {
			t.Row(terminal.Plain(""), terminal.Plain(""), terminal.Plain(""), line)
		}
	}
	fmt.Fprintln(w)
	if err := t.Write(w); err != nil || left == 0 {
		return err
	}
	_, err := fmt.Fprintf(w, "  %s\n", v.Style.Dim(fmt.Sprintf("and %s like these; -o json lists all", terminal.Count(left, "more assignment"))))
	return err
}

// maxGroups is how many rows of changes a person reads.
const maxGroups = 100

// mostUrgent returns up to maxGroups groups in their order, and how many assignments are left out.
// What is removed or held is left out last.
func mostUrgent(groups []plan.Group) (shown []plan.Group, left int) {
	room := maxGroups
	keep := make([]bool, len(groups))
	for _, op := range []plan.Op{plan.Removed, plan.Held, plan.Added, plan.Changed} {
		for i, g := range groups {
			if g.Op == op && room > 0 {
				keep[i] = true
				room--
			}
		}
	}
	for i, g := range groups {
		if keep[i] {
			shown = append(shown, g)
		} else {
			left += len(g.Changes)
		}
	}
	return shown, left
}

// symbol is what happens to something, in one sign: plans of fleets and of applications have the same words for it.
func symbol[Op ~string](s terminal.Style, op Op) terminal.Cell {
	switch plan.Op(op) {
	case plan.Added:
		return terminal.Painted(s.Green, "+")
	case plan.Removed:
		return terminal.Painted(s.Red, "-")
	case plan.Held:
		return terminal.Painted(s.Yellow, "!")
	default:
		return terminal.Painted(s.Yellow, "~")
	}
}

// maxNames is how wide a column of names gets, so that what follows it stays in sight.
const maxNames = 48

// names lists a few names, or counts them.
func names(all []string, most int, plural string) string {
	joined := strings.Join(all, ", ")
	switch {
	case len(all) == 1 || len(all) <= most && len(joined) <= maxNames:
		return joined
	case len(all) <= most:
		return fmt.Sprintf("%s and %d more", all[0], len(all)-1)
	}
	return fmt.Sprintf("%d %s", len(all), plural)
}

// targets names the one target of a group, or counts its assignments.
func targets(g plan.Group) string {
	all := g.Targets()
	switch {
	case len(all) == 1:
		return all[0]
	case len(g.Changes) == len(all):
		return names(all, 2, "targets")
	default:
		return fmt.Sprintf("%s (%d assignments)", names(all, 2, "targets"), len(g.Changes))
	}
}

// maxKeys is how many configuration keys of a group are shown one by one.
const maxKeys = 12

// details says what happens to the assignments of a group, in at least one line.
func (v Plan) details(g plan.Group) []terminal.Cell {
	c := g.Changes[0]
	switch g.Op {
	case plan.Added:
		return []terminal.Cell{terminal.Painted(v.Style.Dim, by(c.Policies))}
	case plan.Removed:
		return []terminal.Cell{terminal.Painted(v.Style.Dim, v.whyRemoved(g))}
	case plan.Held:
		return []terminal.Cell{terminal.Plain("held: " + Placed(c.Reason.Message, c.Reason.Position))}
	}
	var lines []terminal.Cell
	for i, key := range c.Config {
		if i == maxKeys {
			lines = append(lines, terminal.Painted(v.Style.Dim, fmt.Sprintf("and %d more keys", len(c.Config)-maxKeys)))
			break
		}
		lines = append(lines, v.config(key)...)
	}
	if len(c.Gone) > 0 {
		lines = append(lines, terminal.Painted(v.Style.Red, gone(g)))
	}
	if len(lines) == 0 {
		return []terminal.Cell{terminal.Plain(fileNames(c.Files))}
	}
	if others := otherFiles(c); len(others) > 0 {
		lines = append(lines, terminal.Painted(v.Style.Dim, "and "+fileNames(others)))
	}
	return lines
}

// otherFiles are the files of a change that its configuration keys and lost namespaces say nothing about.
func otherFiles(c *plan.Change) []plan.FileChange {
	return slices.DeleteFunc(slices.Clone(c.Files), func(f plan.FileChange) bool {
		return len(c.Config) > 0 && bundle.IsConfig(f.Path) || len(c.Gone) > 0 && path.Base(f.Path) == "namespace.yaml"
	})
}

// gone says which namespaces a group loses: one by its name, more by their number.
func gone(g plan.Group) string {
	all := g.Gone()
	if len(all) == 1 {
		return "namespace " + all[0] + " is not written any more: clusters delete it"
	}
	return fmt.Sprintf("%d namespaces, such as %s, are not written any more: clusters delete them", len(all), all[0])
}

// whyRemoved says what is missing, as far as the two states tell.
func (v Plan) whyRemoved(g plan.Group) string {
	removed := map[string]bool{}
	for _, ct := range v.Plan.ClusterTypes {
		removed[ct.Name] = ct.Op == plan.Removed
	}
	for _, name := range g.ClusterTypes() {
		if !removed[name] {
			return "nothing schedules it any more"
		}
	}
	return "the cluster type is gone"
}

func by(policies []string) string {
	if len(policies) == 0 {
		return ""
	}
	return "by " + strings.Join(policies, ", ")
}

// config shows one key: its values in one line, and below it where the new one is written.
func (v Plan) config(c plan.ConfigChange) []terminal.Cell {
	line := terminal.Plain(c.Key + "  " + Value(c.Old) + " -> " + Value(c.New))
	if c.From == (fleet.Position{}) {
		return []terminal.Cell{line}
	}
	origin := Where(c.From)
	if c.Over != (fleet.Position{}) {
		origin += ", over " + Where(c.Over)
	}
	return []terminal.Cell{line, terminal.Painted(v.Style.Dim, "  "+origin)}
}

// maxValue is how much of a configuration value is shown.
const maxValue = 80

// Value shows a configuration value; one that is not there differs from an empty one.
func Value(text *string) string {
	switch {
	case text == nil:
		return "(not set)"
	case *text == "":
		return `""`
	}
	runes := []rune(*text)
	if len(runes) > maxValue {
		return string(runes[:maxValue]) + "…"
	}
	return *text
}

// fileNames lists the files that differ: with a sign where a file is new or gone.
func fileNames(files []plan.FileChange) string {
	var all []string
	for _, f := range files {
		sign := ""
		switch f.Op {
		case plan.Added:
			sign = "+"
		case plan.Removed:
			sign = "-"
		}
		all = append(all, sign+path.Base(f.Path))
	}
	return strings.Join(all, ", ")
}
