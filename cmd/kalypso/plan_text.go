package main

import (
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/bundle"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/plan"
)

// planText shows a plan to a person: what is compared, what happens to which assignments and why, and the sum of it.
type planText struct {
	plan  *plan.Plan
	style style
	// diff adds the unified difference of every file.
	diff bool
}

// write shows the plan.
func (v planText) write(w io.Writer) error {
	s := v.style
	fmt.Fprintf(w, "%s   %s   compared with   %s\n", s.bold(printable(v.plan.Environment)), printable(v.plan.After), printable(v.plan.Before))
	if p := v.plan.Promotion; p != nil {
		fmt.Fprintf(w, "promotes main to %s%s\n", short(p.To), wasAt(p.From))
	}
	if err := v.changes(w); err != nil {
		return err
	}
	v.drift(w)
	v.sum(w)
	v.problems(w)
	for _, r := range v.plan.Refusals {
		fmt.Fprintf(w, "\n  %s %s\n", s.red("refused:"), printable(r.Message))
	}
	if v.diff && len(v.plan.Assignments) > 0 {
		fmt.Fprintln(w)
		return v.diffs(w)
	}
	return nil
}

func wasAt(commit string) string {
	if commit == "" {
		return ""
	}
	return ", it was at " + short(commit)
}

func short(commit string) string { return printable(commit[:min(7, len(commit))]) }

