package output

import (
	"cmp"
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

// changes prints a row for each group of equal changes.
func (v Plan) changes(w io.Writer) error {
	groups := v.Plan.Groups()
	if len(groups) == 0 {
		return nil
	}
	shown, left := mostUrgent(groups)
	t := &terminal.Table{Indent: "  "}
	types, titles := 0, 0 // the widths of the columns before the details
	for _, g := range shown {
		types, titles = max(types, len(names(g.Places(), 3, "cluster types"))), max(titles, len(targets(g)))
	}
	for _, g := range shown {
		lines := wrapped(v.details(g), max(minDetail, maxLine-len("  -  ")-types-2-titles-2))
		head := []terminal.Cell{symbol(v.Style, g.Op), terminal.Plain(names(g.Places(), 3, "cluster types")), terminal.Plain(targets(g))}
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

// Widths in characters: of a row, and of the column of details if the others leave less.
const (
	maxLine   = 198
	minDetail = 60
)

// wrapped breaks lines that are too wide, at spaces if there are any.
func wrapped(lines []terminal.Cell, width int) []terminal.Cell {
	var all []terminal.Cell
	for _, line := range lines {
		rest := []rune(line.Text)
		for len(rest) > width {
			at := width
			for at > width/2 && rest[at] != ' ' {
				at--
			}
			if rest[at] != ' ' {
				at = width
			}
			cell := line
			cell.Text = strings.TrimRight(string(rest[:at]), " ")
			all = append(all, cell)
			rest = append([]rune("  "), []rune(strings.TrimLeft(string(rest[at:]), " "))...)
		}
		line.Text = string(rest)
		all = append(all, line)
	}
	return all
}

// maxGroups bounds the rows of changes.
const maxGroups = 100

// mostUrgent returns up to maxGroups groups in their order, and how many assignments it left out.
// Removed and held assignments are kept first.
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

// symbol returns the sign of an operation in plans of fleets and applications.
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

// maxNames bounds the width of a column of names, so that the next column stays visible.
const maxNames = 48

// names lists up to most names, or counts them.
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

// targets names the only target of a group, or counts its assignments.
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

// maxKeys bounds the configuration keys of a group.
const maxKeys = 12

// details describes the change of a group in at least one line.
func (v Plan) details(g plan.Group) []terminal.Cell {
	lines := v.operation(g)
	if rights := g.Rights(); rights != "" {
		lines = append([]terminal.Cell{terminal.Painted(v.Style.Yellow, rights)}, lines...)
	}
	return lines
}

// operation describes what happens to the assignments of a group, in at least one line.
func (v Plan) operation(g plan.Group) []terminal.Cell {
	c := g.Changes[0]
	switch g.Op {
	case plan.Added:
		return []terminal.Cell{terminal.Painted(v.Style.Dim, cmp.Or(c.Renamed(), by(c.Policies)))}
	case plan.Removed:
		lines := []terminal.Cell{terminal.Painted(v.Style.Dim, cmp.Or(c.Renamed(), c.Why()))}
		if len(g.Gone()) > 0 {
			lines = append(lines, terminal.Painted(v.Style.Red, gone(g)))
		}
		if left := g.MayStay(); left != "" {
			lines = append(lines, terminal.Painted(v.Style.Yellow, left))
		}
		return lines
	case plan.Held:
		return []terminal.Cell{terminal.Plain("held: " + WithPosition(c.Reason.Message, c.Reason.Position))}
	}
	var lines []terminal.Cell
	for _, source := range c.Sources {
		lines = append(lines, terminal.Plain("reconciler: "+terminal.Printable(source.String())))
	}
	for i, key := range c.Config {
		if g.Differ && i < maxKeys {
			lines = append(lines, terminal.Plain(key.Key+"  another value for each cluster"))
			continue
		}
		if i == maxKeys {
			lines = append(lines, terminal.Painted(v.Style.Dim, fmt.Sprintf("and %d more keys", len(c.Config)-maxKeys)))
			break
		}
		lines = append(lines, v.config(key)...)
	}
	if len(c.Gone) > 0 {
		lines = append(lines, terminal.Painted(v.Style.Red, gone(g)))
	}
	if all := g.HandedOver(); len(all) > 0 {
		lines = append(lines, terminal.Plain(objects(all)+" handed over: kept beside the new ones, and deletes nothing any more"))
	}
	if all := g.Retired(); len(all) > 0 {
		lines = append(lines, terminal.Plain("clusters delete "+objects(all)+" handed over before, and nothing with them"))
	}
	if len(lines) == 0 {
		return []terminal.Cell{terminal.Plain(fileNames(c.Files))}
	}
	if others := otherFiles(c); len(others) > 0 {
		lines = append(lines, terminal.Painted(v.Style.Dim, "and "+fileNames(others)))
	}
	return lines
}

// otherFiles returns changed files that the configuration keys do not cover.
func otherFiles(c *plan.Change) []plan.FileChange {
	return slices.DeleteFunc(slices.Clone(c.Files), func(f plan.FileChange) bool {
		return len(c.Config) > 0 && bundle.IsConfig(f.Path) || len(c.Sources) > 0 && path.Base(f.Path) == "reconciler.yaml"
	})
}

// gone returns which objects of a group clusters delete.
func gone(g plan.Group) string {
	all := g.Gone()
	return "clusters delete " + objects(all) + takenAlong(all[0])
}

// objects names the only object, or counts them with an example.
func objects(all []plan.Object) string {
	if len(all) == 1 {
		return all[0].String()
	}
	return fmt.Sprintf("%d objects, such as %s", len(all), all[0])
}

// takenAlong returns what clusters delete with an object.
func takenAlong(o plan.Object) string {
	switch {
	case o.Kind == "Namespace":
		return ", and everything in it"
	case o.Applies():
		return ", and what it applied"
	}
	return ""
}

func by(policies []string) string {
	if len(policies) == 0 {
		return ""
	}
	return "by " + strings.Join(policies, ", ")
}

// config returns the values of a key on one line, and below it the position of the new value.
func (v Plan) config(c plan.ConfigChange) []terminal.Cell {
	line := terminal.Plain(c.Key + "  " + Value(c.Old) + " -> " + Value(c.New))
	if c.From == (fleet.Position{}) {
		return []terminal.Cell{line}
	}
	origin := Position(c.From)
	if c.Over != (fleet.Position{}) {
		origin += ", over " + Position(c.Over)
	}
	return []terminal.Cell{line, terminal.Painted(v.Style.Dim, "  "+origin)}
}

// maxValue bounds a configuration value, in characters.
const maxValue = 80

// Value returns a shortened configuration value. A missing value differs from an empty one.
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

// fileNames lists changed files, with a sign for new and removed ones.
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
