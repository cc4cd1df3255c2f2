package query

import (
	"context"
	"slices"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Moves says what a promotion moves.
type Moves string

// What is promoted. Environments of both have the same names.
const (
	MovesPlatform    Moves = "platform"    // commits of a control plane
	MovesApplication Moves = "application" // commits of an application's source
)

// movesOf says what a subject of the ledger is, and which workload it is the application of.
func movesOf(subject string) (m Moves, workload string) {
	if workload, ok := deliver.WorkloadOf(subject); ok {
		return MovesApplication, workload
	}
	return MovesPlatform, ""
}

// former are the subjects that applications had once and that look like those of control planes: their steps are on record under
// the subjects of now as well.
func (o *Observer) former(ctx context.Context) (map[string]bool, error) {
	return deliver.FormerSubjects(ctx, o.Ledger)
}

// platformSteps returns the steps of one control plane in an environment, the newest first; of all of them where it is not known
// whose environment it is. Of an environment of an application they are those of the application.
func (o *Observer) platformSteps(ctx context.Context, s *standing, q ledger.StepQuery) ([]ledger.Step, error) {
	if subject := s.subject(); subject != "" {
		q.Subject = subject
		return o.Ledger.Steps(ctx, q)
	}
	former, err := o.former(ctx)
	if err != nil {
		return nil, err
	}
	return o.stepsOf(ctx, q, func(subject string) bool {
		moves, _ := movesOf(subject)
		return moves == MovesPlatform && !former[subject]
	})
}

// stepsOf returns the steps of wanted subjects, the newest first. There are fewer than the limit only where there are no more.
func (o *Observer) stepsOf(ctx context.Context, q ledger.StepQuery, wanted func(subject string) bool) ([]ledger.Step, error) {
	for most := q.Limit; ; q.Limit *= 8 {
		steps, err := o.Ledger.Steps(ctx, q)
		if err != nil {
			return nil, err
		}
		read := len(steps)
		steps = slices.DeleteFunc(steps, func(s ledger.Step) bool { return !wanted(s.Subject) })
		switch {
		case most > 0 && len(steps) >= most:
			return steps[:most], nil
		case most == 0 || read < q.Limit:
			return steps, nil
		}
	}
}

// subjectsOf are those that the application of a workload has in the ledger, sorted: mostly one.
func (o *Observer) subjectsOf(ctx context.Context, workload string) ([]string, error) {
	var found []string
	add := func(subject string) {
		if !slices.Contains(found, subject) {
			found = append(found, subject)
		}
	}
	for _, a := range o.applications() {
		if a.Name == workload {
			add(a.Subject)
		}
	}
	if len(found) == 0 { // only the ledger knows
		last, err := o.Ledger.Promotions(ctx, ledger.StepQuery{})
		if err != nil {
			return nil, err
		}
		for _, s := range last {
			if _, of := movesOf(s.Subject); of == workload {
				add(s.Subject)
			}
		}
	}
	slices.Sort(found)
	return found, nil
}
