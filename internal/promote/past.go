package promote

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/text/revisions"
)

// past caches what the reconcilers of a place reported over time, and what its gate said because of that. It is read from the ledger when
// it is first needed, and continued with the states that each round reads. It can be lost at any time.
type past struct {
	outcomes []comply.Past
	// inForce are the positions in outcomes of what is in force.
	inForce  map[ledger.ReconcilerID]int
	silences []comply.Silence
	heard    map[string]time.Time // by cluster, in the last round
	// joined is when members joined that were not there from the first carrier on; registered is for which registrations that is known.
	joined     map[comply.Member]time.Time
	registered map[string]time.Time
	// expected identifies the expected reconcilers and the gate for which spans were computed.
	expected uint64
	carriers map[carrierKey]*judged
	// kept is how many outcomes were left when the past was last cut.
	kept int
}

type carrierKey struct {
	commit, revision string
	entered          int64
}

func keyOf(c *decide.Carrier) carrierKey {
	return carrierKey{c.Commit, c.Revision, c.Entered.UnixMicro()}
}

// judged is what the gate said about a carrier until a time.
type judged struct {
	until  time.Time
	counts comply.Counts
	spans  []comply.Span
	// again means that something changed when it was judged: what was reported at that very moment is not in the spans.
	again bool
}

// keptCarriers is how many earlier carriers of a place are judged: those to which it could go back.
const keptCarriers = 25

// question is what is asked about the carriers of a place.
type question struct {
	place    EnvironmentState
	expected []comply.Expected
	clusters []comply.Cluster
	states   []ledger.ReconcilerState
	gate     comply.Gate
	verdict  comply.Verdict
}

// judge sets what the gate said about each carrier. changed means that clusters reported something else since the last round.
func (r *round) judge(ctx context.Context, p *past, changed bool, q question, carriers []decide.Carrier) error {
	silent, err := r.listen(ctx, p, q)
	if err != nil {
		return err
	}
	changed = changed || silent
	p.cut(carriers)
	if err := r.join(ctx, p, q, carriers[0].Entered); err != nil {
		return err
	}
	if sum := fingerprint(q); sum != p.expected {
		p.expected, p.carriers = sum, map[carrierKey]*judged{}
	}
	for i := range carriers {
		c := &carriers[i]
		key := keyOf(c)
		j := p.carriers[key]
		last := i == len(carriers)-1
		switch {
		case j != nil && j.until.Equal(c.Left) && !last:
		case j != nil && last && !changed && !j.again && j.counts == q.verdict.Counts && len(j.spans) > 0 && !r.at.Before(j.until):
			j.spans = slices.Clone(j.spans)
			j.spans[len(j.spans)-1].To, j.until = r.at, r.at
		default:
			again := changed || j == nil || j.counts != q.verdict.Counts
			if j, err = r.timeline(ctx, q, p, c); err != nil {
				return err
			}
			j.again = again
			p.carriers[key] = j
		}
		c.Spans = j.spans
	}
	return nil
}

// timeline returns what the gate said about a carrier.
func (r *round) timeline(ctx context.Context, q question, p *past, c *decide.Carrier) (*judged, error) {
	end := r.at
	if !c.Left.IsZero() {
		end = c.Left
	}
	tq := comply.TimelineQuestion{
		Question: comply.Question{Commit: c.Revision, Published: c.Entered, Expected: q.expected, Gate: q.gate},
		Until:    c.Left, Joined: map[comply.Member]time.Time{},
	}
	expected := map[string]bool{}
	for _, e := range q.expected {
		expected[e.Cluster] = true
	}
	for _, o := range p.outcomes {
		if expected[o.Cluster] && o.Since.Before(end) && (o.Until.IsZero() || o.Until.After(c.Entered)) {
			tq.Outcomes = append(tq.Outcomes, o)
		}
	}
	for _, s := range p.silences {
		if expected[s.Cluster] && s.From.Before(end) && s.To.After(c.Entered) {
			tq.Silences = append(tq.Silences, s)
		}
	}
	for member, at := range p.joined {
		if at.After(c.Entered) {
			tq.Joined[member] = at
		}
	}
	var err error
	place := q.place
	place.Rollout.Commit = c.Revision
	if tq.History, err = r.relations(ctx, place, tq.Outcomes); err != nil {
		return nil, err
	}
	if end.After(r.at) {
		end = r.at
	}
	return &judged{until: end, counts: q.verdict.Counts, spans: comply.Timeline(tq, r.at)}, nil
}

