package promote

import (
	"context"
	"errors"
	"slices"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// watch decides in which states the commits of environments without rules are. Nothing is promoted to them: they
// follow main, or a commit that users write.
func (r *round) watch(ctx context.Context, clusters *registry) error {
	var failed error
	for _, place := range r.reading.Watched {
		if place.Unknown != "" || place.Commit == "" {
			continue
		}
		l := &lane{environment: place.Environment, places: []EnvironmentState{place}}
		l.facts.Chain, _ = decide.NewChain([]decide.Stage{{Name: place.Environment, Promotion: &v1alpha1.Promotion{}}}, nil)
		l.facts.Line, l.facts.Authors, l.facts.Merged = lineUpTo(r.lanes[0].facts.Line, place.Commit), r.lanes[0].facts.Authors, r.lanes[0].facts.Merged
		r.watched = append(r.watched, l)
		failed = errors.Join(failed, r.gatherPlaces(ctx, clusters, l, func(place EnvironmentState) decide.Environment {
			return r.journal.page(place.Environment).environment(place)
		}))
		l.decisions = decide.Decide(l.facts, r.at)
	}
	return failed
}

// lineUpTo returns a line that ends with a commit, so that none is newer.
func lineUpTo(line []string, commit string) []string {
	if i := slices.Index(line, commit); i >= 0 {
		return line[:i+1]
	}
	return []string{commit}
}

// recordWatched records what became of the commits of environments without rules, for messages, history and figures.
func (r *round) recordWatched(ctx context.Context) error {
	var failed error
	for _, l := range r.watched {
		d := l.decisions[0]
		r.outcome.wake(d.Next)
		if err := r.recordState(ctx, l.places[0], d); err != nil {
			failed = joinIn(d.Environment, failed, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	return failed
}

// recordState records the state of an environment's commit.
func (r *round) recordState(ctx context.Context, place EnvironmentState, d decide.Decision) error {
	if d.State == decide.Unknown {
		return nil
	}
	if r.journal.page(d.Environment).entered() != d.Commit {
		if err := r.recordOnce(ctx, d.Environment, recordedStep{Kind: decide.StepStarted, Commit: d.Commit}, Detail{}, ""); err != nil {
			return err
		}
	}
	if err := r.publish(ctx, place); err != nil {
		return err
	}
	if err := r.recordOutcome(ctx, place, d); err != nil {
		return err
	}
	return r.decide(ctx, d)
}
