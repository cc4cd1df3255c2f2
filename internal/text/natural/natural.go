// Package natural orders names as people count: "large-2" comes before "large-10".
package natural

import (
	"cmp"
	"strings"
)

// Compare returns -1, 0 or +1: the order of two names. Digits that follow each other count as one number,
// and other text is compared byte by byte. Names that differ only in leading zeros are ordered as text, so that Compare returns 0 only for equal names.
func Compare(a, b string) int {
	restA, restB := a, b
	for restA != "" && restB != "" {
		var partA, partB string
		partA, restA = cut(restA)
		partB, restB = cut(restB)
		if c := compareParts(partA, partB); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(len(restA), len(restB)), strings.Compare(a, b))
}

// cut returns the digits, or the text without digits, with which a name begins.
func cut(name string) (part, rest string) {
	number := isDigit(name[0])
	end := 1
	for end < len(name) && isDigit(name[end]) == number {
		end++
	}
	return name[:end], name[end:]
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func compareParts(a, b string) int {
	if !isDigit(a[0]) || !isDigit(b[0]) {
		return strings.Compare(a, b)
	}
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) // numbers of any length
}
