// Package visible shows texts of others as what they are, to people who decide by them.
//
// Text comes from repositories, and so from people one need not trust. Unicode has characters that nobody sees: those that turn the
// direction in which text reads, those of no width, blanks that are no spaces, codes for terminals. With them a file looks like
// another one. Here each becomes a mark with its number: "gnp.⟨U+202E⟩yaml". All others stay as they are, letters of all scripts among
// them; that two of those look alike is not seen here.
//
// What is marked is to be read. Texts that programs read stay as they were.
package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text is a text of several lines, in which newlines and tabs stay. Lines may end as those of Windows do.
// Bytes that are no UTF-8 become U+FFFD, which is seen.
func Text(text string) string {
	var b strings.Builder
	before, written := utf8.RuneError, 0
	for i, r := range text {
		if !ordinary(r) {
			_, size := utf8.DecodeRuneInString(text[i:])
			if mark := markOf(before, r, size, text[i+size:]); mark != "" {
				b.WriteString(text[written:i])
				b.WriteString(mark)
				written = i + size
			}
		}
		before = r
	}
	if written == 0 {
		return text
	}
	b.WriteString(text[written:])
	return b.String()
}

// ordinary reports whether a character is of ASCII and seen, as nearly all are.
func ordinary(r rune) bool { return r >= ' ' && r <= '~' || r == '\n' || r == '\t' }

// markOf is what stands for a character, or a stray byte, between others; empty for itself.
func markOf(before, r rune, size int, rest string) string {
	switch {
	case r == utf8.RuneError && size == 1:
		return string(utf8.RuneError)
	case !Hidden(r), r == '\r' && endsLine(rest), joins(before, r, rest):
		return ""
	}
	return fmt.Sprintf("⟨U+%04X⟩", r)
}

// Line is a text on one line, with one space where it has several, newlines or tabs.
func Line(text string) string { return strings.Join(strings.Fields(Text(text)), " ") }

// Hidden reports whether nobody sees a character, or takes it for a space that it is not. Newlines and tabs are seen.
func Hidden(r rune) bool {
	const blankBraille = '\u2800' // a symbol without a dot
	switch {
	case ordinary(r):
		return false
	case r == blankBraille:
		return true
	}
	return !unicode.IsPrint(r) || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// endsLine reports whether a line ends before a text.
func endsLine(rest string) bool { return rest == "" || rest[0] == '\n' }

// Characters that are hidden, and parts of others: a letter is written otherwise beside them, and several symbols are drawn as one.
const (
	nonJoiner = '\u200c'
	joiner    = '\u200d'
	asText    = '\ufe0e'
	asPicture = '\ufe0f'
)

// joins reports whether a hidden character stands where it is part of what is seen. Elsewhere, such as in names in Latin letters, it is not.
func joins(before, r rune, rest string) bool {
	after, _ := utf8.DecodeRuneInString(rest)
	switch r {
	case asText, asPicture:
		return pictured(before)
	case joiner:
		return (pictured(before) || before == asPicture) && pictured(after) || cursive(before) && cursive(after)
	case nonJoiner:
		return cursive(before) && cursive(after)
	}
	return false
}

func pictured(r rune) bool {
	return r > unicode.MaxASCII && r != utf8.RuneError && unicode.IsSymbol(r) && !Hidden(r)
}

// cursive reports whether a character is of a script whose letters are joined, or not, on purpose.
func cursive(r rune) bool {
	return !Hidden(r) && unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi,
		unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar)
}
