package promote_test

import (
	"testing"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
)

func TestLastGood(t *testing.T) {
	for name, test := range map[string]struct {
		steps []string // newest first, as kind and commit
		want  string
	}{
		"the one before":                    {[]string{"deployed 3", "started 3", "deployed 2", "started 2", "deployed 1"}, "2"},
		"not one that failed since":         {[]string{"started 3", "failed 2", "deployed 2", "started 2", "deployed 1", "started 1"}, "1"},
		"not the present one":               {[]string{"failed 2", "deployed 2", "started 2", "deployed 1", "started 1"}, "1"},
		"one that ran well again":           {[]string{"started 3", "deployed 2", "started 2", "failed 1", "deployed 1"}, "2"},
		"nothing ran well before":           {[]string{"deployed 1", "started 1"}, ""},
		"nothing is known of what is there": {[]string{"deployed 1"}, ""},
		"a second rollback goes further back": {[]string{
			"started 2", "started 3", "deployed 3", "started 2", "deployed 2", "started 1", "deployed 1", "started 0", "deployed 0",
		}, "1"},
		"after a rollback that was deployed": {[]string{
			"deployed 2", "started 2", "deployed 3", "started 3", "deployed 2", "started 2", "deployed 1", "started 1",
		}, "1"},
		"a fix after a rollback": {[]string{
			"started 4", "deployed 2", "started 2", "failed 3", "deployed 3", "started 3", "deployed 2", "started 2", "deployed 1", "started 1",
		}, "2"},
		"a commit that was promoted again": {[]string{
			"started 4", "deployed 3", "started 3", "deployed 2", "started 2", "failed 3", "started 3", "deployed 2", "started 2",
		}, "3"},
		"other steps do not matter": {[]string{"stateChanged 3", "started 3", "statusPosted 2", "deployed 2", "started 2"}, "2"},
	} {
		var steps []ledger.Step
		for _, s := range test.steps {
			kind, commit := s[:len(s)-2], s[len(s)-1:]
			steps = append(steps, ledger.Step{PromotionID: ledger.PromotionID{Commit: commit}, Kind: kind})
		}
		if got := promote.LastGood(steps, ""); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
