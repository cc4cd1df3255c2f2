package comply

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// Standing is what the gate says about a commit over a time.
type Standing string

// The standings of a commit.
const (
	// StandingWaiting means that the clusters have not run the commit yet, and can still reach it.
	StandingWaiting Standing = "waiting"
	// StandingHolds means that the gate is met.
	StandingHolds Standing = "holds"
	// StandingUnknown means that the gate was met before, and is not known to be violated: too many clusters are silent.
	StandingUnknown Standing = "unknown"
	// StandingLost means that the gate was met before, and clusters are known to run something else, or not to be healthy.
	StandingLost Standing = "lost"
	// StandingFailed means that too many clusters failed, or that the commit did not reach them in time.
	StandingFailed Standing = "failed"
	// StandingNoClusters means that no cluster is expected that could say anything about the commit.
	StandingNoClusters Standing = "noClusters"
)

// Span is a time in which the gate said the same.
type Span struct {
	From, To time.Time
	Standing Standing
	// Counts are those at From. They may change within the span.
	Counts Counts
	// Degraded means that clusters were degraded or failed at some time in the span, whatever the gate says about that.
	Degraded bool
	// Trouble means that, at some time in the span, too many clusters that had not reached the commit failed with what they ran instead: the
	// commit before it would not have passed the gate.
	Trouble bool
}

// Duration returns how long the span lasts.
func (s Span) Duration() time.Duration { return s.To.Sub(s.From) }

// String describes the counts, such as "1 of 2 run it, 1 offline".
func (s Span) String() string {
	c := s.Counts
	parts := []string{fmt.Sprintf("%d of %d run it", c.Reached, c.Expected)}
	for _, of := range []struct {
		count int
		what  string
	}{{c.Failed, "failed"}, {c.Behind, "behind"}, {c.Missing, "missing"}, {c.Offline, "offline"}} {
		if of.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", of.count, of.what))
		}
	}
	return strings.Join(parts, ", ")
}

// Silence is a time in which a cluster was not heard of.
type Silence struct {
	Cluster  string
	From, To time.Time
}

// Past is an outcome that a reconciler had for a time: from Observation.Since, or else from Observation.Observed.
type Past struct {
	Observation
	// Until is when the next outcome replaced it; zero if it is in force.
	Until time.Time
}

func (p *Past) from() time.Time {
	if p.Since.IsZero() {
		return p.Observed
	}
	return p.Since
}

// TimelineQuestion is the input of [Timeline]: what did the gate say about this commit while the clusters were to run it?
type TimelineQuestion struct {
	// Question has the commit, when it was published, which is required, and what is expected now. Its observations are ignored.
	Question
	// Until is when another commit replaced it; zero if none did.
	Until time.Time
	// Outcomes are those of the reconcilers of expected clusters since Published, in any order.
	Outcomes []Past
	// Silences are the past ones of expected clusters. Expected.Heard says whether a cluster is silent now.
	Silences []Silence
	// Joined is when clusters joined that were not expected when the commit was published. Such a cluster counts from when it runs the
	// commit or fails, so that it neither undoes nor delays what others have shown.
	Joined map[Member]time.Time
}

// Member is a cluster that serves a place as a cluster type.
type Member struct{ Cluster, ClusterType string }

func (e *Expected) member() Member { return Member{e.Cluster, e.ClusterType} }

// Timeline returns what the gate said from Published until now, or until the commit was replaced. The spans follow each other without
// gaps. It judges each instant by what was known then, by the rules of [Judge].
func Timeline(q TimelineQuestion, now time.Time) []Span {
	end := now
	if !q.Until.IsZero() {
		end = earlier(q.Until, now)
	}
	if q.Published.IsZero() || !q.Published.Before(end) {
		return nil
	}
	t := timeline{TimelineQuestion: q, end: end}
	t.judge = judge{Question: q.Question, observed: indexObservations(nil), relations: map[string]relation{}}
	t.index()
	for _, e := range sortExpected(slices.Clone(q.Expected)) {
		t.follow(&e)
	}
	return t.sweep()
}

// timeline is the state of [Timeline].
type timeline struct {
	TimelineQuestion
	judge    judge
	end      time.Time
	outcomes map[string][]*Past // by cluster
	silences map[string][]Silence
	changes  []change
}

