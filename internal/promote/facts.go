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
		Checks: p.checks(place.Commit, place.Rollout.Commit), Proposals: p.proposals(place), Aborts: p.aborted(), Rollbacks: p.rolledBack(),
		Request: p.pendingOrder(), Requested: p.ordered, Skips: p.skipped(),
	}
	e.Statuses, e.CheckStatuses = p.statuses(place)
	e.Bypasses, e.Approvals = p.words(place.Commit)
	if p.pause != nil && p.pause.At.After(p.resumed) {
		pause := *p.pause
		e.Pause = &pause
	}
	return e
}

// carriers returns the revisions that the branch of a place had, oldest first, without what its gate said. The last one is what Git has now.
func (p *page) carriers(place EnvironmentState, now time.Time) []decide.Carrier {
	var all []decide.Carrier
	checks := map[string][]decide.CheckResult{}
	for _, r := range p.results {
		if !r.At.Before(p.ordered[r.commit]) {
			checks[r.commit+" "+r.Revision] = append(checks[r.commit+" "+r.Revision], r.CheckResult)
		}
	}
	add := func(revision, commit string, at time.Time) {
		n := len(all)
		if n > 0 && all[n-1].Revision == revision && all[n-1].Commit == commit {
			return
		}
		if n > 0 {
			all[n-1].Left = at
		}
		c := decide.Carrier{Commit: commit, Revision: revision, Entered: at, Checks: checks[commit+" "+revision]}
		c.Bypasses, c.Approvals = p.words(commit)
		all = append(all, c)
	}
	for _, is := range p.publications {
		add(is.revision, is.commit, is.at)
	}
	if place.Rollout.State == decide.RolloutMerged {
		add(place.Rollout.Commit, place.Commit, now.Add(time.Microsecond)) // after what was reported until now
	}
	return all[max(len(all)-maxCarriers, 0):]
}

// maxCarriers is how many revisions of a place decisions depend on.
const maxCarriers = 100

// words returns the users' commands for verifications of a commit, oldest first. Those before the last request for it do not count.
func (p *page) words(commit string) (bypasses []decide.Bypass, approvals []decide.Approval) {
	asked := p.ordered[commit]
	for _, b := range p.bypasses[commit] {
		if !b.At.Before(asked) {
			bypasses = append(bypasses, b)
		}
	}
	for _, a := range p.approvals[commit] {
		if !a.At.Before(asked) {
			approvals = append(approvals, a)
		}
	}
	slices.SortStableFunc(bypasses, func(a, b decide.Bypass) int { return a.At.Compare(b.At) })
	slices.SortStableFunc(approvals, func(a, b decide.Approval) int { return a.At.Compare(b.At) })
	return bypasses, approvals
}

// rolledBack returns the commands that took commits back, without those that a later request for the commit undid.
func (p *page) rolledBack() []decide.Rollback {
	undone := func(b decide.Rollback) bool { return p.ordered[b.Commit].After(b.At) }
	return slices.DeleteFunc(slices.Clone(p.rollbacks), undone)
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

// pendingOrder returns the newest request, or nil. A commit that was aborted or taken back since is not requested any more. Whether it is
// done follows from what entered since.
func (p *page) pendingOrder() *decide.Request {
	if p.order == nil || p.aborts[p.order.Commit].At.After(p.order.At) {
		return nil
	}
	if n := len(p.rollbacks); n > 0 && p.rollbacks[n-1].At.After(p.order.At) {
		return nil // the rollback says where to go
	}
	order := *p.order
	return &order
}

// checks returns what is recorded of the verifications of a revision, oldest first. A new request for the commit discards earlier results.
func (p *page) checks(commit, revision string) []decide.CheckResult {
	var all []decide.CheckResult
	for _, r := range p.results {
		if r.Revision == revision && r.commit == commit && !r.At.Before(p.ordered[commit]) {
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
