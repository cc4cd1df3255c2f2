package query_test

import (
	"errors"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// TestProgressOfADeliveredApplication checks the progress if a server
// knows the chain and the commits of the source, too.
func TestProgressOfADeliveredApplication(t *testing.T) {
	w := newWorld(t)
	w.fact(`09:10 delivered shop#shop dev ` + older.Commit + ` started - - the first`)
	w.fact(`09:20 delivered shop#shop dev ` + older.Commit + ` failed - - dev-1: no such image`)
	w.fact(`09:30 delivered shop#shop stage ` + sha("e0") + ` deployed - - 1 of 1 clusters run it`)
	w.fact(`09:40 step dev ` + newer.Commit + ` failed - - the platform's`)
	round := shopRound(t)
	round.Found.Commits = append([]promote.Commit{{SHA: sha("e0")}}, append(round.Found.Commits, promote.Commit{SHA: sha("e4")}, promote.Commit{SHA: sha("e5")})...)
	round.Found.Candidates = map[string]deliver.Build{"dev": {Commit: sha("e4"), Version: "1.6.0"}}
	round.Found.Promotion.Environments[0].Candidate = sha("e4")
	round.Found.Promotion.Environments = append(round.Found.Promotion.Environments, promote.Standing{Environment: "prod", After: []string{"stage"}, Phase: decide.Outside})
	o := &query.Observer{
		Ledger: w.Ledger, Now: func() time.Time { return clock(t, "11:00") },
		Fleet: planes{{URL: controlPlane, Applications: []*query.Application{query.Delivered(round, nil)}}},
	}
	for _, c := range []struct {
		environment, commit string
		result              query.ProgressResult
		reason              string
		gate                bool
	}{
		{"dev", "", query.ProgressPassed, "runs on 1 cluster", true},
		{"dev", newer.Commit, query.ProgressPassed, "runs on 1 cluster", true},
		{"dev", newer.Commit[:7], query.ProgressPassed, "runs on 1 cluster", true},
		{"dev", older.Commit, query.ProgressFailed, "failed on 2026-03-02T09:20:00Z: dev-1: no such image", false},
		{"dev", sha("e0"), query.ProgressPassed, "the newer commit e200000 took its place; runs on 1 cluster", false},
		{"dev", sha("e4"), query.ProgressWaits, "runs on 1 cluster", false},
		{"dev", "e500000", query.ProgressWaits, "e500000 did not enter dev yet", false},
		{"dev", sha("99"), query.ProgressWaits, "9900000 is not on the branch that is promoted, or was not seen there yet", false},
		{"stage", "", query.ProgressWaits, "waits for its pull request to be merged", false},
		{"stage", sha("e0"), query.ProgressPassed, "deployed on 2026-03-02T09:30:00Z: 1 of 1 clusters run it", false},
		{"stage", older.Commit, query.ProgressWaits, "the newer commit e200000 took its place; waits for its pull request to be merged", false},
		{"stage", sha("e4"), query.ProgressWaits, "e400000 did not run in dev yet", false},
		{"prod", "", query.ProgressWaits, "nothing was ever promoted to prod", false},
		{"prod", older.Commit, query.ProgressFailed, "e100000 failed in dev: dev-1: no such image", false},
	} {
		p, err := o.Progress(t.Context(), query.ProgressQuery{Application: "shop", Environment: c.environment, Commit: c.commit})
		if err != nil || p.Environment != c.environment || p.Result != c.result || p.Reason != c.reason || (p.Gate != nil) != c.gate {
			t.Errorf("%s %s: got %+v, %v", c.environment, c.commit, p, err)
		}
	}
	for _, q := range []query.ProgressQuery{
		{Application: "shop", Environment: "qa"}, {Application: "cart", Environment: "dev"}, {Application: "shop", Environment: "dev", Commit: "abcdef1"},
	} {
		var unknown *query.UnknownError
		if p, err := o.Progress(t.Context(), q); !errors.As(err, &unknown) {
			t.Errorf("%+v: got %+v, %v", q, p, err)
		}
	}
}