// changes shows a row for each group of changes that say the same.
func (v planText) changes(w io.Writer) error {
	groups := v.plan.Groups()
	if len(groups) == 0 {
		return nil
	}
	shown, left := mostUrgent(groups)
	t := &table{indent: "  "}
	for _, g := range shown {
		lines := v.details(g)
		head := []cell{v.symbol(g.Op), plain(names(g.ClusterTypes(), 3, "cluster types")), plain(targets(g))}
		t.row(append(head, lines[0])...)
		for _, line := range lines[1:] {
			t.row(plain(""), plain(""), plain(""), line)
		}
	}
	fmt.Fprintln(w)
	if err := t.write(w); err != nil || left == 0 {
		return err
	}
	_, err := fmt.Fprintf(w, "  %s\n", v.style.dim(fmt.Sprintf("and %s like these; -o json lists all", count(left, "more assignment"))))
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

func (v planText) symbol(op plan.Op) cell {
	switch op {
	case plan.Added:
		return painted(v.style.green, "+")
	case plan.Removed:
		return painted(v.style.red, "-")
	case plan.Held:
		return painted(v.style.yellow, "!")
	default:
		return painted(v.style.yellow, "~")
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
func (v planText) details(g plan.Group) []cell {
	c := g.Changes[0]
	switch g.Op {
	case plan.Added:
		return []cell{painted(v.style.dim, by(c.Policies))}
	case plan.Removed:
		return []cell{painted(v.style.dim, v.whyRemoved(c))}
	case plan.Held:
		return []cell{plain("held: " + placed(c.Reason.Message, c.Reason.Position))}
	}
	var lines []cell
	for i, key := range c.Config {
		if i == maxKeys {
			lines = append(lines, painted(v.style.dim, fmt.Sprintf("and %d more keys", len(c.Config)-maxKeys)))
			break
		}
		lines = append(lines, v.config(key)...)
	}
	for _, namespace := range c.Gone {
		lines = append(lines, painted(v.style.red, "namespace "+namespace+" is not written any more: clusters delete it"))
	}
	if len(lines) == 0 {
		return []cell{plain(fileNames(c.Files))}
	}
	if others := otherFiles(c); len(others) > 0 {
		lines = append(lines, painted(v.style.dim, "and "+fileNames(others)))
	}
	return lines
}

// otherFiles are the files of a change that its configuration keys and lost namespaces say nothing about.
func otherFiles(c *plan.Change) []plan.FileChange {
	return slices.DeleteFunc(slices.Clone(c.Files), func(f plan.FileChange) bool {
		return len(c.Config) > 0 && bundle.IsConfig(f.Path) || len(c.Gone) > 0 && path.Base(f.Path) == "namespace.yaml"
	})
}

// whyRemoved says what is missing, as far as the two states tell.
func (v planText) whyRemoved(c *plan.Change) string {
	for _, ct := range v.plan.ClusterTypes {
		if ct.Name == c.ClusterType && ct.Op == plan.Removed {
			return "the cluster type is gone"
		}
	}
	return "nothing schedules it any more"
}

func by(policies []string) string {
	if len(policies) == 0 {
		return ""
	}
	return "by " + strings.Join(policies, ", ")
}

func at(p fleet.Position) string {
	if p.File == "" {
		return ""
	}
	return "  (" + where(p) + ")"
}

// where names a place, and its repository unless that is the control plane.
func where(p fleet.Position) string {
	if isElsewhere(p.Source) {
		return p.Source + ": " + p.String()
	}
	return p.String()
}

// placed says where something is. A message that names the file already only gets the line.
func placed(message string, p fleet.Position) string {
	if p.File == "" || !strings.Contains(message, p.File) {
		return message + at(p)
	}
	if strings.Contains(message, p.String()) {
		return message
	}
	return strings.Replace(message, p.File, p.String(), 1)
}

// config shows one key: its values in one line, and below it where the new one is written.
func (v planText) config(c plan.ConfigChange) []cell {
	line := plain(c.Key + "  " + value(c.Old) + " -> " + value(c.New))
	if c.From == (fleet.Position{}) {
		return []cell{line}
	}
	origin := where(c.From)
	if c.Over != (fleet.Position{}) {
		origin += ", over " + where(c.Over)
	}
	return []cell{line, painted(v.style.dim, "  "+origin)}
}

// maxValue is how much of a configuration value is shown.
const maxValue = 80

// value shows a configuration value; one that is not there differs from an empty one.
func value(text *string) string {
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

// drift lists what was changed by hand.
func (v planText) drift(w io.Writer) {
	if len(v.plan.Drift) == 0 {
		return
	}
	fmt.Fprintf(w, "\n  changed by hand on the GitOps branch, and restored:\n")
	for _, d := range v.plan.Drift {
		what := ""
		if d.Deleted {
			what = "  (deleted)"
		}
		fmt.Fprintf(w, "    %s%s\n", printable(d.Path), what)
	}
}

// sum shows the counts and the budget.
func (v planText) sum(w io.Writer) {
	c, b := v.plan.Counts, v.plan.Budget
	fmt.Fprintf(w, "\n  %d added, %d changed, %d removed, %d held, %d unchanged", c.Added, c.Changed, c.Removed, c.Held, c.Unchanged)
	if b.Removals > 0 {
		fmt.Fprintf(w, "       removals %d of a budget of %d", b.Removals, b.Allowed)
	}
	fmt.Fprintln(w)
	if v.plan.OnlyRecords() {
		fmt.Fprintf(w, "  no assignment changes, but README or inventory of %s\n", count(len(v.plan.ClusterTypes), "cluster type"))
	}
}

// maxProblems is how many problems a plan shows; "kalypso validate" lists them all.
const maxProblems = 20

// problems shows what has to be mended, but not what a held assignment said already, and no notices.
func (v planText) problems(w io.Writer) {
	said := map[fleet.Problem]bool{}
	for _, c := range v.plan.Assignments {
		if c.Reason != nil {
			said[*c.Reason] = true
		}
	}
	t, left := &table{indent: "  "}, 0
	for _, p := range v.plan.Problems {
		switch {
		case p.Severity == fleet.SeverityNotice || said[p]:
		case len(t.rows) == maxProblems:
			left++
		default:
			t.row(v.style.severity(p.Severity), plain(placed(sentence(p), p.Position)))
		}
	}
	if len(t.rows) > 0 {
		fmt.Fprintln(w)
		_ = t.write(w) // the writer is the one that shows everything else; it fails there as well
	}
	if left > 0 {
		fmt.Fprintf(w, "  and %s\n", count(left, "more problem"))
	}
	if len(t.rows) > 0 || v.plan.Counts.Held > 0 {
		fmt.Fprintf(w, "\n  %s\n", v.style.dim("what to do about it: kalypso validate -e "+shellWord(v.plan.Environment)))
	}
}

// maxName is the longest name that says something to people; messages quote longer ones in part.
const maxName = 63

// sentence says what is wrong with what: most messages leave out the object they are about.
func sentence(p fleet.Problem) string {
	if p.Object.Name == "" || len(p.Object.Name) > maxName || mentions(p.Message, p.Object.Name) {
		return p.Message
	}
	return fmt.Sprintf("%s %s: %s", p.Object.Kind, p.Object.Name, p.Message)
}

// mentions reports whether a text has a name in it as a word of its own, not as a part of a path or of another name.
func mentions(text, name string) bool {
	for {
		before, after, found := strings.Cut(text, name)
		if !found {
			return false
		}
		if !strings.ContainsAny(last(before), wordBytes) && !strings.ContainsAny(first(after), wordBytes+"/") {
			return true
		}
		text = after
	}
}

const wordBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."

func first(s string) string { return s[:min(1, len(s))] }

func last(s string) string { return s[max(0, len(s)-1):] }

// severity names how bad a problem is.
func (s style) severity(severity fleet.Severity) cell {
	switch severity {
	case fleet.SeverityError:
		return painted(s.red, "error")
	case fleet.SeverityWarning:
		return painted(s.yellow, "warning")
	default:
		return painted(s.dim, "notice")
	}
}

// diffs shows the unified differences.
func (v planText) diffs(w io.Writer) error {
	for i := range v.plan.Assignments {
		diff, err := v.plan.Diff(&v.plan.Assignments[i])
		if err != nil {
			return err
		}
		for line := range strings.Lines(diff) {
			fmt.Fprintln(w, v.diffLine(printableText(strings.TrimSuffix(line, "\n"))))
		}
	}
	return nil
}

func (v planText) diffLine(line string) string {
	switch {
	case strings.HasPrefix(line, "+++"), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "diff "):
		return v.style.bold(line)
	case strings.HasPrefix(line, "+"):
		return v.style.green(line)
	case strings.HasPrefix(line, "-"):
		return v.style.red(line)
	}
	return line
}
