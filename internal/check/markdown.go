package check

import (
	"fmt"
	"strings"

	"github.com/kalypso-io/kalypso/internal/text/markdown"
)

// maxShown is the maximum number of findings in a pull request's text, whose size forges limit.
const maxShown = 50

// Summary counts the findings: "2 refusals, 1 warning", or "nothing found".
func Summary(findings []Finding) string {
	counts := map[Level]int{}
	excepted := 0
	for _, f := range findings {
		if f.Exception != "" {
			excepted++
			continue
		}
		counts[f.Level]++
	}
	var parts []string
	for _, of := range []struct {
		level     Level
		one, many string
	}{{Refuse, "refusal", "refusals"}, {Warn, "warning", "warnings"}, {Inform, "notice", "notices"}} {
		switch n := counts[of.level]; n {
		case 0:
		case 1:
			parts = append(parts, "1 "+of.one)
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n, of.many))
		}
	}
	if excepted > 0 {
		parts = append(parts, fmt.Sprintf("%d excepted", excepted))
	}
	if len(parts) == 0 {
		return "nothing found"
	}
	return strings.Join(parts, ", ")
}

// Markdown returns a section for a pull request's text, the most severe findings first. Empty without findings.
func Markdown(findings []Finding) string {
	if len(findings) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n#### Checks: %s\n\n", Summary(findings))
	shown := 0
	for _, level := range []Level{Refuse, Warn, Inform} {
		for _, f := range findings {
			if f.Level != level {
				continue
			}
			if shown++; shown > maxShown {
				fmt.Fprintf(&b, "- and %d more\n", len(findings)-maxShown)
				return b.String()
			}
			b.WriteString(f.markdown())
		}
	}
	return b.String()
}

func (f Finding) markdown() string {
	where := f.File
	if f.Line > 0 {
		where = fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	text := "- **" + string(f.Level) + "** "
	if where != "" {
		text += markdown.Code(where) + " "
	}
	if f.Object != "" {
		text += markdown.Escape(f.Object) + ": "
	}
	if f.Path != "" {
		text += markdown.Code(f.Path) + " "
	}
	text += markdown.Escape(f.Message) + " (" + markdown.Escape(f.Rule) + ")"
	if f.Exception != "" {
		return text + "<br>excepted: " + markdown.Escape(f.Exception) + "\n"
	}
	if f.Hint != "" {
		text += "<br>" + markdown.Escape(f.Hint)
	}
	return text + "\n"
}