// relations looks up which of the revisions that clusters reported contain that of a carrier.
func (r *round) relations(ctx context.Context, place EnvironmentState, outcomes []comply.Past) (comply.History, error) {
	if place.exact {
		return func(hash string) (bool, bool) { return hash == place.Rollout.Commit, true }, nil
	}
	hashes := map[string]bool{}
	for i := range outcomes {
		hashes[outcomes[i].Revision.Hash] = true
		hashes[outcomes[i].Applied.Hash] = true
		hashes[outcomes[i].BrokeAt.Hash] = true
	}
	return r.history(ctx, place, hashes)
}

// fingerprint identifies the expected reconcilers and the gate.
func fingerprint(q question) uint64 {
	h := fnv.New64a()
	for i := range q.expected {
		e := &q.expected[i]
		for _, text := range []string{e.Cluster, e.ClusterType, e.Target, e.Source.Repository, e.Source.Ref, e.Source.Path, e.Or} {
			_, _ = h.Write([]byte(text))
			_, _ = h.Write([]byte{0})
		}
	}
	_, _ = fmt.Fprint(h, q.gate)
	return h.Sum64()
}

// pastOf returns the past of a place, and reads it from the ledger if it is not known yet.
func (r *round) pastOf(ctx context.Context, q question, from time.Time) (*past, error) {
	source := q.place.GitOps
	key := ledger.CleanRepository(source.Repository) + " " + source.Ref + " " + source.Path + " " + q.place.Environment
	if p := r.subject.past[key]; p != nil {
		return p, nil
	}
	p := &past{inForce: map[ledger.ReconcilerID]int{}, heard: map[string]time.Time{}, carriers: map[carrierKey]*judged{}}
	var err error
	if p.outcomes, p.inForce, err = r.outcomes(ctx, q.place, from); err != nil {
		return nil, err
	}
	if p.silences, err = r.silent(ctx, q, from); err != nil {
		return nil, err
	}
	if r.subject.past == nil {
		r.subject.past = map[string]*past{}
	}
	r.subject.past[key] = p
	return p, nil
}

// update continues the past with the states of this round, and reports whether anything changed.
func (p *past) update(q question, now time.Time) bool {
	changed := false
	seen := make(map[ledger.ReconcilerID]bool, len(q.states))
	for i := range q.states {
		s := &q.states[i]
		seen[s.Reconciler] = true
		at, known := p.inForce[s.Reconciler]
		o := observationOf(s)
		if known && p.outcomes[at].Since.Equal(o.Since) {
			continue
		}
		if s.Source.Repository == "" {
			delete(seen, s.Reconciler) // it was removed
			continue
		}
		var before *comply.Observation
		if known {
			p.outcomes[at].Until = o.Since
			before = &p.outcomes[at].Observation
		}
		o.Follow(before)
		changed = true
		p.inForce[s.Reconciler] = len(p.outcomes)
		p.outcomes = append(p.outcomes, comply.Past{Observation: o})
	}
	for id, at := range p.inForce {
		if !seen[id] {
			changed = true
			p.outcomes[at].Until = now // it follows something else
			delete(p.inForce, id)
		}
	}
	return changed
}

// observations returns what the clusters say now, with what follows from what they said before.
func (p *past) observations(states []ledger.ReconcilerState) []comply.Observation {
	all := Observations(states)
	next := 0
	for i := range states {
		if states[i].Source.Repository == "" {
			continue
		}
		if at, known := p.inForce[states[i].Reconciler]; known {
			all[next].Ran, all[next].BrokeAt = p.outcomes[at].Ran, p.outcomes[at].BrokeAt
		}
		next++
	}
	return all
}

// minCut is how many outcomes are kept at least: cutting less is not worth it.
const minCut = 1000

