// Package markdown escapes untrusted text for Markdown, so that it is displayed literally:
// a name cannot become a link, a mention, a reference, a command or HTML, and cannot hide anything.
//
// Forges look for mentions, references and addresses in the rendered text, where escapes have no effect; GitLab looks for
// "closes #1" even in code. A zero-width space in the middle prevents that. It is only written where
// it is needed, so that other texts stay unchanged.
package markdown

import (
	"strings"

	"github.com/kalypso-io/kalypso/internal/text/visible"
)

// escaper escapes every character with a special meaning.
var escaper = strings.NewReplacer(
	"\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "|", "\\|", "~", "\\~",
	"<", "&lt;", ">", "&gt;", "&", "&amp;", "\r", " ", "\n", " ", gap, "&#8203;", border, "`",
)

// Escape returns text as literal Markdown on one line, which can be at the beginning of a line. Hashes become code, which
// can be copied and is not linked.
func Escape(text string) string {
	text = strings.TrimLeft(visible.Text(text), " \t\r\n")
	return begin(escaper.Replace(hashesAsCode(apart(text))))
}

// begin escapes what is special at the beginning of a line: list items, underlines of titles, and commands such as "/close".
func begin(text string) string {
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	switch rest := text[digits:]; {
	case rest == "":
	case digits == 0 && strings.ContainsRune("-+=/", rune(rest[0])), digits > 0 && strings.ContainsRune(".)", rune(rest[0])):
		return text[:digits] + "\\" + rest
	}
	return text
}

// Code returns text as code on one line. A bar is escaped, since tables require that even in code.
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

// Block returns text as a code block, highlighted as a language. Empty means plain text. It ends without a newline.
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

// Plain returns text on one line for places without Markdown, such as titles and commit messages, where forges look for
// references as well.
func Plain(text string) string { return titled.ReplaceAllString(visible.Line(text), "${1}"+gap+"${2}") }
