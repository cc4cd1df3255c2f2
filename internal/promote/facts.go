package promote

import (
	"maps"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// environment returns the facts of one environment, without the verdict.
func (p *page) environment(place EnvironmentState) decide.Environment {
	e := decide.Environment{
		Name: place.Environment, Unknown: place.Unknown, Commit: place.Commit, Head: place.Head, Rollout: place.Rollout,
		History: slices.CompactFunc(slices.Clone(p.history), same), Checks: p.checks(place),
		Proposals: p.proposals(place), Aborts: p.aborted(), Request: p.pendingOrder(), Skips: p.skipped(),
	}
	e.Statuses, e.CheckStatuses = p.statuses(place)
	asked := p.ordered[place.Commit]
	for _, b := range p.bypasses[place.Commit] {
		if !b.At.Before(asked) {
			e.Bypasses = append(e.Bypasses, b)
		}
	}
	for _, a := range p.approvals[place.Commit] {
		if !a.At.Before(asked) {
			e.Approvals = append(e.Approvals, a)
		}
	}
	slices.SortStableFunc(e.Bypasses, func(a, b decide.Bypass) int { return a.At.Compare(b.At) })
	slices.SortStableFunc(e.Approvals, func(a, b decide.Approval) int { return a.At.Compare(b.At) })
	if p.pause != nil && p.pause.At.After(p.resumed) {
		pause := *p.pause
		e.Pause = &pause
	}
	return e
}

// aborted returns the commits that were aborted and not requested since.
func (p *page) aborted() []decide.Abort {
	var all []decide.Abort
	for _, commit := range slices.Sorted(maps.Keys(p.aborts)) {
		if a := p.aborts[commit]; !p.ordered[commit].After(a.At) {
			all = append(all, a)
		}
	}
	return all
}

// skipped returns the commits that were let pass and not requested since.
func (p *page) skipped() []decide.Skip {
	var all []decide.Skip
	for _, commit := range slices.Sorted(maps.Keys(p.skips)) {
		if s := p.skips[commit]; !p.ordered[commit].After(s.At) {
			all = append(all, s)
		}
	}
	return all
}

// pendingOrder returns the request that is not carried out yet, or nil. A commit that was aborted since is not requested any more.
func (p *page) pendingOrder() *decide.Request {
	if p.order == nil || p.fulfilled[p.order.ID] || p.aborts[p.order.Commit].At.After(p.ordered[p.order.Commit]) {
		return nil
	}
	order := *p.order
	return &order
}

// checks returns what is recorded of a rollout's verifications, oldest first. A new request for the commit discards earlier
// results, approvals and bypasses.
func (p *page) checks(place EnvironmentState) []decide.CheckResult {
	var all []decide.CheckResult
	for _, r := range p.results {
		if r.Revision == place.Rollout.Commit && r.commit == place.Commit && !r.At.Before(p.ordered[place.Commit]) {
			all = append(all, r.CheckResult)
		}
	}
	slices.SortStableFunc(all, func(a, b decide.CheckResult) int { return a.At.Compare(b.At) })
	return all
}

// proposals returns the open proposals, and those that were closed for commits that were not requested since.
func (p *page) proposals(place EnvironmentState) []decide.Proposal {
	var all []decide.Proposal
	for _, o := range place.Proposals {
		pin := place.Follows && o.From == o.Commit
		overruled := o.State == decide.ProposalClosed && p.ordered[o.Commit].After(o.Ended)
		if !pin && !overruled {
			all = append(all, o.Proposal)
		}
	}
	return all
}

// statuses returns the statuses of the current commits, and those of earlier commits that are still pending: those of the
// environment, and those of its verifications.
func (p *page) statuses(place EnvironmentState) (map[string]decide.Status, map[decide.CheckCommit]decide.Status) {
	all, checks := map[string]decide.Status{}, map[decide.CheckCommit]decide.Status{}
	for at, s := range p.shown {
		switch {
		case at.Commit != place.Commit && at.Commit != place.Head && s.State != decide.Pending:
		case at.Check == "":
			all[at.Commit] = s.Status
		default:
			checks[at] = s.Status
		}
	}
	return all, checks
}

// next returns a time for a new step. It is later than all recorded steps, even if the clock was set back.
func (p *page) next(now time.Time) time.Time {
	now = now.UTC().Truncate(time.Microsecond)
	if !now.After(p.last) {
		return p.last.Add(time.Microsecond)
	}
	return now
}
