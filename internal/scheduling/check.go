package scheduling

import (
	"context"
	"fmt"

	"github.com/kalypso-io/kalypso/internal/bundle"
	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
)

// StatusChecks is the context of the status that says what the checks of manifests found.
const StatusChecks = "kalypso/checks"

// Check returns what the check policies of an environment find in the files that a change writes, and what is wrong with the
// policies. What is published already was checked when it came.
func Check(b *bundle.Bundle, changes []bundle.Change) ([]check.Finding, []fleet.Problem, error) {
	return checked(b, changes, check.New)
}

func checked(b *bundle.Bundle, changes []bundle.Change, newChecker func(check.Policy) (*check.Checker, error)) ([]check.Finding, []fleet.Problem, error) {
	policy, problems := check.PolicyOf(b.Snapshot)
	checker, err := newChecker(policy)
	if err != nil {
		return nil, problems, fmt.Errorf("prepare the checks: %w", err)
	}
	put, _ := Edits(changes)
	return checker.Check(put), problems, nil
}

// check looks at what the change writes.
func (r *round) check(_ context.Context, request Request) error {
	changes := r.bundle.Changes()
	if len(changes) == 0 {
		return nil
	}
	findings, problems, err := checked(r.bundle, changes, func(p check.Policy) (*check.Checker, error) { return r.Memory.checker(request, p) })
	if err != nil {
		return err
	}
	r.outcome.Findings = findings
	r.outcome.Plan.Problems = fleet.SortProblems(append(r.outcome.Plan.Problems, problems...))
	return nil
}

// checkStatus says whether anything refuses the change.
func (r *round) checkStatus() forge.Status {
	s := forge.Status{Context: StatusChecks, State: forge.Success, Description: check.Summary(r.outcome.Findings)}
	if check.Worst(r.outcome.Findings) == check.Refuse {
		s.State = forge.Failure
	}
	return s
}
