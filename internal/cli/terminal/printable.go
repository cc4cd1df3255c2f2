package terminal

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kalypso-io/kalypso/internal/text/visible"
)

// Printable returns s on one line and without anything a terminal would obey.
//
// Names, messages and values come from repositories, and so from people one need not trust: an escape sequence could
// colour a warning away, and a right-to-left mark could make a path read as another one.
// Each such character is shown the way Go writes it: \x1b, \n, \u202e. Everything else stays as it is.
func Printable(s string) string { return neutralise(s, "") }

// PrintableText is printable for text of several lines: newlines and tabs stay.
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

// harmless is false for control and format characters, for whatever else nobody sees, for odd spaces and for bytes that are not UTF-8.
func harmless(r rune, size int) bool {
	return strconv.IsPrint(r) && !visible.Hidden(r) && !(r == utf8.RuneError && size == 1)
}

// escaped writes one character, or one stray byte, without its quotes.
func escaped(char string) string {
	quoted := strconv.QuoteToASCII(char)
	return quoted[1 : len(quoted)-1]
}

// ShellWord returns s so that a shell reads it as one word, for commands that people copy.
func ShellWord(s string) string {
	s = Printable(s)
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-_./:@%+=,", r)
	}) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
