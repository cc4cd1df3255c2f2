package azuredevops_test

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// A vote names no commit. After a push it counts only where a policy resets the votes of earlier commits.
func TestAVoteAfterAPush(t *testing.T) {
	for name, test := range map[string]struct {
		policy bool
		again  bool
		want   []string // "<decision> <commit>"
	}{
		"without a policy, not known":          {false, true, []string{"approved "}},
		"with a policy, the vote is reset":     {true, false, nil},
		"with a policy, a later vote is known": {true, true, []string{"approved head"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if test.policy {
				w.must(w.repo.Protect(t.Context(), "main", forge.Protection{PullRequestsOnly: true, Approvals: 1}))
			}
			c := w.open("change")
			w.Server.Review(w.url, c.Number, "a-person", forge.Approved)
			head := w.Server.Commit(w.url, "change")
			if test.again {
				w.Server.Review(w.url, c.Number, "a-person", forge.Approved)
			}
			all, err := w.repo.Reviews(t.Context(), c.Number)
			w.must(err)
			var got []string
			for _, v := range all {
				if v.Commit == "" && !strings.Contains(v.Unknown, "does not tell which one was voted on") {
					t.Errorf("it does not say why the commit is unknown: %+v", v)
				}
				got = append(got, string(v.Decision)+" "+strings.ReplaceAll(v.Commit, head, "head"))
			}
			if strings.Join(got, ",") != strings.Join(test.want, ",") {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
