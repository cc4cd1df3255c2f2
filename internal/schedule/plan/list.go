package plan

import (
	"fmt"
	"strings"

	"github.com/kalypso-io/kalypso/internal/text/markdown"
)

// maxListed is how many names a cell shows.
const maxListed = 5

func list(names []string) string {
	shown := make([]string, 0, maxListed)
	for _, n := range names[:min(len(names), maxListed)] {
		shown = append(shown, markdown.Code(n))
	}
	if len(names) > maxListed {
		return strings.Join(shown, ", ") + fmt.Sprintf(" and %d more", len(names)-maxListed)
	}
	return strings.Join(shown, ", ")
}
