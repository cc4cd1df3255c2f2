// Package natural orders names as people count: "large-2" comes before "large-10".
//
// Digits next to each other count as one number, and all other bytes count as themselves. The order is total: names that differ only in leading
// zeros, such as a1 and a01, are ordered by their lengths.
package natural

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Compare compares two names. It returns 0 only if they are equal.
func Compare(a, b string) int {
	x, y := a, b
	for x != "" && y != "" {
		if !isDigit(x[0]) || !isDigit(y[0]) {
			if x[0] != y[0] {
				return cmp.Compare(x[0], y[0])
			}
			x, y = x[1:], y[1:]
			continue
		}
		var m, n string
		m, x = number(x)
		n, y = number(y)
		if c := cmp.Or(cmp.Compare(len(m), len(n)), strings.Compare(m, n)); c != 0 {
			return c
		}
	}
	return cmp.Or(cmp.Compare(len(x), len(y)), cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

// Sort sorts names in place, and returns them.
func Sort[S ~[]string](names S) S {
	slices.SortFunc(names, Compare)
	return names
}

// Key returns a text for lists that are sorted by bytes: the keys of two names compare like the names.
// Keys contain a zero byte only for a name with leading zeros, or with a zero byte of its own.
func Key(name string) string {
	if !strings.ContainsAny(name, digits) {
		return name
	}
	var key strings.Builder
	padded := false // with leading zeros
	for rest := name; rest != ""; {
		if !isDigit(rest[0]) {
			key.WriteByte(rest[0])
			rest = rest[1:]
			continue
		}
		was := len(rest)
		var n string
		n, rest = number(rest)
		padded = padded || was-len(rest) > max(len(n), 1)
		writeLength(&key, len(n))
		key.WriteString(n)
	}
	if padded {
		return fmt.Sprintf("%s\x00%08d%s", key.String(), len(name), name)
	}
	return key.String()
}

// writeLength writes the number of digits that follow, so that more digits sort later. It writes digits, so that numbers keep their place among
// other bytes.
func writeLength(key *strings.Builder, length int) {
	for ; length > 8; length -= 8 {
		key.WriteByte('9')
	}
	key.WriteByte('0' + byte(length))
}

const digits = "0123456789"

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// number cuts the number at the beginning of a text, without leading zeros; zero is empty.
func number(text string) (n, rest string) {
	end := 0
	for end < len(text) && isDigit(text[end]) {
		end++
	}
	return strings.TrimLeft(text[:end], "0"), text[end:]
}
