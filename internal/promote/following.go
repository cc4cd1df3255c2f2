package promote

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// following knows what the clusters of an environment with rings report about its branches: which of them they follow,
// what they run, and what failed there. It reads from the ledger only what is needed.
type following struct {
	*round
	lane     *lane
	place    EnvironmentState
	registry *registry
	members  map[string][]comply.Cluster // by name of their stage
	// direct are the states of reconcilers that follow the environment's own branch, by cluster. inRings is when a
	// reconciler of each cluster that follows the branch of a ring last reported something else, and ranInRings says
	// which of these clusters run something. They are nil until they are read.
	direct     map[string][]ledger.ReconcilerState
	inRings    map[string]time.Time
	ranInRings map[string]bool
	// former are the decisions about former batches, as if these still had the clusters that they had.
	former *decide.Rings
}

// leftBehind returns the commit at which a ring starts again after the environment went on without rings: the one
// that its clusters run since then, which follow the environment's own branch. It returns "" for a ring that takes part
// in rollouts: a cluster follows the branch of a ring.
func (f *following) leftBehind(ctx context.Context, s *RingState) (string, error) {
	page := f.journal.page(decide.RingName(f.place.Environment, s.Name))
	moved := time.Time{}
	if n := len(page.publications); n > 0 {
		if page.publications[n-1].revision != s.Head {
			return "", nil // it was moved just now
		}
		moved = page.publications[n-1].at
	}
	if err := f.readDirect(ctx); err != nil {
		return "", err
	}
	at := f.place.Rings.position(s.Commit)
	var since []ledger.ReconcilerState
	newer := map[int]bool{}
	for _, c := range f.members[s.Name] {
		for _, state := range f.direct[c.Name] {
			if state.Since.After(moved) {
				since = append(since, state)
				if runs := f.runsAt(&state); runs > at {
					newer[runs] = true
				}
			}
		}
	}
	if len(newer) == 0 {
		return "", nil
	}
	if part, err := f.takesPart(ctx, s); err != nil || part {
		return "", err
	}
	return f.reached(s, since, newer), nil
}

// reached returns the newest of some positions of the line whose commit the clusters of a stage run by the rules of the
// environment's gate, or else the oldest: a cluster gets no commit that it did not run.
func (f *following) reached(s *RingState, states []ledger.ReconcilerState, positions map[int]bool) string {
	line := f.place.Rings.Line
	sorted := slices.Sorted(maps.Keys(positions))
	rules, ok := f.reading.Chain.Rules(f.place.Environment)
	for _, at := range slices.Backward(sorted) {
		v := comply.Judge(comply.Question{
			Commit: line[at].SHA, Expected: f.place.expect(f.members[s.Name], f.place.GitOps.Ref), Observations: Observations(states), Gate: rules.Gate,
			History: func(hash string) (reached, known bool) {
				is := f.place.Rings.position(hash)
				return is >= at, is >= 0
			},
		}, f.at)
		if ok && v.Result == comply.Passed {
			return line[at].SHA
		}
	}
	return line[sorted[0]].SHA
}

// runsAt returns the position of the commit of the environment's branch that a reconciler runs; -1 if it runs none.
func (f *following) runsAt(s *ledger.ReconcilerState) int {
	o := observationOf(s)
	if s.State == ledger.StateReady {
		return f.place.Rings.position(o.Revision.Hash)
	}
	return f.place.Rings.position(o.Applied.Hash)
}

// takesPart reports whether a cluster of a stage follows the branch of a ring: that is what it reported last.
func (f *following) takesPart(ctx context.Context, s *RingState) (bool, error) {
	if err := f.readRings(ctx); err != nil {
		return false, err
	}
	return slices.ContainsFunc(f.members[s.Name], func(c comply.Cluster) bool {
		at, follows := f.inRings[c.Name]
		later := func(state ledger.ReconcilerState) bool { return state.Since.After(at) }
		return follows && !slices.ContainsFunc(f.direct[c.Name], later)
	}), nil
}

