// Package words finds the words that differ between two versions of a line, so that a reader of a diff sees at once
// what changed in it.
package words

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Parts is a line in three parts: what it shares with the other version at its beginning and at its end, and what
// differs between.
type Parts struct{ Prefix, Changed, Suffix string }

// Changed divides two versions of a line. The parts begin and end between words: a word is a run of letters and digits.
// It reports false if the lines are equal, or share too little for the difference to be worth showing: less than a
// quarter of the longer one.
func Changed(before, after string) (b, a Parts, ok bool) {
	prefix := sharedPrefix(before, after)
	suffix := sharedSuffix(before[prefix:], after[prefix:])
	shared := prefix + suffix
	if before == after || shared*4 < max(len(before), len(after)) {
		return Parts{}, Parts{}, false
	}
	divide := func(line string) Parts {
		end := len(line) - suffix
		return Parts{line[:prefix], line[prefix:end], line[end:]}
	}
	return divide(before), divide(after), true
}

// Pairs calls pair with each removed line of a diff of n lines and the added line that replaces it: where as many
// lines are added as are removed just before. sign returns '-' for a removed line, '+' for an added one, and
// anything else for others.
func Pairs(n int, sign func(i int) byte, pair func(removed, added int)) {
	run := func(from int, want byte) int {
		end := from
		for end < n && sign(end) == want {
			end++
		}
		return end - from
	}
	for i := 0; i < n; {
		removed := run(i, '-')
		added := run(i+removed, '+')
		if removed == added {
			for k := range removed {
				pair(i+k, i+removed+k)
			}
		}
		i += max(removed+added, 1)
	}
}

// sharedPrefix returns the length of the common beginning, which ends between words of both.
func sharedPrefix(x, y string) int {
	n, boundary := 0, 0
	for n < len(x) && n < len(y) {
		_, size := utf8.DecodeRuneInString(x[n:])
		if !strings.HasPrefix(y[n:], x[n:n+size]) {
			break
		}
		n += size
		if between(x, n) && between(y, n) {
			boundary = n
		}
	}
	return boundary
}

// sharedSuffix returns the length of the common end, which begins between words of both.
func sharedSuffix(x, y string) int {
	n, boundary := 0, 0
	for n < len(x) && n < len(y) {
		_, size := utf8.DecodeLastRuneInString(x[:len(x)-n])
		if !strings.HasSuffix(y[:len(y)-n], x[len(x)-n-size:len(x)-n]) {
			break
		}
		n += size
		if between(x, len(x)-n) && between(y, len(y)-n) {
			boundary = n
		}
	}
	return boundary
}

// between reports whether a position of a text is not inside a word.
func between(text string, at int) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	after, _ := utf8.DecodeRuneInString(text[at:])
	return at == 0 || at == len(text) || !letter(before) || !letter(after)
}

func letter(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
