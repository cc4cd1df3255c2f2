package plan

import (
	"fmt"
	"html"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/text/markdown"
)

// MarkdownOptions say how much a Markdown plan shows.
type MarkdownOptions struct {
	// Diffs adds the folded unified differences.
	Diffs bool
	// Limit is the most bytes the text may have; what does not fit is cut at a line and said. 0 means no limit.
	Limit int
}

// Markdown returns the plan as a comment or body of a pull request: counts, a table of assignments,
// configuration changes with their origin, problems.
// Everything that comes from repositories is escaped: a name cannot become a link, a mention or HTML.
func (p *Plan) Markdown(o MarkdownOptions) string {
	m := page{plan: p, groups: p.Groups()}
	m.summary()
	m.refusals()
	m.assignments()
	m.configuration()
	m.drift()
	m.problems()
	if o.Diffs {
		m.diffs(o.Limit)
	}
	return m.cut(o.Limit)
}

type page struct {
	strings.Builder
	plan   *Plan
	groups []Group
	// folds are where the folded differences begin, and where the last of them ends.
	folds []int
}

func (m *page) line(format string, args ...any) {
	fmt.Fprintf(m, format, args...)
	m.WriteByte('\n')
}

func (m *page) summary() {
	p, c := m.plan, m.plan.Counts
	m.line("### %s: %d added, %d changed, %d removed, %d held\n", markdown.Escape(p.Environment), c.Added, c.Changed, c.Removed, c.Held)
	m.line("%s compared with %s; %s unchanged.", markdown.Escape(p.After), markdown.Escape(p.Before), assignmentCount(c.Unchanged))
	if p.Budget.Removals > 0 {
		m.line("Removals: %d of a budget of %d.", p.Budget.Removals, p.Budget.Allowed)
	}
	if p.Promotion != nil {
		m.line("Promotes main to %s.", markdown.Code(p.Promotion.To))
	}
	if p.OnlyRecords() {
		m.line("No manifest changes; the records of who scheduled what do.")
	}
}

func (m *page) refusals() {
	for _, r := range m.plan.Refusals {
		m.line("\n> **This waits for a person:** %s", markdown.Escape(r.Message))
	}
}

// maxRows is how many rows a table has; more cannot be read, and forges limit the size of a text.
const maxRows = 200

func (m *page) assignments() {
	groups := m.groups
	if len(groups) == 0 {
		return
	}
	m.line("\n| | cluster types | target | |\n|---|---|---|---|")
	for i, g := range groups {
		if i == maxRows {
			m.line("| | | | and %d more rows |", len(groups)-maxRows)
			break
		}
		m.line("| %s | %s | %s | %s |", g.Op, list(g.ClusterTypes()), list(g.Targets()), m.detail(g))
	}
}

func (m *page) detail(g Group) string {
	c := g.Changes[0]
	switch {
	case g.Op == Held:
		return markdown.Escape(c.Reason.Message) + at(c.Reason.Position)
	case g.Op == Removed:
		return "nothing schedules it any more"
	case g.Op == Added && len(c.Policies) > 0:
		return "by " + list(c.Policies)
	case len(c.Gone) > 0:
		return "deletes namespace " + list(g.Gone())
	case len(c.Config) > 0:
		keys := make([]string, len(c.Config))
		for i, k := range c.Config {
			keys[i] = k.Key
		}
		return list(keys)
	case g.Op == Changed:
		files := make([]string, len(c.Files))
		for i, f := range c.Files {
			files[i] = path.Base(f.Path)
		}
		return list(files)
	}
	return ""
}

func at(p fleet.Position) string {
	if p == (fleet.Position{}) {
		return ""
	}
	return " (" + markdown.Code(p.String()) + ")"
}

func (m *page) configuration() {
	seen := map[string]bool{}
	for _, g := range m.groups {
		for _, k := range g.Changes[0].Config {
			row := fmt.Sprintf("| %s | %s | %s | %s |", markdown.Code(k.Key), shown(k.Old), shown(k.New), origins(k))
			if seen[row] {
				continue
			}
			if len(seen) == 0 {
				m.line("\n#### Configuration\n\n| key | old | new | written at |\n|---|---|---|---|")
			}
			seen[row] = true
			m.line("%s", row)
		}
	}
}

func origins(k ConfigChange) string {
	switch {
	case k.From == (fleet.Position{}):
		return ""
	case k.Over == (fleet.Position{}):
		return markdown.Code(k.From.String())
	}
	return markdown.Code(k.From.String()) + ", over " + markdown.Code(k.Over.String())
}

func shown(value *string) string {
	if value == nil {
		return "*not set*"
	}
	return markdown.Code(*value)
}

func (m *page) drift() {
	for i, d := range m.plan.Drift {
		if i == 0 {
			m.line("\n#### Changed by hand, and restored\n")
		}
		what := ""
		if d.Deleted {
			what = " (deleted)"
		}
		m.line("- %s%s", markdown.Code(d.Path), what)
	}
}

func (m *page) problems() {
	rows := 0
	for _, problem := range RootProblems(m.plan.Problems) {
		if problem.Severity == fleet.SeverityNotice {
			continue
		}
		switch rows++; {
		case rows == 1:
			m.line("\n#### Problems\n")
		case rows > maxRows:
			m.line("- and more; `kalypso validate` lists all of them")
			return
		}
		m.line("- **%s**%s: %s%s", problem.Severity, at(problem.Position), markdown.Escape(problem.Message), suffering(problem.Assignments))
	}
}

// suffering names the assignments that have a problem, or counts them.
func suffering(names []string) string {
	switch n := len(names); n {
	case 0:
		return ""
	case 1:
		return " (" + markdown.Code(names[0]) + ")"
	default:
		return " (" + assignmentCount(n) + ")"
	}
}

func assignmentCount(n int) string {
	if n == 1 {
		return "1 assignment"
	}
	return fmt.Sprintf("%d assignments", n)
}

// diffs adds the folded differences, as far as they can fit.
func (m *page) diffs(limit int) {
	for i := range m.plan.Assignments {
		if limit > 0 && m.Len() > limit {
			break
		}
		c := &m.plan.Assignments[i]
		diff, err := m.plan.Diff(c)
		if err != nil || diff == "" {
			continue
		}
		m.folds = append(m.folds, m.Len())
		m.line("\n<details><summary>%s on %s</summary>\n\n%s\n\n</details>",
			html.EscapeString(c.Title), html.EscapeString(c.ClusterType), markdown.Block("diff", diff))
	}
	m.folds = append(m.folds, m.Len())
}

// cut returns the text, no longer than limit.
func (m *page) cut(limit int) string {
	text := m.String()
	const rest = "\n\n*The plan is longer than fits here; `kalypso plan` shows all of it.*\n"
	switch {
	case limit <= 0 || len(text) <= limit:
		return text
	case limit < len(rest):
		return ""
	}
	end := strings.LastIndexByte(text[:limit-len(rest)], '\n')
	// A folded difference is there as a whole or not at all: a half would swallow the sentence.
	if fold, inside := slices.BinarySearch(m.folds, end); !inside && fold > 0 && fold < len(m.folds) {
		end = m.folds[fold-1]
	}
	return text[:max(0, end)] + rest
}
