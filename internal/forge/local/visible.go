package local

import (
	"fmt"
	"strings"
	"unicode"
)

// visible shows the characters that browsers do not: control characters, those of no width, and those by which text reads in another
// order than it has. Whoever decides about a change has to see what is in it.
func visible(text string) string {
	if !strings.ContainsFunc(text, invisible) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case !invisible(r), r == '\r' && endsLine(text[i+1:]):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		}
	}
	return b.String()
}

// endsLine reports whether a line ends before a text, as those do whose ends have two characters.
func endsLine(rest string) bool { return rest == "" || rest[0] == '\n' }

// Joiners are letters of some languages, and parts of what others draw.
const nonJoiner, joiner = '\u200c', '\u200d'

func invisible(r rune) bool {
	switch r {
	case '\t', '\n', nonJoiner, joiner:
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}