// cut forgets what no carrier needs: outcomes and silences that ended before the first one, and what was said about earlier ones. It does so
// when there are twice as many outcomes as the last time.
func (p *past) cut(carriers []decide.Carrier) {
	if len(p.outcomes) < 2*max(p.kept, minCut) {
		return
	}
	from := carriers[0].Entered
	kept, moved := make([]comply.Past, 0, len(p.outcomes)), map[int]int{}
	for i, o := range p.outcomes {
		if o.Until.IsZero() || o.Until.After(from) {
			moved[i] = len(kept)
			kept = append(kept, o)
		}
	}
	for id, at := range p.inForce {
		p.inForce[id] = moved[at]
	}
	p.outcomes, p.kept = kept, len(kept)
	p.silences = slices.DeleteFunc(p.silences, func(s comply.Silence) bool { return !s.To.After(from) })
	needed := map[carrierKey]*judged{}
	for i := range carriers {
		if key := keyOf(&carriers[i]); p.carriers[key] != nil {
			needed[key] = p.carriers[key]
		}
	}
	p.carriers = needed
}

// listen notes when clusters were heard of again that were silent since the last round, and reports whether there are any. Between two rounds
// a cluster may have been heard of often: only the ledger knows.
func (r *round) listen(ctx context.Context, p *past, q question) (bool, error) {
	var from time.Time
	for _, c := range q.clusters {
		last, known := p.heard[c.Name]
		if known && c.Heard.Sub(last) >= q.gate.OfflineTime() && (from.IsZero() || last.Before(from)) {
			from = last
		}
	}
	var stored []comply.Silence
	if !from.IsZero() {
		var err error
		if stored, err = r.silent(ctx, q, from); err != nil {
			return false, err
		}
	}
	heard := make(map[string]time.Time, len(q.clusters))
	for _, c := range q.clusters {
		heard[c.Name] = c.Heard
	}
	known := len(p.silences)
	for _, s := range stored {
		if last, ok := p.heard[s.Cluster]; ok && !s.From.Before(last) && !s.To.After(heard[s.Cluster]) {
			p.silences = append(p.silences, s)
		}
	}
	maps.Copy(p.heard, heard)
	return len(p.silences) > known, nil
}

// join notes since when the expected clusters serve the place. A registration that changes a label or a credential makes no member a new one:
// what it owed before, it still owes.
func (r *round) join(ctx context.Context, p *past, q question, from time.Time) error {
	expected := map[string]bool{}
	for _, e := range q.expected {
		expected[e.Cluster] = true
	}
	registered, known := map[string]time.Time{}, true
	for _, c := range q.clusters {
		if expected[c.Name] && c.Registered.After(from) {
			registered[c.Name] = c.Registered
			known = known && p.registered[c.Name].Equal(c.Registered)
		}
	}
	if known {
		return nil
	}
	environment, _ := decide.SplitRing(q.place.Environment)
	joined, err := r.joinedSince(ctx, environment, from)
	if err != nil {
		return err
	}
	if p.registered = registered; !maps.Equal(p.joined, joined) {
		p.joined, p.carriers = joined, map[carrierKey]*judged{}
	}
	return nil
}

// joinedSince returns when those members of an environment joined that were no members at a time.
func (r *round) joinedSince(ctx context.Context, environment string, from time.Time) (map[comply.Member]time.Time, error) {
	before, err := r.Ledger.Clusters(ctx, ledger.ClusterQuery{Environment: environment, AsOf: from})
	if err != nil {
		return nil, fmt.Errorf("read the clusters of %s at %s: %w", environment, from, err)
	}
	registrations, err := r.Ledger.Registered(ctx, ledger.RegistrationQuery{From: from})
	if err != nil {
		return nil, fmt.Errorf("read when clusters were registered: %w", err)
	}
	since := map[string]map[string]time.Time{} // by cluster and cluster type; zero for those that were there before
	for i := range before {
		since[before[i].Name] = typesOf(before[i].Registration, environment, time.Time{}, nil)
	}
	for _, g := range slices.Backward(registrations) {
		since[g.Cluster] = typesOf(g, environment, g.At, since[g.Cluster])
	}
	joined := map[comply.Member]time.Time{}
	for cluster, types := range since {
		for clusterType, at := range types {
			if !at.IsZero() {
				joined[comply.Member{Cluster: cluster, ClusterType: clusterType}] = at
			}
		}
	}
	return joined, nil
}

