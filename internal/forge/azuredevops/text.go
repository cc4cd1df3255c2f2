package azuredevops

import (
	"html"
	"strings"
	"unicode/utf16"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// fit cuts a text to a limit of UTF-16 units, in which the forge counts, and keeps a marker in its last line.
func fit(text string, limit int) string {
	if units(text) <= limit {
		return text
	}
	marker := ""
	if i := strings.LastIndexByte(strings.TrimRight(text, "\n"), '\n'); i >= 0 && strings.HasPrefix(text[i+1:], "<!-- ") {
		text, marker = text[:i], "\n\n"+strings.TrimSpace(text[i+1:])
	}
	room := max(limit-units(marker), 1)
	if units(text) <= room {
		return strings.TrimRight(text, "\n") + marker
	}
	runes := 0
	for _, r := range text {
		if room -= utf16.RuneLen(r); room < 0 {
			break
		}
		runes++
	}
	return forge.Cut(text, max(runes, 1)) + marker
}

// units is how long a text is for the forge.
func units(text string) int {
	n := 0
	for _, r := range text {
		n += utf16.RuneLen(r)
	}
	return n
}

const preformatted, preformattedEnd = "<pre>", "</pre>"

// toHTML writes a text for a field of HTML such that it can be read back.
func toHTML(text string) string { return preformatted + html.EscapeString(text) + preformattedEnd }

// fromHTML reads a text that toHTML wrote. Others are given as they are.
func fromHTML(field string) string {
	inner, ours := strings.CutPrefix(field, preformatted)
	if !ours {
		return field
	}
	return html.UnescapeString(strings.TrimSuffix(inner, preformattedEnd))
}
