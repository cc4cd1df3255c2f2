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
	if plain(text) {
		return text
	}
	var b strings.Builder
	before := utf8.RuneError
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		rest := text[i+size:]
		if !Hidden(r) || r == '\r' && endsLine(rest) || joins(before, r, rest) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "⟨U+%04X⟩", r)
		}
		before = r
	}
	return b.String()
}

// Line is a text on one line, with one space where it has several, newlines or tabs.
func Line(text string) string { return strings.Join(strings.Fields(Text(text)), " ") }

// plain reports whether a text is nothing but ASCII that is seen, as nearly all are.
func plain(text string) bool {
	for i := range len(text) {
		if c := text[i]; (c < ' ' || c > '~') && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// Hidden reports whether nobody sees a character, or takes it for a space that it is not. Newlines and tabs are seen.
func Hidden(r rune) bool {
	const blankBraille = '\u2800' // a symbol without a dot
	switch r {
	case '\n', '\t':
		return false
	case blankBraille:
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
