package promote

import (
	"maps"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// environment puts together what is known about one environment, but for the verdict of its clusters.
func (p *page) environment(place Place) decide.Environment {
	e := decide.Environment{
		Name: place.Environment, Unknown: place.Unknown, Commit: place.Commit, Head: place.Head, Rollout: place.Rollout,
		History: slices.CompactFunc(slices.Clone(p.history), same), Statuses: p.statuses(place), Checks: p.checks(place),
		Proposals: p.proposals(place), Aborts: p.aborted(), Order: p.wanted(),
	}
	if p.pause != nil && p.pause.At.After(p.resumed) {
		pause := *p.pause
		e.Pause = &pause
	}
	return e
}

// aborted are the commits that people gave up and nobody ordered since.
func (p *page) aborted() []decide.Abort {
	var all []decide.Abort
	for _, commit := range slices.Sorted(maps.Keys(p.aborts)) {
		if a := p.aborts[commit]; !p.ordered[commit].After(a.At) {
			all = append(all, a)
		}
	}
	return all
}

// wanted is the order that is not carried out yet; nil when there is none, or the commit was given up since.
func (p *page) wanted() *decide.Order {
	if p.order == nil || p.fulfilled[p.order.ID] || p.aborts[p.order.Commit].At.After(p.ordered[p.order.Commit]) {
		return nil
	}
	order := *p.order
	return &order
}

// checks are the results of the verifications of a rollout. Those from before an order for the same commit do not count any more.
func (p *page) checks(place Place) []decide.CheckResult {
	var all []decide.CheckResult
	for _, r := range p.results {
		if r.Revision != place.Rollout.Commit || r.commit != place.Commit || r.at.Before(p.ordered[place.Commit]) {
			continue
		}
		// The last result is the one that counts, wherever it was run.
		all = slices.DeleteFunc(all, func(c decide.CheckResult) bool { return c.Name == r.Name })
		all = append(all, r.CheckResult)
	}
	return all
}

// proposals are what people are asked, or turned down and nobody ordered since.
func (p *page) proposals(place Place) []decide.Proposal {
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

// statuses are those of the present commits, and of earlier ones that are still pending.
func (p *page) statuses(place Place) map[string]decide.Status {
	all := map[string]decide.Status{}
	for commit, s := range p.shown {
		if commit == place.Commit || commit == place.Head || s.State == decide.Pending {
			all[commit] = s.Status
		}
	}
	return all
}

// next is a time for a step that is after all that are on record, also when a clock was set back.
func (p *page) next(now time.Time) time.Time {
	now = now.UTC().Truncate(time.Microsecond)
	if !now.After(p.last) {
		return p.last.Add(time.Microsecond)
	}
	return now
}