// change is a new state of one reconciler.
type change struct {
	at       time.Time
	from, to *instant // nil if it does not count yet
}

// instant is what is known of a reconciler at a time.
type instant struct {
	Reconciler
	// unheard means that nothing is known because its cluster has not reported yet.
	unheard bool
	// fails means that it has not reached the commit, and fails with what it runs instead.
	fails bool
}

func (t *timeline) index() {
	t.outcomes, t.silences = map[string][]*Past{}, map[string][]Silence{}
	for i := range t.Outcomes {
		cluster := t.Outcomes[i].Cluster
		t.outcomes[cluster] = append(t.outcomes[cluster], &t.Outcomes[i])
	}
	for _, s := range t.Silences {
		t.silences[s.Cluster] = append(t.silences[s.Cluster], s)
	}
}

// follow adds the changes of an expected reconciler.
func (t *timeline) follow(e *Expected) {
	var last *instant
	joined, late := t.Joined[e.member()]
	late = late && joined.After(t.Published)
	for _, at := range t.times(e) {
		if late && at.Before(joined) {
			continue
		}
		is := t.at(e, at)
		if late && is.State != Reached && is.State != Broken {
			continue
		}
		late = false
		if last == nil || !last.equal(&is) {
			t.changes = append(t.changes, change{at, last, &is})
			last = &is
		}
	}
}

func (i *instant) equal(other *instant) bool {
	return i.State == other.State && i.Uncounted == other.Uncounted && i.Suspended == other.Suspended && i.Health == other.Health &&
		i.unheard == other.unheard && i.fails == other.fails
}

// times returns when the state of an expected reconciler may change, sorted.
func (t *timeline) times(e *Expected) []time.Time {
	times := []time.Time{t.Published}
	add := func(at time.Time) {
		if at.After(t.Published) && at.Before(t.end) {
			times = append(times, at)
		}
	}
	for _, o := range t.outcomes[e.Cluster] {
		add(o.from())
		add(o.Until)
	}
	for _, s := range t.silences[e.Cluster] {
		add(s.From.Add(t.Gate.OfflineTime()))
		add(s.To)
	}
	add(t.Joined[e.member()])
	add(t.Published.Add(t.Gate.MaxDelay))
	if heard := t.heard(e, t.end); !heard.IsZero() {
		add(heard.Add(t.Gate.OfflineTime()))
	}
	slices.SortFunc(times, time.Time.Compare)
	return slices.CompactFunc(times, time.Time.Equal)
}

// at judges an expected reconciler at a time.
func (t *timeline) at(e *Expected, at time.Time) instant {
	var observed []*Observation
	for _, o := range t.outcomes[e.Cluster] {
		if !o.from().After(at) && (o.Until.IsZero() || o.Until.After(at)) {
			observed = append(observed, &o.Observation)
		}
	}
	t.judge.observed.byCluster[e.Cluster] = newest(observed)
	t.judge.now = at
	was := *e
	was.Heard = t.heard(e, at)
	if at.Before(t.end) {
		was.ReadUntil = time.Time{} // the silences say it
	}
	r := t.judge.reconciler(&was)
	r.Uncounted = t.judge.uncounted(&r)
	is := instant{Reconciler: r, unheard: r.State == Missing && t.judge.observed.heard(&was, at).IsZero()}
	if r.State == Behind {
		mine, _ := t.judge.observed.following(&was)
		is.fails = slices.ContainsFunc(mine, t.judge.fails)
	}
	return is
}

// heard returns when a cluster was last heard of at a time: then, unless it was silent.
func (t *timeline) heard(e *Expected, at time.Time) time.Time {
	if e.Heard.IsZero() {
		return time.Time{} // observations say it
	}
	for _, s := range t.silences[e.Cluster] {
		if s.From.Before(at) && at.Before(s.To) {
			return s.From
		}
	}
	if first := t.first(e.Cluster); !first.IsZero() && at.Before(first) {
		return time.Time{}
	}
	return earlier(e.Heard, at)
}

