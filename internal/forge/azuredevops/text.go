package azuredevops

import (
	"html"
	"strings"
	"unicode/utf16"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// fit truncates a text to a limit of UTF-16 units, which the forge counts, and keeps a marker in its last line.
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

// units returns a text's length in UTF-16 units.
func units(text string) int {
	n := 0
	for _, r := range text {
		n += utf16.RuneLen(r)
	}
	return n
}

const preformatted, preformattedEnd = "<pre>", "</pre>"

// toHTML encodes a text for an HTML field. fromHTML reverses it.
func toHTML(text string) string { return preformatted + html.EscapeString(text) + preformattedEnd }

// fromHTML decodes a text that toHTML encoded. It returns other texts unchanged.
func fromHTML(field string) string {
	inner, ours := strings.CutPrefix(field, preformatted)
	if !ours {
		return field
	}
	return html.UnescapeString(strings.TrimSuffix(inner, preformattedEnd))
}
