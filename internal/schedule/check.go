package schedule

import (
	"context"
	"fmt"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
)

// StatusChecks is the context of the status that says what the checks of manifests found.
const StatusChecks = "kalypso/checks"

// check looks at what the change writes.
func (r *round) check(_ context.Context, request Request) error {
	changes := r.bundle.Changes()
	if len(changes) == 0 {
		return nil
	}
	policy, problems := check.PolicyOf(r.bundle.Snapshot)
	checker, err := r.Memory.checker(request, policy)
	if err != nil {
		return fmt.Errorf("prepare the checks: %w", err)
	}
	// What is published already was checked when it came.
	put, _ := Edits(changes)
	r.outcome.Findings = checker.Check(put)
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
