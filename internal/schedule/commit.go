package schedule

import (
	"strings"

	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// Edits returns what a commit of changes writes, by path, and what it deletes, in the order of the changes.
func Edits(changes []bundle.Change) (put map[string][]byte, remove []string) {
	put = map[string][]byte{}
	for _, c := range changes {
		if c.Content == nil {
			remove = append(remove, c.Path)
			continue
		}
		put[c.Path] = c.Content
	}
	return put, remove
}

// CommitMessage says what a commit does and which commits it was made from.
func CommitMessage(loaded *Loaded, p *plan.Plan) string {
	var b strings.Builder
	b.WriteString(p.Title() + "\n\nScheduled by Kalypso from the " + loaded.Name() + ".\n\n")
	for _, line := range loaded.Inputs.Trailers() {
		b.WriteString(line + "\n")
	}
	return b.String()
}