// first returns when a cluster was first heard of, if that is not before the commit was published; zero otherwise.
func (t *timeline) first(cluster string) time.Time {
	var first time.Time
	for _, o := range t.outcomes[cluster] {
		if at := o.from(); first.IsZero() || at.Before(first) {
			first = at
		}
	}
	if first.After(t.Published) {
		return first
	}
	return time.Time{}
}

// sweep adds up what the reconcilers said at each time.
func (t *timeline) sweep() []Span {
	slices.SortStableFunc(t.changes, func(a, b change) int { return a.at.Compare(b.at) })
	times := []time.Time{t.Published}
	for _, c := range t.changes {
		times = append(times, c.at)
	}
	if deadline := t.judge.deadline(); deadline.After(t.Published) && deadline.Before(t.end) {
		times = append(times, deadline)
	}
	slices.SortFunc(times, time.Time.Compare)
	times = slices.CompactFunc(times, time.Time.Equal)
	s := sweep{timeline: t}
	next := 0
	for _, at := range times {
		for ; next < len(t.changes) && !t.changes[next].at.After(at); next++ {
			s.apply(&t.changes[next])
		}
		s.add(at)
	}
	return s.close()
}

// sweep is the state of [timeline.sweep].
type sweep struct {
	*timeline
	counts  Counts
	unheard int
	failing int // that have not reached the commit
	held    bool
	spans   []Span
}

func (s *sweep) apply(c *change) {
	if c.from != nil {
		s.count(c.from, -1)
	}
	s.count(c.to, 1)
}

func (s *sweep) count(i *instant, by int) {
	one := Counts{}
	one.add(&i.Reconciler)
	c := &s.counts
	c.Expected += by
	if !i.Uncounted {
		c.Counted += by
	}
	c.Reached += by * one.Reached
	c.Behind += by * one.Behind
	c.Failed += by * one.Failed
	c.Offline += by * one.Offline
	c.Missing += by * one.Missing
	c.Suspended += by * one.Suspended
	c.Degraded += by * one.Degraded
	if i.unheard {
		s.unheard += by
	}
	if i.fails && !i.Uncounted {
		s.failing += by
	}
}

// add adds the standing from a time on.
func (s *sweep) add(at time.Time) {
	c := s.counts
	c.require(s.Gate)
	standing := s.standing(c, at)
	degraded := c.Degraded+c.Failed > 0
	trouble := s.failing > 0 && c.Counted-c.Failed-s.failing < c.Required
	s.held = s.held || standing == StandingHolds
	if n := len(s.spans); n > 0 && s.spans[n-1].Standing == standing {
		s.spans[n-1].Degraded = s.spans[n-1].Degraded || degraded
		s.spans[n-1].Trouble = s.spans[n-1].Trouble || trouble
		return
	}
	if n := len(s.spans); n > 0 {
		s.spans[n-1].To = at
	}
	s.spans = append(s.spans, Span{From: at, Standing: standing, Counts: c, Degraded: degraded, Trouble: trouble})
}

// standing derives the standing from the counts. A cluster that is silent violates nothing that is known.
func (s *sweep) standing(c Counts, at time.Time) Standing {
	s.judge.now = at
	silent := c.Offline + s.unheard
	possible := c.Reached + silent
	switch result := s.judge.result(c); {
	case result == NoClusters:
		return StandingNoClusters
	case result == Passed:
		return StandingHolds
	case result == Failed && !s.blocked(c):
		return StandingFailed
	case s.held && possible >= c.Required:
		return StandingUnknown
	case s.held:
		return StandingLost
	case s.judge.timedOut():
		return StandingFailed
	default:
		return StandingWaiting
	}
}

// blocked reports whether the gate failed only because clusters are offline.
func (s *sweep) blocked(c Counts) bool {
	if c.Offline == 0 || s.Gate.Offline != v1alpha1.OfflineBlock {
		return false
	}
	waits := s.judge
	waits.Gate.Offline = v1alpha1.OfflineWait
	return waits.result(c) != Failed
}

// close ends the last span.
func (s *sweep) close() []Span {
	if n := len(s.spans); n > 0 {
		s.spans[n-1].To = s.end
	}
	return slices.DeleteFunc(s.spans, func(span Span) bool { return cmp.Compare(span.Duration(), 0) == 0 })
}
