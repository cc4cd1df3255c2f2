package promote

import (
	"errors"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// TestCoveredBy: reviews do not cover a rollout with commits that were pushed between the pull requests.
func TestCoveredBy(t *testing.T) {
	line := func(commits ...string) (all []Commit) {
		for _, c := range commits {
			all = append(all, Commit{SHA: c})
		}
		return all
	}
	pulls := []ReviewedPullRequest{{PullRequest: forge.PullRequest{MergeCommit: "second"}}, {PullRequest: forge.PullRequest{MergeCommit: "first"}}}
	for name, test := range map[string]struct {
		line []Commit
		want string // of the error; empty for none
	}{
		"only pull requests":                    {line("old", "from", "first", "second", "later"), ""},
		"a push before a pull request":          {line("from", "first", "pushed", "second"), "no pull request of Kalypso made pushed"},
		"a push before the first pull request":  {line("from", "pushed", "first", "second"), "no pull request of Kalypso made pushed"},
		"a branch that was reset before":        {line("first", "second"), "does not lead from from, which ran before, to second"},
		"a branch that was reset to the middle": {line("from", "first"), "does not lead from from, which ran before, to second"},
		"a branch that went back":               {line("first", "second", "from"), "does not lead from from, which ran before, to second"},
	} {
		err := coveredBy(pulls, test.line, "from", "second")
		var unreviewed UnreviewedError
		if (test.want == "") != (err == nil) || err != nil && !(errors.As(err, &unreviewed) && strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
