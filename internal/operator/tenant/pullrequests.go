package tenant

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/operator"
	"github.com/kalypso-io/kalypso/internal/plane"
)

// planned is a pull request of the control plane, as it was last planned.
type planned struct {
	head, base forge.Ref
	at         time.Time
	// skipped means that it comes from a fork that is not read, and err why it could not be planned.
	skipped bool
	err     error
}

// retryPlan is when a pull request that could not be planned is tried again, unless its head or base changes before.
const retryPlan = 5 * time.Minute

// PlanPullRequests implements [operator.Tenant].
func (t *Tenant) PlanPullRequests(ctx context.Context) (operator.PullRequests, error) {
	var result operator.PullRequests
	end, err := t.begin()
	if err != nil {
		return result, err
	}
	defer end()
	p := t.plane()
	open, err := p.Changes(ctx)
	if err != nil {
		return result, fmt.Errorf("list the pull requests of the control plane: %w", err)
	}
	t.forgetClosed(open)
	for _, change := range t.dueFirst(open) {
		was, known := t.planned[change.Number]
		if due := !known || was.head != change.Head || was.base != change.Base || was.err != nil && time.Since(was.at) > retryPlan; due {
			if ctx.Err() != nil {
				result.Left++
				continue
			}
			was = t.plan(ctx, p, change)
			t.planned[change.Number] = was
			switch {
			case was.skipped:
				result.Did = append(result.Did, fmt.Sprintf("pull request %d comes from a fork, and is not planned", change.Number))
			case was.err == nil:
				result.Did = append(result.Did, fmt.Sprintf("posted the plan of pull request %d", change.Number))
			}
		}
		switch {
		case was.skipped:
			result.NotPlanned++
		case was.err != nil:
			result.Failed = append(result.Failed, fmt.Sprintf("pull request %d: %v", change.Number, was.err))
		default:
			result.Planned++
		}
	}
	return result, nil
}

// plan plans a pull request, and posts the plan.
func (t *Tenant) plan(ctx context.Context, p *plane.Plane, change forge.PullRequest) planned {
	preview, err := p.Preview(ctx, change)
	if err != nil && ctx.Err() != nil {
		err = errors.New("planning took too long")
	}
	return planned{head: change.Head, base: change.Base, at: time.Now(), skipped: err == nil && preview == nil, err: err}
}

// forgetClosed forgets the pull requests that are not open any more.
func (t *Tenant) forgetClosed(open []forge.PullRequest) {
	if t.planned == nil {
		t.planned = map[int]planned{}
	}
	for number := range t.planned {
		if !slices.ContainsFunc(open, func(p forge.PullRequest) bool { return p.Number == number }) {
			delete(t.planned, number)
		}
	}
}

// dueFirst returns pull requests in the order of their turns: those that were never planned, and then the one that was planned first. So one that
// takes all the time does not keep the others from their plans.
func (t *Tenant) dueFirst(open []forge.PullRequest) []forge.PullRequest {
	open = slices.Clone(open)
	slices.SortFunc(open, func(a, b forge.PullRequest) int {
		return cmp.Or(t.planned[a.Number].at.Compare(t.planned[b.Number].at), cmp.Compare(a.Number, b.Number))
	})
	return open
}
