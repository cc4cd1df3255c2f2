package fleet

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Nearest returns the candidate that was probably meant by a word, or "" when none is near enough to be a slip:
// two letters of five differ when neighbours are swapped, which is the most common one. Case does not count.
// Of several that are equally near it is the first in the order of names.
func Nearest(word string, candidates []string) string {
	best, distance := "", max(1, len(word)*2/5)+1
	if len(word) > MaxSubdomain {
		return "" // the work grows with the square of the length
	}
	for _, c := range slices.Sorted(slices.Values(candidates)) {
		if d := levenshtein.ComputeDistance(strings.ToLower(word), strings.ToLower(c)); d < distance {
			best, distance = c, d
		}
	}
	return best
}

// didYouMean returns a hint with the nearest candidate; empty when none is near.
func didYouMean(word string, candidates []string) string {
	if near := Nearest(word, candidates); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}
