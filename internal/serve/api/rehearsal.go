package api

import (
	"context"
	"net/http"
	"slices"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// Rehearsal is what a command would do.
type Rehearsal struct {
	// Effects are the environments and rings that the command changes, in the order of promotion.
	Effects []promote.Effect `json:"effects"`
	// Clusters is how many clusters get another commit in the next round.
	Clusters int `json:"clusters"`
	// Elsewhere are the other environments that run the commit that is taken back or aborted, and keep it.
	Elsewhere []string `json:"elsewhere,omitempty"`
	// Restarts are the workloads of an application that restart, by environment and target.
	Restarts []string `json:"restarts,omitempty"`
	// Targets are the commits to go back to, the newest first, or why they are not good; only of a rollback.
	Targets []decide.RollbackTarget `json:"targets,omitempty"`
}

// taken takes the step that a command would record.
type taken struct{ steps []ledger.Step }

// RecordStep implements [promote.Recorder].
func (t *taken) RecordStep(_ context.Context, s ledger.Step) error {
	t.steps = append(t.steps, s)
	return nil
}

// rehearse returns what a command would do, as the next round decides. Nothing is recorded.
func (s *service) rehearse(ctx context.Context, w promote.Command, give giving) (Accepted, error) {
	if s.Rehearse == nil {
		return Accepted{}, newProblem(http.StatusNotImplemented, "this server has no promotions to rehearse the command with", "leave out dryRun")
	}
	t := &taken{}
	if err := give(&promote.Control{Ledger: t, Now: s.now}, ctx, w); err != nil {
		return Accepted{}, err
	}
	is, would, err := s.Rehearse(ctx, w.Subject, t.steps...)
	if err != nil {
		return Accepted{}, err
	}
	environment, ring := decide.SplitRing(w.Environment)
	return Accepted{
		ControlPlane: w.Subject, Environment: environment, Ring: ring, Commit: w.Commit, Check: w.Check, By: w.By, Why: w.Why,
		Rehearsal: rehearsalOf(t.steps[0], is, would),
	}, nil
}

// rehearseApplication is [service.rehearse] for an application.
func (s *service) rehearseApplication(ctx context.Context, a *query.Application, w promote.Command, give giving) (Accepted, error) {
	if s.RehearseApplication == nil {
		return Accepted{}, newProblem(http.StatusNotImplemented, "this server has no promotions to rehearse the command with", "leave out dryRun")
	}
	t := &taken{}
	if err := give(&promote.Control{Ledger: t, Now: s.now}, ctx, w); err != nil {
		return Accepted{}, err
	}
	done, err := s.RehearseApplication(ctx, a.ControlPlane, a.Subject, t.steps...)
	if err != nil {
		return Accepted{}, err
	}
	r := rehearsalOf(t.steps[0], done.Is, done.Would)
	r.Restarts = done.Restarts
	return Accepted{
		ControlPlane: a.ControlPlane, Application: a.Name, Environment: w.Environment, Commit: w.Commit, Check: w.Check, By: w.By, Why: w.Why, Rehearsal: r,
	}, nil
}

// rehearsalOf compares what is with what would be after a command.
func rehearsalOf(command ledger.Step, is, would *promote.Outcome) *Rehearsal {
	r := &Rehearsal{Effects: promote.Effects(is, would)}
	for _, e := range r.Effects {
		if e.To != "" && e.To != e.From {
			r.Clusters += e.Clusters
		}
	}
	kind := decide.StepKind(command.Kind)
	environment, ring := decide.SplitRing(command.Environment)
	for i := range is.Environments {
		s := &is.Environments[i]
		changed := slices.ContainsFunc(r.Effects, func(e promote.Effect) bool { return e.Place == s.Environment && e.To != "" })
		if s.Environment != environment {
			if s.Commit == command.Commit && !changed && (kind == promote.RolledBack || kind == promote.Aborted) {
				r.Elsewhere = append(r.Elsewhere, s.Environment)
			}
			continue
		}
		if kind == promote.RolledBack {
			r.Targets = targetsOf(s, ring)
		}
	}
	return r
}

// targetsOf returns the commits that an environment, or a ring of it, can go back to. Batches of a ring go
// together: those of the first count.
func targetsOf(s *promote.Standing, ring string) []decide.RollbackTarget {
	if ring == "" {
		return s.Targets
	}
	for i := range s.Rings {
		if r := &s.Rings[i]; r.Name == ring || r.Ring == ring {
			return r.Targets
		}
	}
	return nil
}