// runs reports whether a cluster of a stage is known to run something from a branch of the environment.
func (f *following) runs(ctx context.Context, s *RingState) (bool, error) {
	if err := f.readDirect(ctx); err != nil {
		return false, err
	}
	if err := f.readRings(ctx); err != nil {
		return false, err
	}
	return slices.ContainsFunc(f.members[s.Name], func(c comply.Cluster) bool {
		return f.ranInRings[c.Name] || slices.ContainsFunc(f.direct[c.Name], func(state ledger.ReconcilerState) bool { return f.runsAt(&state) >= 0 })
	}), nil
}

// states reads the states of the reconcilers that follow a branch of the environment's GitOps repository.
func (f *following) states(ctx context.Context, branch string) ([]ledger.ReconcilerState, error) {
	page, err := f.Ledger.States(ctx, ledger.StateQuery{Repository: ledger.CleanRepository(f.place.GitOps.Repository), Ref: branch})
	if err != nil {
		return nil, fmt.Errorf("read which clusters follow branch %q: %w", branch, err)
	}
	return page.States, nil
}

// readDirect reads which clusters follow the environment's own branch, as they would without rings. Others follow other
// folders of it: that of a cluster in rings has the object with which it pulls from the branch of its ring.
func (f *following) readDirect(ctx context.Context) error {
	if f.direct != nil {
		return nil
	}
	states, err := f.states(ctx, f.place.GitOps.Ref)
	if err != nil {
		return err
	}
	expected := map[string][]comply.Expected{}
	for _, clusters := range f.members {
		for _, e := range f.place.expect(clusters, f.place.GitOps.Ref) {
			expected[e.Cluster] = append(expected[e.Cluster], e)
		}
	}
	f.direct = map[string][]ledger.ReconcilerState{}
	for _, s := range states {
		cluster, o := s.Reconciler.Cluster, observationOf(&s)
		if slices.ContainsFunc(expected[cluster], func(e comply.Expected) bool { return e.Follows(&o) }) {
			f.direct[cluster] = append(f.direct[cluster], s)
		}
	}
	return nil
}

// readRings reads which clusters follow the branches of rings.
func (f *following) readRings(ctx context.Context) error {
	if f.inRings != nil {
		return nil
	}
	f.inRings, f.ranInRings = map[string]time.Time{}, map[string]bool{}
	for _, ring := range slices.Concat(f.place.Rings.Stages, f.place.Rings.Former) {
		if ring.Head == "" {
			continue
		}
		states, err := f.states(ctx, ring.Branch)
		if err != nil {
			f.inRings = nil
			return err
		}
		for _, s := range states {
			cluster := s.Reconciler.Cluster
			f.inRings[cluster] = later(f.inRings[cluster], s.Since)
			f.ranInRings[cluster] = f.ranInRings[cluster] || s.Revision != "" || s.Applied != ""
		}
	}
	return nil
}

// failed reports whether a commit failed in a stage or in a former batch, by what their clusters reported.
func (f *following) failed(s *RingState, commit string) bool {
	name := decide.RingName(f.place.Environment, s.Name)
	return f.lane.decided.Failed(name, commit) || f.former.Failed(name, commit)
}

// decideFormer decides about former batches, as if they still had the clusters that they had.
func (f *following) decideFormer(ctx context.Context) error {
	if f.former != nil {
		return nil
	}
	was := &lane{environment: f.lane.environment, facts: f.lane.facts}
	was.facts.Environments = nil
	var stages []fleet.Stage
	for i := range f.place.Rings.Former {
		s := &f.place.Rings.Former[i]
		if s.Unknown != "" || s.Commit == "" {
			continue
		}
		var had []comply.Cluster
		for stage, clusters := range f.members {
			for _, c := range clusters {
				if fleet.RingOfStage(stage) == s.Ring && s.had(c.Name) {
					had = append(had, c)
				}
			}
		}
		stages, was.places = append(stages, s.Stage), append(was.places, f.ringPlace(f.place, s, had))
	}
	was.facts.Chain = decide.NewRings(f.stage(f.place.Environment), stages)
	err := f.gatherPlaces(ctx, f.registry, was, func(ring EnvironmentState) decide.Environment { return f.ring(f.place, ring) })
	f.former = decide.Together(was.facts, f.at)
	return err
}

// had reports whether a cluster that is in the ring now was in a former batch.
func (s *RingState) had(cluster string) bool {
	if own, is := s.Own(); is {
		return own == cluster
	}
	return fleet.BatchOf(s.Ring, cluster, []string{s.Name}) != ""
}
