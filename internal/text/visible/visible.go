// Package visible makes invisible characters in untrusted text visible.
//
// Unicode has characters that are invisible: they reverse the direction of text, have no width, look like a space,
// or control a terminal. With them, a file can look like another one. This package replaces each by its code point:
// "gnp.⟨U+202E⟩yaml". All other characters are kept, including letters of all scripts; it does not detect
// letters that look alike.
//
// Use it for text that people read, not for text that programs read.
package visible

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text marks invisible characters. It keeps newlines, tabs and CRLF line ends.
// Invalid UTF-8 becomes U+FFFD, which is visible.
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

// ordinary reports whether a character is visible ASCII, a newline or a tab: a fast path.
func ordinary(r rune) bool { return r >= ' ' && r <= '~' || r == '\n' || r == '\t' }

// markOf returns the mark for a character or invalid byte, or "" if it is kept.
func markOf(before, r rune, size int, rest string) string {
	switch {
	case r == utf8.RuneError && size == 1:
		return string(utf8.RuneError)
	case !Hidden(r), r == '\r' && endsLine(rest), joins(before, r, rest):
		return ""
	}
	return fmt.Sprintf("⟨U+%04X⟩", r)
}

// Line is like [Text], on one line: white space is collapsed to single spaces.
func Line(text string) string { return strings.Join(strings.Fields(Text(text)), " ") }

// Hidden reports whether a character is invisible or looks like a space. Newlines and tabs are not hidden.
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

// Hidden characters with a legitimate use: they change the shape of a letter, or join symbols.
const (
	nonJoiner = '\u200c'
	joiner    = '\u200d'
	asText    = '\ufe0e'
	asPicture = '\ufe0f'
)

// joins reports whether a hidden character is used legitimately at its place.
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

// cursive reports whether a character is of a script in which joiners are meaningful.
func cursive(r rune) bool {
	return !Hidden(r) && unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Nko, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi,
		unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer, unicode.Myanmar)
}
