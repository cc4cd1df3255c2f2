// Package markdown writes text of others into Markdown, so that it shows as it is and means nothing:
// a name cannot become a link, a mention, a reference, a command or HTML, and hides nothing.
//
// Forges look for mentions, references and addresses in the text that is shown, where no escape is left; GitLab looks for
// "closes #1" even in code. A space of no width in the middle of one keeps all of them from finding it. It is written only where
// there is one to be found, so that other texts stay as they are.
package markdown

import (
	"strings"

	"github.com/kalypso-io/kalypso/internal/text/visible"
)

// escaper takes the meaning from every character that has one.
var escaper = strings.NewReplacer(
	"\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "|", "\\|", "~", "\\~",
	"<", "&lt;", ">", "&gt;", "&", "&amp;", "\r", " ", "\n", " ", gap, "&#8203;", border, "`",
)

// Escape makes text that means nothing in Markdown. It is one line, which may stand at the beginning of one. Hashes become code, which
// can be copied and leads nowhere.
func Escape(text string) string {
	text = strings.TrimLeft(visible.Text(text), " \t\r\n")
	return begin(escaper.Replace(hashesAsCode(apart(text))))
}

// begin escapes what means something at the beginning of a line: items of lists, lines below titles, and commands such as "/close".
func begin(text string) string {
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	switch rest := text[digits:]; {
	case rest == "":
	case digits == 0 && strings.ContainsRune("-+=/", rune(rest[0])), digits > 0 && strings.ContainsRune(".)", rune(rest[0])):
		return text[:digits] + "\\" + rest
	}
	return text
}

// Code shows text as it is, on one line. Within a table a bar has to be escaped even there.
func Code(text string) string {
	if text == "" {
		return "*empty*"
	}
	text = strings.NewReplacer("\r", " ", "\n", " ", "|", "\\|").Replace(open(visible.Text(text)))
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}

// Block shows text of several lines as it is, in the colours of a language; empty for none. It ends without a newline.
func Block(language, text string) string {
	text = open(visible.Text(text))
	if !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + language + "\n" + text + fence
}

// Plain is text on one line for what is no Markdown, such as titles and messages of commits, where forges look for references as well.
func Plain(text string) string { return titled.ReplaceAllString(visible.Line(text), "${1}"+gap+"${2}") }