// typesOf returns the types as which a cluster serves an environment from a registration on, each with the time since when: at, unless it did
// before.
func typesOf(g ledger.Registration, environment string, at time.Time, before map[string]time.Time) map[string]time.Time {
	types := map[string]time.Time{}
	for _, m := range g.Memberships {
		if m.Environment != environment || g.Revoked {
			continue
		}
		types[m.ClusterType] = at
		if since, ok := before[m.ClusterType]; ok {
			types[m.ClusterType] = since
		}
	}
	return types
}

// outcomes reads what the reconcilers that follow the branch of a place reported since a time.
func (r *round) outcomes(ctx context.Context, place EnvironmentState, from time.Time) ([]comply.Past, map[ledger.ReconcilerID]int, error) {
	source := place.GitOps
	var all []comply.Past
	inForce := map[ledger.ReconcilerID]int{}
	transitions, err := r.stateHistory(ctx, place, ledger.StateHistoryQuery{Repository: ledger.CleanRepository(source.Repository), Ref: source.Ref, From: from})
	if err != nil {
		return nil, nil, fmt.Errorf("read what clusters reported about branch %q: %w", source.Ref, err)
	}
	for _, t := range transitions {
		if t.Until.IsZero() {
			inForce[t.Reconciler] = len(all)
		}
		o := observationOf(&ledger.ReconcilerState{Reconciler: t.Reconciler, Outcome: t.Outcome, Since: t.At, Received: t.Received})
		var before *comply.Observation
		if n := len(all); n > 0 && transitions[n-1].Reconciler == t.Reconciler {
			before = &all[n-1].Observation
		}
		o.Follow(before)
		all = append(all, comply.Past{Observation: o, Until: t.Until})
	}
	return all, inForce, nil
}

// silent reads when expected clusters were not heard of since a time.
func (r *round) silent(ctx context.Context, q question, from time.Time) ([]comply.Silence, error) {
	stored, err := r.Ledger.Silences(ctx, ledger.SilenceQuery{From: from})
	if err != nil {
		return nil, fmt.Errorf("read when clusters were silent: %w", err)
	}
	expected := map[string]bool{}
	for _, e := range q.expected {
		expected[e.Cluster] = true
	}
	var all []comply.Silence
	for _, s := range stored {
		if expected[s.Cluster] {
			all = append(all, comply.Silence{Cluster: s.Cluster, From: s.From, To: s.To})
		}
	}
	return all, nil
}

// keepSilences lets the ledger keep the silences that gates of this subject ask for, also after a restart: as short as the time after which a
// cluster counts as offline. While some rules cannot be read, nothing is forgotten that they could ask for.
func (r *round) keepSilences(ctx context.Context) error {
	shortest := comply.DefaultOfflineAfter
	for _, name := range r.reading.Chain.Names() {
		if rules, ok := r.reading.Chain.Rules(name); ok {
			shortest = min(shortest, rules.Gate.OfflineTime())
		}
	}
	kept := r.subject.silence
	if shortest == kept || len(r.reading.Problems) > 0 && kept > 0 && shortest > kept {
		return nil
	}
	if err := r.Ledger.KeepSilences(ctx, r.reading.Subject, shortest); err != nil {
		return err
	}
	r.subject.silence = shortest
	return nil
}

// observationOf converts a state for package comply.
func observationOf(s *ledger.ReconcilerState) comply.Observation {
	observed := s.Confirmed
	if observed.IsZero() {
		observed = s.Since
	}
	since := s.Since
	if !s.Received.IsZero() && since.After(s.Received) {
		since = s.Received // the clock of the cluster is fast
	}
	return comply.Observation{
		Cluster: s.Reconciler.Cluster, Reconciler: ReconcilerName(s.Reconciler),
		Source: s.Source, Revision: revisions.Parse(s.Revision), State: s.State, Message: s.Message,
		Applied: revisions.Parse(s.Applied), Health: s.Health, Unhealthy: unhealthy(s.Unhealthy),
		Observed: observed, Since: since,
	}
}
