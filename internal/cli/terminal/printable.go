package terminal

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kalypso-io/kalypso/internal/text/visible"
)

// Printable returns s on one line, with control characters and invisible characters escaped as in Go: \x1b, \n, \u202e.
// Otherwise an escape sequence in a repository could hide a warning, and a right-to-left mark could disguise a path.
func Printable(s string) string { return neutralise(s, "") }

// PrintableText is [Printable] for several lines: it keeps newlines and tabs.
func PrintableText(s string) string { return neutralise(s, "\n\t") }

func neutralise(s, allowed string) string {
	if clean(s, allowed) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if harmless(r, size) || strings.ContainsRune(allowed, r) {
			b.WriteString(s[i : i+size])
		} else {
			b.WriteString(escaped(s[i : i+size]))
		}
		i += size
	}
	return b.String()
}

func clean(s, allowed string) bool {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if !harmless(r, size) && !strings.ContainsRune(allowed, r) {
			return false
		}
		i += size
	}
	return true
}

// harmless is false for control and format characters, other invisible characters, unusual spaces and invalid UTF-8.
func harmless(r rune, size int) bool {
	return strconv.IsPrint(r) && !visible.Hidden(r) && !(r == utf8.RuneError && size == 1)
}

// escaped returns one character, or one invalid byte, in Go's syntax without quotes.
func escaped(char string) string {
	quoted := strconv.QuoteToASCII(char)
	return quoted[1 : len(quoted)-1]
}

// ShellWord quotes s for a shell, for commands that users copy.
func ShellWord(s string) string {
	s = Printable(s)
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:@%+=,", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
