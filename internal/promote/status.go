package promote

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// Forges store a limited number of statuses for a commit and context: GitHub refuses more than 1,000. The more of
// them a commit has, the larger are the steps in which counts are posted. The last ones are kept for how it ends.
const (
	// maxStatuses is how many statuses of a commit and context are posted at most.
	maxStatuses = 990
	// maxDetails is how many of them may differ from the one before only in their details, maxPending how many are
	// posted before only success and failure are.
	maxDetails, maxPending = 700, 850
	// lastInterval is the minimum time between those after maxPending.
	lastInterval = 24 * time.Hour
)

// countStep returns by how many percent a count has to differ from the one that was posted last.
func countStep(posted int) int {
	switch {
	case posted < 100:
		return 1
	case posted < 200:
		return 2
	case posted < 400:
		return 5
	default:
		return 10
	}
}

// show posts a status. A status that changes only in its details, such as a count or the error of a failure, is
// delayed. A batch of a ring has no status of its own, because there may be hundreds.
func (r *round) show(ctx context.Context, place EnvironmentState, a decide.SetStatus) error {
	if _, stage := decide.SplitRing(a.Environment); stage != fleet.RingOfStage(stage) {
		return nil
	}
	on := decide.CheckCommit{Check: a.Check, Commit: a.Commit}
	page := r.journal.page(a.Environment)
	last := page.shown[on]
	post, again := last.allows(a, r.at)
	if !post || page.full[on] {
		r.outcome.wake(again)
		return nil
	}
	err := r.pipeline.SetStatus(ctx, a)
	switch {
	case errors.Is(err, forge.ErrTooMany):
		page.full[on] = true // they were posted by another program, or are not recorded any more
	case errors.Is(err, forge.ErrDenied) || errors.Is(err, forge.ErrInvalid):
		if r.journal.saidBefore(a.Environment, err.Error(), r.at) {
			return nil // posted when the token has the right
		}
	case errors.Is(err, ErrNoCommit): // it is not retried
		err = nil
	}
	if err != nil {
		return fmt.Errorf("set the status of %s: %w", fleet.ShortCommit(a.Commit), err)
	}
	filed := place.Commit
	if a.Commit != place.Head && a.Commit != place.Commit {
		filed = last.filed // the commit was superseded
	}
	detail := Detail{On: a.Commit, Check: a.Check, Status: a.State, Percent: percent(a)}
	if err := r.record(ctx, a.Environment, filed, StatusPosted, a.Description, detail); err != nil {
		return err
	}
	r.did(a.String())
	return nil
}

// allows reports whether a status is posted after the last one, or else when it may be; zero if only another status is.
func (last *postedStatus) allows(a decide.SetStatus, now time.Time) (post bool, again time.Time) {
	detail := last.State == a.State && topic(last.Description) == topic(a.Description)
	wait := time.Duration(0)
	switch {
	case last.posted >= maxStatuses, last.posted >= maxDetails && detail, last.posted >= maxPending && a.State == decide.Pending:
		return false, time.Time{}
	case detail && a.Of > 0 && a.Done < a.Of && abs(percent(a)-last.percent) < countStep(last.posted):
		return false, time.Time{}
	case last.posted >= maxPending:
		wait = lastInterval
	case detail:
		wait = countInterval
	}
	if soon := last.at.Add(wait); now.Before(soon) && !now.Before(last.at) {
		return false, soon
	}
	return true, time.Time{}
}

// percent returns how many percent of the clusters a status counts.
func percent(a decide.SetStatus) int {
	if a.Of == 0 {
		return 0
	}
	return a.Done * 100 / a.Of
}

func abs(n int) int { return max(n, -n) }

// addStatus adds a status that was posted.
func (p *page) addStatus(s ledger.Step, d Detail) {
	on := decide.CheckCommit{Check: d.Check, Commit: d.On}
	last := p.shown[on]
	if !s.At.Before(last.at) {
		last.Status = decide.Status{State: d.Status, Description: s.Reason}
		last.filed, last.at, last.percent = s.Commit, s.At, d.Percent
	}
	last.posted++
	p.shown[on] = last
}

// topic returns the first word of a status, such as "Applying" or "Failed".
func topic(description string) string {
	word, _, _ := strings.Cut(description, " ")
	return strings.TrimSuffix(word, ":")
}
