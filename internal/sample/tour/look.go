package tour

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/sample/simulate"
)

// state is what the repositories, the ledger and the clusters say of a step.
type state struct {
	*step
	// pull is the pull request of the change; nil if it is not proposed.
	pull     *forge.PullRequest
	arrivals []arrival
	// failing reports that the cluster is made to fail.
	failing bool
	// done reports that nothing is left to do.
	done bool
}

// merged reports that the change of a step is on its branch.
func (s *state) merged() bool { return s.pull != nil && s.pull.State == forge.Merged }

// arrival is how far a change is on its way to clusters.
type arrival struct {
	place
	// Pull is the open pull request that brings it there; nil for none.
	Pull *forge.PullRequest
	// Published reports that the branch has it.
	Published bool
	// Result is what the clusters say, and Reason why. Counts counts them.
	Result query.ProgressResult
	Reason string
	Counts comply.Counts
}

// Environment is the environment's name.
func (a arrival) Environment() string { return a.environment }

// Done reports that all clusters run it.
func (a arrival) Done() bool { return a.Published && a.Result == query.ProgressPassed }

// Failed reports that a cluster could not apply it.
func (a arrival) Failed() bool { return a.Published && a.Result == query.ProgressFailed }

// look returns the number of the current step and its state; the number of steps if all are done. The steps before one that has begun are done:
// a cluster that is made to fail does not undo them.
func (t *Tour) look(ctx context.Context) (int, *state, error) {
	failing, err := t.failing()
	if err != nil {
		return 0, nil, err
	}
	begun := 0
	pulls := make([]*forge.PullRequest, len(steps))
	for i := range steps {
		one := &steps[i]
		if one.fails && failing {
			begun = i
		}
		if one.name == "" {
			continue
		}
		on, err := t.hosted(one.change.repository)
		if err != nil {
			return 0, nil, err
		}
		found, err := on.FindPullRequests(ctx, forge.PullRequestFilter{Head: one.branch(), Base: one.change.base, Limit: 1})
		if err != nil {
			return 0, nil, fmt.Errorf("find the pull request of step %d: %w", i+1, err)
		}
		if len(found) > 0 && found[0].State != forge.Closed {
			pulls[i], begun = &found[0], i
		}
	}
	for i := max(begun, int(t.skipped.Load())); i < len(steps); i++ {
		s := &state{step: &steps[i], pull: pulls[i], failing: failing}
		if s.recovers {
			s.pull = pulls[i-1]
		}
		if err := t.complete(ctx, s); err != nil || !s.done {
			return i, s, err
		}
	}
	return len(steps), nil, nil
}

// stateOf returns the state of a step, whether it is the current one or not.
func (t *Tour) stateOf(ctx context.Context, n int) (*state, error) {
	failing, err := t.failing()
	if err != nil {
		return nil, err
	}
	s := &state{step: &steps[n], failing: failing}
	of := s.step
	if s.recovers {
		of = &steps[n-1]
	}
	if of.name != "" {
		on, err := t.hosted(of.change.repository)
		if err != nil {
			return nil, err
		}
		found, err := on.FindPullRequests(ctx, forge.PullRequestFilter{Head: of.branch(), Base: of.change.base, Limit: 1})
		if err != nil {
			return nil, fmt.Errorf("find the pull request of step %d: %w", n+1, err)
		}
		if len(found) > 0 && found[0].State != forge.Closed {
			s.pull = &found[0]
		}
	}
	return s, t.complete(ctx, s)
}

// failing reports whether the cluster is made to fail.
func (t *Tour) failing() (bool, error) {
	o, err := t.Clusters.Cluster(cluster)
	return o.Behaviour.Mode == simulate.Failing, err
}

// complete finds out how far a step is.
func (t *Tour) complete(ctx context.Context, s *state) error {
	if s.change != nil && !s.merged() {
		return nil
	}
	commit := ""
	if s.change != nil {
		commit = s.pull.MergeCommit
	}
	for _, p := range s.places {
		a, err := t.arrive(ctx, p, s.change, commit)
		if err != nil {
			return fmt.Errorf("find out how far %s is: %w", p, err)
		}
		s.arrivals = append(s.arrivals, a)
	}
	arrived := !slices.ContainsFunc(s.arrivals, func(a arrival) bool { return !a.Done() })
	switch {
	case s.fails:
		s.done = !s.failing || s.arrivals[0].Failed() || s.arrivals[0].Done()
	case s.recovers:
		s.done = !s.failing && arrived
	default:
		s.done = arrived
	}
	return nil
}

// arrive finds out how far a change is on its way to a place. Without a change, anything that is published counts.
func (t *Tour) arrive(ctx context.Context, p place, c *change, commit string) (arrival, error) {
	a := arrival{place: p}
	on, err := t.hosted(p.repository)
	if err != nil {
		return a, err
	}
	merged := ""
	for _, wanted := range []forge.State{forge.Merged, forge.Open} {
		found, err := on.FindPullRequests(ctx, forge.PullRequestFilter{State: wanted, Base: p.environment, Limit: 1})
		if err != nil {
			return a, err
		}
		if len(found) == 0 {
			continue
		}
		has, err := t.carries(ctx, p, c, found[0], commit)
		if err != nil {
			return a, err
		}
		switch {
		case has && wanted == forge.Merged:
			a.Published, merged = true, found[0].MergeCommit
		case has && !a.Published:
			a.Pull = &found[0]
		}
	}
	progress, err := t.Observer.Progress(ctx, query.ProgressQuery{Environment: p.environment, Application: p.application})
	if errors.Is(err, ledger.ErrNotFound) {
		return a, nil // nothing was promoted there yet
	}
	if err != nil {
		return a, err
	}
	if a.Published {
		judged, err := t.judges(ctx, p, progress.Gate, merged)
		if err != nil || !judged {
			a.Reason = "the server reads the merged branch"
			return a, err
		}
	}
	if progress.Gate != nil {
		a.Counts = progress.Gate.Counts
	}
	a.Result, a.Reason = progress.Result, progress.Reason
	return a, nil
}

// judges reports whether a gate is about a commit of a branch, or a later one. Just after a merge, it is still about the commit before.
func (t *Tour) judges(ctx context.Context, p place, gate *query.Gate, commit string) (bool, error) {
	if gate == nil {
		return false, nil
	}
	repo, err := t.repository(ctx, p.repository)
	if err != nil {
		return false, err
	}
	return repo.IsAncestor(ctx, commit, git.Commit{Hash: gate.Commit})
}

// carries reports whether a pull request brings a change: the commit that it proposes names its inputs.
func (t *Tour) carries(ctx context.Context, p place, c *change, pull forge.PullRequest, commit string) (bool, error) {
	if c == nil {
		return true, nil
	}
	published, err := t.repository(ctx, p.repository)
	if err != nil {
		return false, err
	}
	made, err := published.Resolve(ctx, p.environment, pull.Head.Commit)
	if err != nil {
		return false, err
	}
	source, err := t.repository(ctx, c.repository)
	if err != nil {
		return false, err
	}
	for line := range strings.Lines(made.Message) {
		if input, ok := strings.CutPrefix(strings.TrimSpace(line), "Kalypso-Inputs: "+c.input+"@"); ok {
			return source.IsAncestor(ctx, commit, git.Commit{Hash: input})
		}
	}
	return false, nil
}
