package decide

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
)

// Rings are the decided rings of an environment, from which the facts of the environment itself follow.
type Rings struct {
	r         *round
	Decisions []Decision
}

// Together decides about the rings of an environment, as [Decide] does.
func Together(f Facts, now time.Time) *Rings {
	r := newRound(f, now)
	rings := &Rings{r: r}
	for _, p := range r.all {
		rings.Decisions = append(rings.Decisions, r.decide(p))
	}
	return rings
}

// counts reports whether a stage counts for a commit: a cluster that is changed later than the others does not keep them from being done.
func (g *Rings) counts(p *place, position int) bool {
	ev := p.evidence[g.r.Line[position]]
	return ev != nil && !ev.proven.IsZero() || !g.r.delayed(p, position)
}

// Verdict returns what the clusters of all rings do now about a commit of the environment's branch. It has passed when the commit, and not
// only a later one, proved itself in every ring, and failed if it failed in one.
func (g *Rings) Verdict(commit string) comply.Verdict {
	r := g.r
	v := comply.Verdict{Commit: commit, Result: comply.Passed, Reconcilers: []comply.Reconciler{}}
	position, known := r.positions[commit]
	if !known {
		v.Result, v.Reason = comply.Waiting, "the branch of the environment does not have the commit any more"
		return v
	}
	waits, fails := "", ""
	var delayed []string
	for i, p := range r.all {
		has := r.position(p.env.Commit) >= position
		ev := p.evidence[commit]
		v.Add(&p.env.Verdict, has)
		v.Next = earlier(v.Next, g.Decisions[i].Next)
		reason := g.Decisions[i].Environment + ": " + g.Decisions[i].Reason
		switch {
		case !g.counts(p, position):
			v.Uncount(&p.env.Verdict)
			delayed = append(delayed, p.rules.site.cluster)
			v.Next = earlier(v.Next, r.limit(p, position))
		case has && p.state == Failed:
			fails = cmp.Or(fails, reason)
		case ev != nil && ev.failed:
			fails = cmp.Or(fails, fmt.Sprintf("it failed in %s, which went back to %s", p.name, fleet.ShortCommit(p.env.Commit)))
		case has && p.env.Commit != commit && (ev == nil || ev.proven.IsZero()):
			waits = cmp.Or(waits, fmt.Sprintf("it was replaced in %s before it ran there and passed its verifications", p.name))
		case !has || ev == nil || ev.proven.IsZero() || !p.state.Deployed() && p.env.Commit == commit && !p.later:
			waits = cmp.Or(waits, reason)
		case ev.first.After(v.Since):
			v.Since = ev.first
		}
	}
	v.Sort()
	switch {
	case fails != "":
		v.Result, v.Reason, v.Since = comply.Failed, fails, time.Time{}
	case waits != "":
		v.Result, v.Reason, v.Since = comply.Waiting, waits, time.Time{}
	case len(delayed) > 0:
		v.Reason = "every ring runs it, except " + changedLater(delayed)
	default:
		v.Reason = "every ring runs it"
	}
	return v
}

// Started reports whether a ring has a commit of the environment's branch, or had it.
func (g *Rings) Started(commit string) bool {
	return slices.ContainsFunc(g.r.all, func(p *place) bool { return p.evidence[commit] != nil })
}

// ringChange is that a stage says something else about a commit from a time on.
type ringChange struct {
	at       time.Time
	from, to comply.Standing
}

// Spans returns what the gates of all rings said about a commit of the environment's branch since it was merged. It holds while every ring
// runs it, or a later one that contains it, after the commit itself had proven itself there.
func (g *Rings) Spans(commit string, entered time.Time) []comply.Span {
	r := g.r
	position, known := r.positions[commit]
	if !known || !entered.Before(r.now) {
		return nil
	}
	counts := map[comply.Standing]int{}
	var changes []ringChange
	for _, p := range r.all {
		if !g.counts(p, position) {
			continue
		}
		counts[comply.StandingWaiting]++
		changes = append(changes, r.changes(p, commit)...)
	}
	slices.SortStableFunc(changes, func(a, b ringChange) int { return a.at.Compare(b.at) })
	spans := []comply.Span{{From: entered, Standing: comply.StandingWaiting}}
	for i, c := range changes {
		counts[c.from]--
		counts[c.to]++
		if i+1 < len(changes) && changes[i+1].at.Equal(c.at) {
			continue
		}
		standing, last := together(counts), &spans[len(spans)-1]
		if standing == last.Standing {
			continue
		}
		if !c.at.After(last.From) {
			last.Standing = standing
			continue
		}
		last.To = c.at
		spans = append(spans, comply.Span{From: c.at, Standing: standing})
	}
	spans[len(spans)-1].To = r.now
	return spans
}

// together returns what all stages say together.
func together(counts map[comply.Standing]int) comply.Standing {
	for _, s := range []comply.Standing{comply.StandingFailed, comply.StandingLost, comply.StandingWaiting, comply.StandingUnknown} {
		if counts[s] > 0 {
			return s
		}
	}
	if counts[comply.StandingHolds] > 0 {
		return comply.StandingHolds
	}
	return comply.StandingNoClusters
}

// changes returns when a stage said something else about a commit.
func (r *round) changes(p *place, commit string) []ringChange {
	var all []ringChange
	last := comply.StandingWaiting
	add := func(at time.Time, to comply.Standing) {
		if to != last {
			all = append(all, ringChange{at, last, to})
			last = to
		}
	}
	ev := p.evidence[commit]
	overtaken := r.position(p.env.Commit) > r.position(commit)
	if ev == nil && overtaken {
		add(r.now, comply.StandingLost)
	}
	if ev == nil {
		return all
	}
	for i := range p.carriers {
		c := &p.carriers[i]
		switch contains := r.contains(c.Commit, commit); {
		case !contains && last != comply.StandingWaiting && last != comply.StandingFailed:
			add(c.Entered, comply.StandingLost)
			continue
		case !contains:
			continue
		}
		own := c.Commit == commit
		for _, s := range c.Spans {
			standing := s.Standing
			if standing == comply.StandingNoClusters && p.rules.Gate.AllowNone {
				standing = comply.StandingHolds
			}
			switch {
			case standing == comply.StandingHolds && (ev.first.IsZero() || !ev.first.Before(s.To)):
				standing = comply.StandingWaiting
			case standing == comply.StandingHolds && ev.first.After(s.From):
				add(ev.first, standing)
				continue
			case standing == comply.StandingFailed && !own:
				standing = comply.StandingLost
			case standing == comply.StandingWaiting && last != comply.StandingWaiting && s.Trouble:
				standing = comply.StandingLost
			case standing == comply.StandingWaiting && last != comply.StandingWaiting:
				standing = comply.StandingUnknown // a later one is on its way
			}
			add(s.From, standing)
		}
		if p.present != nil && i == len(p.carriers)-1 && p.standing == comply.StandingHolds && !ev.first.IsZero() {
			add(r.now, comply.StandingHolds)
		}
	}
	if own := p.env.Commit == commit; own && p.state == Failed || ev.failed {
		add(r.now, comply.StandingFailed)
	} else if overtaken && ev.first.IsZero() {
		add(r.now, comply.StandingLost) // it will never run there
	}
	return all
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// contains reports whether a commit of the line is another one or contains it: it is later, and its manifests are not those of an older source
// commit, to which the environment went back.
func (r *round) contains(commit, other string) bool {
	return r.position(commit) >= r.position(other) && !r.older(commit, other)
}
