package fleet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Nearest returns the candidate most similar to a word, ignoring case, or "" if none is similar enough to be a typo:
// two of five letters may differ, which allows for swapped letters. Ties are resolved by name.
func Nearest(word string, candidates []string) string {
	best, distance := "", max(1, len(word)*2/5)+1
	if len(word) > MaxSubdomain {
		return "" // quadratic work
	}
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		if d := levenshtein.ComputeDistance(strings.ToLower(word), strings.ToLower(c)); d < distance {
			best, distance = c, d
		}
	}
	return best
}

// didYouMean returns a hint with the most similar candidate, or "".
func didYouMean(word string, candidates []string) string {
	if near := Nearest(word, candidates); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}
