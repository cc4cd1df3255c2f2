package placement

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// nearest returns up to three words that look most like the given one, the nearest first, however far that is.
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
