package plan

import (
	"fmt"
	"html"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/text/markdown"
)

// Page is the Markdown text of a pull request or comment, for the plans of both pipelines.
// Callers escape what comes from repositories, so that a name cannot become a link, a mention or HTML.
type Page struct {
	// Limit is the maximum size in bytes; 0 means no limit.
	Limit int
	// Rest is the sentence that ends a page that was cut.
	Rest string

	text strings.Builder
	// folds are the start and end of each folded part.
	folds [][2]int
}

// MaxRows is the maximum number of rows of a table or list.
const MaxRows = 200

// Line adds a line.
func (p *Page) Line(format string, args ...any) {
	fmt.Fprintf(&p.text, format, args...)
	p.text.WriteByte('\n')
}

// Add adds text without changing it.
func (p *Page) Add(text string) { p.text.WriteString(text) }

// Full reports whether the page has reached its limit.
func (p *Page) Full() bool { return p.Limit > 0 && p.text.Len() > p.Limit }

// Fold adds a folded block of differences. It is never cut: a page without room for it leaves it out.
func (p *Page) Fold(title, diff string) {
	begin := p.text.Len()
	p.Line("\n<details><summary>%s</summary>\n\n%s\n\n</details>", html.EscapeString(title), markdown.Block("diff", diff))
	p.folds = append(p.folds, [2]int{begin, p.text.Len()})
}

// Refusals adds why the plan needs approval, and how to give it.
func (p *Page) Refusals(refusals []Refusal) {
	for _, r := range refusals {
		p.Line("\n> **This needs approval:** %s", markdown.Escape(r.Message))
	}
}

// Drift lists files that were changed by hand. outcome says what happens to them.
func (p *Page) Drift(drift []bundle.Drift, outcome string) {
	for i, d := range drift {
		switch i {
		case 0:
			p.Line("\n#### Changed by hand, and %s\n", outcome)
		case MaxRows:
			p.Line("- and %d more", len(drift)-i)
			return
		}
		deleted := ""
		if d.Deleted {
			deleted = " (deleted)"
		}
		p.Line("- %s%s", markdown.Code(d.Path), deleted)
	}
}

// Unmanaged lists the files that others keep in the folders that Kalypso writes.
func (p *Page) Unmanaged(files []string) {
	for i, file := range files {
		switch i {
		case 0:
			p.Line("\n#### Left to others by spec.unmanaged of the GitOpsRepo: not rendered and not checked\n")
		case MaxRows:
			p.Line("- and %d more", len(files)-i)
			return
		}
		p.Line("- %s", markdown.Code(file))
	}
}

// Problems lists errors and warnings, each once. unit is what a problem affects, such as "assignment".
func (p *Page) Problems(problems []fleet.Problem, unit, more string) {
	rows := 0
	for _, problem := range RootProblems(problems) {
		if problem.Severity == fleet.SeverityNotice {
			continue
		}
		switch rows++; {
		case rows == 1:
			p.Line("\n#### Problems\n")
		case rows > MaxRows:
			p.Line("- and more; %s", more)
			return
		}
		affected := ""
		switch n := len(problem.Assignments); n {
		case 0:
		case 1:
			affected = " (" + markdown.Code(problem.Assignments[0]) + ")"
		default:
			affected = " (" + count(n, unit) + ")"
		}
		p.Line("- **%s**%s: %s%s", problem.Severity, At(problem.Position), markdown.Escape(problem.Message), affected)
	}
}

// String returns the text, at most Limit bytes of it. It is cut at a line, and never within a fold.
func (p *Page) String() string {
	text := p.text.String()
	rest := "\n\n*" + p.Rest + "*\n"
	switch {
	case p.Limit <= 0 || len(text) <= p.Limit:
		return text
	case p.Limit < len(rest):
		return ""
	}
	end := strings.LastIndexByte(text[:p.Limit-len(rest)], '\n')
	for _, fold := range p.folds {
		if fold[0] < end && end < fold[1]-1 {
			end = fold[0]
		}
	}
	return text[:max(0, end)] + rest
}

// maxListed is the maximum number of names in a cell.
const maxListed = 5

// List returns names for a cell.
func List(names []string) string {
	var shown []string
	for _, n := range names[:min(len(names), maxListed)] {
		shown = append(shown, markdown.Code(n))
	}
	text := strings.Join(shown, ", ")
	if len(names) > maxListed {
		text += fmt.Sprintf(" and %d more", len(names)-maxListed)
	}
	return text
}

// At returns a position in parentheses, after a space; empty for none.
func At(p fleet.Position) string {
	if p == (fleet.Position{}) {
		return ""
	}
	return " (" + markdown.Code(p.String()) + ")"
}

// Value returns a configuration value; nil is not set.
func Value(value *string) string {
	if value == nil {
		return "*not set*"
	}
	return markdown.Code(*value)
}

func count(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}
