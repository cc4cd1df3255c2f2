package git

import (
	"strings"
	"testing"
)

func TestTitlesOfMergesSayWhatChanged(t *testing.T) {
	for message, want := range map[string]string{
		"Move the database\n\nIt was slow.":                                               "Move the database",
		"Merge pull request #12 from ann/db\n\nMove the database\n":                       "Move the database",
		"Merge pull request 'Move the database' (#3) from db into main\n\nReviewed-on: x": "Move the database",
		"Merge branch 'db' into 'main'\n\nMove the database\n\nSee merge request a/b!3":   "Move the database",
		"Merge branch 'db'\n": "Merge branch 'db'",
		"Merge branch 'db'\n\nSigned-off-by: Ann <a@example.com>": "Merge branch 'db'",
		"Merge the two databases":                                 "Merge the two databases",
	} {
		c := Commit{Message: message}
		c.Subject, _, _ = strings.Cut(message, "\n")
		if got := c.Title(); got != want {
			t.Errorf("%q: got %q, want %q", message, got, want)
		}
	}
}
