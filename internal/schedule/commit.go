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

// scheduledBy begins the second paragraph of commit messages.
const scheduledBy = "Scheduled by Kalypso from the "

// IsCommitMessage reports whether a commit has a message of [CommitMessage].
func IsCommitMessage(message string) bool { return strings.Contains(message, "\n\n"+scheduledBy) }

// CommitMessage returns a commit's message: what its plan changes, and the commits that it was made from.
func CommitMessage(loaded *Loaded, p *plan.Plan) string {
	var b strings.Builder
	b.WriteString(p.Headline(loaded.Inputs.Main.Subject) + "\n\n" + scheduledBy + loaded.Name() + ".\n\n")
	for _, line := range loaded.Inputs.Trailers() {
		b.WriteString(line + "\n")
	}
	return b.String()
}
