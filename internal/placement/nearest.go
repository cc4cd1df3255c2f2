package placement

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// nearest returns up to three words that look most like the given one, the nearest first.
func nearest(word string, words []string) []string {
	distance := make(map[string]int, len(words))
	for _, w := range words {
		distance[w] = levenshtein.ComputeDistance(word, w)
		if strings.Contains(w, word) {
			// A part of a name is a better sign than a few letters in common.
			distance[w] = 1
		}
	}
	near := slices.SortedFunc(slices.Values(words), func(a, b string) int {
		return cmp.Or(cmp.Compare(distance[a], distance[b]), cmp.Compare(a, b))
	})
	return near[:min(3, len(near))]
}

// meant returns the word that was probably meant, or false when none is near enough to be a slip:
// two letters of five differ when neighbours are swapped, which is the most common one.
func meant(word string, words []string) (string, bool) {
	best, distance := "", max(1, len(word)*2/5)+1
	for _, w := range words {
		if d := levenshtein.ComputeDistance(word, w); d < distance {
			best, distance = w, d
		}
	}
	return best, best != ""
}

// alternatives joins quoted words: "a", "b" or "c".
func alternatives(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = `"` + w + `"`
	}
	last := len(quoted) - 1
	if last == 0 {
		return quoted[0]
	}
	return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}
