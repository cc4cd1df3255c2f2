package schedule

import (
	"context"
	"fmt"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

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
