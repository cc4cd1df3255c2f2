// Package markdown writes text of others into Markdown, so that it shows as it is and means nothing:
// a name cannot become a link, a mention, a reference or HTML.
package markdown

import "strings"

// escaper takes the meaning from everything that has one. Forges look for mentions, references and links in the text
// that is shown, where no escape is left; a space of no width keeps them from finding one.
var escaper = strings.NewReplacer(
	"\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "|", "\\|", "#", "#&#8203;", "~", "\\~",
	"<", "&lt;", ">", "&gt;", "&", "&amp;", "@", "@&#8203;", "://", ":&#8203;//", "www.", "www&#8203;.", "\r", " ", "\n", " ",
)

// Escape makes text that means nothing in Markdown.
func Escape(text string) string { return escaper.Replace(text) }

// Code shows text as it is, on one line. Within a table a bar has to be escaped even there.
func Code(text string) string {
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
