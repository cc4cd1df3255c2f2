// Package nearest suggests what a mistyped name may stand for: a command, a flag, a field, an environment. It also decides which unknown
// words are typos, so that documents that have them hold what depends on them.
package nearest

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// maxWord bounds the quadratic work. It is the length of the longest name in Kubernetes.
const maxWord = 253

// Name returns the candidate most similar to a word, ignoring case, or "" if none is similar enough to be a typo:
// two of five letters may differ. Two neighbours that are swapped count as one. Ties are resolved by name.
func Name(word string, candidates []string) string {
	best, distance := "", max(1, len(word)*2/5)+1
	if len(word) > maxWord {
		return ""
	}
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		if d := distanceOf(strings.ToLower(word), strings.ToLower(c)); d < distance {
			best, distance = c, d
		}
	}
	return best
}

// Typo returns the candidate that a word is a typo of, or "" if there is none: the candidate in other letter case, or with one letter
// dropped, added, or replaced, or two neighbours swapped; a digit is not a letter. It is stricter than [Name], because what looks like
// a typo is refused. Ties are resolved by name.
func Typo(word string, candidates []string) string {
	best := ""
	for _, c := range candidates {
		if IsTypo(word, c) && (best == "" || c < best) {
			best = c
		}
	}
	return best
}

// IsTypo reports whether a word is a typo of a name. A name is not a typo of itself. Of names with one or two letters only other letter
// case counts, because most words of that length are similar.
func IsTypo(word, name string) bool {
	const short = 2
	switch {
	case word == name || word == "" || max(len(word), len(name)) > maxWord:
		return false
	case strings.EqualFold(word, name):
		return true
	case len(name) <= short || len(word)-len(name) > 1 || len(name)-len(word) > 1:
		return false
	}
	return distanceOf(word, name) == 1 && !otherDigits(word, name)
}

// otherDigits reports whether two words differ in their digits only: west-1 and west-2 are different names.
func otherDigits(a, b string) bool {
	letters := func(word string) string {
		return strings.Map(func(r rune) rune {
			if '0' <= r && r <= '9' {
				return -1
			}
			return r
		}, word)
	}
	return letters(a) == letters(b)
}

// All returns the candidates that a mistyped word may stand for, the most similar first, and each once: those that [Name] takes for
// similar, and those that contain the word or a large part of it.
func All(word string, candidates []string) []string {
	if word == "" || len(word) > maxWord {
		return nil
	}
	distance := map[string]int{}
	word = strings.ToLower(word)
	for _, c := range candidates {
		lower := strings.ToLower(c)
		switch d := distanceOf(word, lower); {
		case strings.Contains(lower, word), len(c) > 2 && strings.Contains(word, lower):
			distance[c] = min(d, 1) // a part of a name is a better hint than a few common letters
		case d <= max(1, len(word)*2/5):
			distance[c] = d
		}
	}
	return slices.SortedFunc(maps.Keys(distance), func(a, b string) int {
		return cmp.Or(cmp.Compare(distance[a], distance[b]), cmp.Compare(a, b))
	})
}

func distanceOf(a, b string) int {
	d := levenshtein.ComputeDistance(a, b)
	if d == 2 && swapped(a, b) {
		return 1
	}
	return d
}

// swapped reports whether two words differ in two neighbours that are swapped.
func swapped(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) - 1 {
		if a[i] != b[i] {
			return a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
		}
	}
	return false
}

// Beginning is [Name], or else the only candidate that begins with the word.
func Beginning(word string, candidates []string) string {
	if near := Name(word, candidates); near != "" || word == "" {
		return near
	}
	longer := slices.DeleteFunc(slices.Clone(candidates), func(c string) bool { return !strings.HasPrefix(c, word) })
	if len(longer) == 1 {
		return longer[0]
	}
	return ""
}
