package promote_test

import (
	"testing"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
)

func TestLastGood(t *testing.T) {
	for name, test := range map[string]struct {
		steps []string // the newest first, as kind and commit
		want  string
	}{
		"the one before":                    {[]string{"arrived 3", "entered 3", "arrived 2", "entered 2", "arrived 1"}, "2"},
		"not one that failed since":         {[]string{"entered 3", "failed 2", "arrived 2", "entered 2", "arrived 1", "entered 1"}, "1"},
		"not the present one":               {[]string{"failed 2", "arrived 2", "entered 2", "arrived 1", "entered 1"}, "1"},
		"one that ran well again":           {[]string{"entered 3", "arrived 2", "entered 2", "failed 1", "arrived 1"}, "2"},
		"nothing ran well before":           {[]string{"arrived 1", "entered 1"}, ""},
		"nothing is known of what is there": {[]string{"arrived 1"}, ""},
		"other steps do not matter":         {[]string{"decided 3", "entered 3", "shown 2", "arrived 2", "entered 2"}, "2"},
	} {
		var steps []ledger.Step
		for _, s := range test.steps {
			kind, commit := s[:len(s)-2], s[len(s)-1:]
			steps = append(steps, ledger.Step{PromotionID: ledger.PromotionID{Commit: commit}, Kind: kind})
		}
		if got, ok := promote.LastGood(steps); got != test.want || ok != (test.want != "") {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
