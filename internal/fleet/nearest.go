package fleet

import (
	"fmt"

	"github.com/kalypso-io/kalypso/internal/text/nearest"
)

// Nearest is [nearest.Name].
func Nearest(word string, candidates []string) string { return nearest.Name(word, candidates) }

// didYouMean returns a hint with the most similar candidate, or "".
func didYouMean(word string, candidates []string) string {
	if near := nearest.Name(word, candidates); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}
