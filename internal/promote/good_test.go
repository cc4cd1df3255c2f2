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
		"the one before":                    {[]string{"arrived 3", "entered 3", "arrived 2", "entered 2", "arrived 1"}, "2"},
		"not one that failed since":         {[]string{"entered 3", "failed 2", "arrived 2", "entered 2", "arrived 1", "entered 1"}, "1"},
		"not the present one":               {[]string{"failed 2", "arrived 2", "entered 2", "arrived 1", "entered 1"}, "1"},
		"one that ran well again":           {[]string{"entered 3", "arrived 2", "entered 2", "failed 1", "arrived 1"}, "2"},
		"nothing ran well before":           {[]string{"arrived 1", "entered 1"}, ""},
		"nothing is known of what is there": {[]string{"arrived 1"}, ""},
		"a second rollback goes further back": {[]string{
			"entered 2", "entered 3", "arrived 3", "entered 2", "arrived 2", "entered 1", "arrived 1", "entered 0", "arrived 0",
		}, "1"},
		"after a rollback that was deployed": {[]string{
			"arrived 2", "entered 2", "arrived 3", "entered 3", "arrived 2", "entered 2", "arrived 1", "entered 1",
		}, "1"},
		"a fix after a rollback": {[]string{
			"entered 4", "arrived 2", "entered 2", "failed 3", "arrived 3", "entered 3", "arrived 2", "entered 2", "arrived 1", "entered 1",
		}, "2"},
		"a commit that was promoted again": {[]string{
			"entered 4", "arrived 3", "entered 3", "arrived 2", "entered 2", "failed 3", "entered 3", "arrived 2", "entered 2",
		}, "3"},
		"other steps do not matter": {[]string{"decided 3", "entered 3", "shown 2", "arrived 2", "entered 2"}, "2"},
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
