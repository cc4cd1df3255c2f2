package decide

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/window"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
)

// defaultMaxDelay is the default of [v1alpha1.Ring.MaxDelay].
const defaultMaxDelay = 24 * time.Hour

// site is a cluster that says when it may be changed. It never moves at another time, neither forward nor back.
type site struct {
	cluster  string
	calendar calendar
	hold     *v1alpha1.Hold
}

func newSite(cluster string, s fleet.Stage) (*site, error) {
	own := &site{cluster: cluster, hold: s.Hold}
	for _, w := range s.Windows {
		parsed, err := window.Parse(w)
		if err != nil {
			return own, fmt.Errorf("the windows of cluster %s: %w", cluster, err)
		}
		own.calendar.windows = append(own.calendar.windows, parsed)
	}
	return own, nil
}

// closed explains why the cluster may not be changed now, and returns when that ends; zero if it is not known.
func (s *site) closed(now time.Time) (why string, until time.Time) {
	if s == nil {
		return "", time.Time{}
	}
	if h := s.hold; h != nil && (h.Until == nil || now.Before(h.Until.Time)) {
		end := ""
		if h.Until != nil {
			until, end = h.Until.Time, " until "+clock(h.Until.Time, now)
		}
		return fmt.Sprintf("%s asks not to be disturbed%s: %s", s.cluster, end, h.Reason), until
	}
	why, until = s.calendar.closed(now)
	switch {
	case why == "":
		return "", time.Time{}
	case until.IsZero():
		return s.cluster + " waits for its window, and none opens any more", until
	default:
		return fmt.Sprintf("%s waits for its window, which opens at %s", s.cluster, clock(until, now)), until
	}
}

// SiteClosed explains why the only cluster of a stage may not be changed now, and returns when that ends, if it is known. The reason is empty
// for other stages.
func (r *Rules) SiteClosed(now time.Time) (why string, until time.Time) { return r.site.closed(now) }

func (p *place) siteClosed() string {
	why, _ := p.closed()
	return why
}

// delayed reports whether later stages do not wait for the commit at a position to run here: the stage is a cluster that may not be
// changed now, or whose reconciler is suspended, for less than the ring's limit. Another stage of the ring has to have run the commit:
// otherwise the next ring would be the first to run it.
func (r *round) delayed(p *place, position int) bool {
	if p.rules.site == nil {
		return false
	}
	if p.delays[position] == nil {
		delayed := r.isDelayed(p, position)
		p.delays[position] = &delayed
	}
	return *p.delays[position]
}

func (r *round) isDelayed(p *place, position int) bool {
	if p.state == Unknown || p.env.Pause != nil || r.aborted(p, r.Line[position]) != nil || r.lostSince(p, position) {
		return false
	}
	v := &p.env.Verdict
	suspended := p.state == Applying && v.Result == comply.Waiting && v.Counts.Suspended > 0 && v.Counts.Suspended == v.Counts.Expected
	at, known := r.positions[p.env.Commit]
	if has := known && at >= position; has && !suspended || !has && p.siteClosed() == "" && !suspended {
		return false
	}
	another := slices.ContainsFunc(p.beside, func(q *place) bool { return q != p && r.ranSince(q, position) })
	return another && r.now.Before(r.limit(p, position))
}

// limit returns when later stages begin to wait for the commit at a position to run in a stage. The time counts from when the commit
// could enter it: when it ran in all earlier stages, or was merged.
func (r *round) limit(p *place, position int) time.Time {
	ready := r.Merged[r.Line[position]]
	for _, before := range p.before {
		if before == nil || before.rules.site != nil {
			continue
		}
		if ev := before.evidence[r.Line[position]]; ev != nil && !ev.first.IsZero() && ev.first.Add(before.rules.Soak).After(ready) {
			ready = ev.first.Add(before.rules.Soak)
		}
	}
	return ready.Add(p.rules.maxDelay)
}

// failedBeside returns the name of another cluster of the ring that speaks against a commit, or "". Clusters that say when they may be changed
// do not wait for each other, but what failed on one of them enters no other one. A user's request for a commit asks about the commit itself
// only: clusters that failed at a newer one would otherwise keep each other from going to it.
func (r *round) failedBeside(p *place, position int) string {
	commit := r.Line[position]
	requested := p.request() != nil && p.request().Commit == commit
	for _, q := range p.beside {
		if q != p && q.rules.site != nil && (r.speaksAgainst(q, position) || !requested && r.contradicts(q, position)) && !q.exempt(commit) {
			return q.name
		}
	}
	return ""
}

// speaksAgainst reports whether the commit at a position fails in a stage, or failed there and has not been promoted to it again.
func (r *round) speaksAgainst(p *place, position int) bool {
	ev := p.evidence[r.Line[position]]
	return ev != nil && ev.failed || p.state == Failed && p.env.Commit == r.Line[position]
}

// contradicts reports whether a later commit than the one at a position failed in a stage that never ran this one by itself: the cause may be
// in both.
func (r *round) contradicts(p *place, position int) bool {
	switch ev := p.evidence[r.Line[position]]; {
	case ev != nil && !ev.first.IsZero():
		return false
	case r.lostSince(p, position):
		return true
	}
	return p.state == Failed && r.position(p.env.Commit) >= position
}

// exempt reports whether a user wants a commit elsewhere although it failed here, or has requested it here again.
func (p *place) exempt(commit string) bool {
	again := p.request() != nil && p.request().Commit == commit
	return again || p.env.skipped(commit)
}

// maxNamed limits the clusters that a reason names.
const maxNamed = 3

func changedLater(clusters []string) string {
	names := strings.Join(clusters[:min(len(clusters), maxNamed)], ", ")
	switch n := len(clusters) - maxNamed; {
	case n > 0:
		return fmt.Sprintf("%s and %d more, which are changed later", names, n)
	case len(clusters) == 1:
		return names + ", which is changed later"
	default:
		return names + ", which are changed later"
	}
}

// waitsFor explains why other stages do not wait for a stage; empty if they do.
func (r *round) waitsFor(p *place, c candidate) string {
	commit := cmp.Or(c.commit, p.env.Commit)
	position, known := r.positions[commit]
	if p.rules.site == nil || !known || r.ranSince(p, position) || !r.delayed(p, position) {
		return ""
	}
	return cmp.Or(p.siteClosed(), p.rules.site.cluster+" asks not to be disturbed: its reconciler is suspended")
}

// ranSince reports whether the clusters of a stage ran the commit at a position of the line, or a later one.
func (r *round) ranSince(p *place, position int) bool {
	for commit, ev := range p.evidence {
		if !ev.first.IsZero() && r.position(commit) >= position {
			return true
		}
	}
	return false
}

// lostSince reports whether the last carrier of a stage that contains the commit at a position of the line failed.
func (r *round) lostSince(p *place, position int) bool {
	for _, c := range slices.Backward(p.carriers) {
		if r.position(c.Commit) >= position {
			return p.evidence[c.Commit].failed
		}
	}
	return false
}
