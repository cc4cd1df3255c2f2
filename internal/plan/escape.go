package plan

import (
	"fmt"
	"strings"
)

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

// escaper takes the meaning from everything that has one. Forges look for mentions, references and links in the text
// that is shown, where no escape is left; a space of no width keeps them from finding one.
var escaper = strings.NewReplacer(
	"\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "|", "\\|", "#", "#&#8203;", "~", "\\~",
	"<", "&lt;", ">", "&gt;", "&", "&amp;", "@", "@&#8203;", "://", ":&#8203;//", "www.", "www&#8203;.", "\r", " ", "\n", " ",
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
