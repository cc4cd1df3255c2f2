package plan

import (
	"fmt"
	"path"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
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
	m := markdown{plan: p}
	m.summary()
	m.refusals()
	m.assignments()
	m.configuration()
	m.drift()
	m.problems()
	if o.Diffs {
		m.diffs()
	}
	return m.cut(o.Limit)
}

type markdown struct {
	strings.Builder
	plan *Plan
}

func (m *markdown) line(format string, args ...any) {
	fmt.Fprintf(m, format, args...)
	m.WriteByte('\n')
}

func (m *markdown) summary() {
	p, c := m.plan, m.plan.Counts
	m.line("### %s: %d added, %d changed, %d removed, %d held\n", escape(p.Environment), c.Added, c.Changed, c.Removed, c.Held)
	m.line("%s compared with %s; %d assignments unchanged.", escape(p.After), escape(p.Before), c.Unchanged)
	if p.Budget.Removals > 0 {
		m.line("Removals: %d of a budget of %d.", p.Budget.Removals, p.Budget.Allowed)
	}
	if p.Promotion != nil {
		m.line("Promotes main to %s.", code(p.Promotion.To))
	}
	if p.OnlyRecords() {
		m.line("No manifest changes; the records of who scheduled what do.")
	}
}

func (m *markdown) refusals() {
	for _, r := range m.plan.Refusals {
		m.line("\n> **Somebody has to agree:** %s", escape(r.Message))
	}
}

// maxRows is how many rows a table has; more cannot be read, and forges limit the size of a text.
const maxRows = 200

func (m *markdown) assignments() {
	groups := m.plan.Groups()
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

func (m *markdown) detail(g Group) string {
	c := g.Changes[0]
	switch {
	case g.Op == Held:
		return escape(c.Reason.Message) + at(c.Reason.Position)
	case g.Op == Added && len(c.Policies) > 0:
		return "by " + list(c.Policies)
	case len(c.Gone) > 0:
		return "deletes namespace " + list(c.Gone)
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

// maxListed is how many names a cell shows.
const maxListed = 5

func list(names []string) string {
	shown := make([]string, 0, maxListed)
	for _, n := range names[:min(len(names), maxListed)] {
		shown = append(shown, code(n))
	}
	if len(names) > maxListed {
		return strings.Join(shown, ", ") + fmt.Sprintf(" and %d more", len(names)-maxListed)
	}
	return strings.Join(shown, ", ")
}

func at(p fleet.Position) string {
	if p == (fleet.Position{}) {
		return ""
	}
	return " (" + code(p.String()) + ")"
}

func (m *markdown) configuration() {
	seen := map[string]bool{}
	for _, g := range m.plan.Groups() {
		for _, k := range g.Changes[0].Config {
			row := fmt.Sprintf("| %s | %s | %s | %s |", code(k.Key), shown(k.Old), shown(k.New), origins(k))
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
		return code(k.From.String())
	}
	return code(k.From.String()) + ", over " + code(k.Over.String())
}

func shown(value *string) string {
	if value == nil {
		return "*not set*"
	}
	return code(*value)
}

func (m *markdown) drift() {
	for i, d := range m.plan.Drift {
		if i == 0 {
			m.line("\n#### Changed by hand, and restored\n")
		}
		what := ""
		if d.Deleted {
			what = " (deleted)"
		}
		m.line("- %s%s", code(d.Path), what)
	}
}

func (m *markdown) problems() {
	first := true
	for _, problem := range m.plan.Problems {
		if problem.Severity == fleet.SeverityNotice {
			continue
		}
		if first {
			m.line("\n#### Problems\n")
			first = false
		}
		m.line("- **%s**%s: %s", problem.Severity, at(problem.Position), escape(problem.Message))
	}
}

func (m *markdown) diffs() {
	for i := range m.plan.Assignments {
		c := &m.plan.Assignments[i]
		diff, err := m.plan.Diff(c)
		if err != nil || diff == "" {
			continue
		}
		fence := "```"
		for strings.Contains(diff, fence) {
			fence += "`"
		}
		m.line("\n<details><summary>%s on %s</summary>\n\n%sdiff\n%s%s\n\n</details>",
			escape(c.Title), escape(c.ClusterType), fence, diff, fence)
	}
}

// cut returns the text, no longer than limit.
func (m *markdown) cut(limit int) string {
	text := m.String()
	const rest = "\n\n*The plan is longer than fits here; `kalypso plan` shows all of it.*\n"
	if limit <= 0 || len(text) <= limit {
		return text
	}
	text = text[:max(0, limit-len(rest)-len("\n</details>\n"))]
	if end := strings.LastIndexByte(text, '\n'); end >= 0 {
		text = text[:end]
	}
	// A cut inside a folded difference must not swallow the sentence.
	if strings.Count(text, "<details>") > strings.Count(text, "</details>") {
		if open := strings.LastIndex(text, "\n<details>"); open >= 0 {
			text = text[:open]
		}
	}
	return text + rest
}

var escaper = strings.NewReplacer(
	"\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "|", "\\|", "#", "\\#", "~", "\\~",
	"<", "&lt;", ">", "&gt;", "&", "&amp;", "@", "&#64;", "\r", " ", "\n", " ",
)

// escape makes text that means nothing in Markdown.
func escape(text string) string { return escaper.Replace(text) }

// code shows text as it is, on one line. Within a table a bar has to be escaped even there.
func code(text string) string {
	if text == "" {
		return "*empty*"
	}
	text = strings.NewReplacer("\r", " ", "\n", " ", "|", "\\|").Replace(text)
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}
