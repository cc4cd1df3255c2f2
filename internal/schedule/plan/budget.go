package plan

import (
	"fmt"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Budget compares the removals of a plan with what may go without a person's consent.
type Budget struct {
	// Removals are the assignments that are removed, and those that lose their namespace.
	Removals int `json:"removals"`
	// Allowed is the number of removals within the budget.
	Allowed int `json:"allowed"`
}

// Refusal says why a plan waits for a person.
type Refusal struct {
	Reason RefusalReason `json:"reason"`
	// Message says it in words, with what to do.
	Message string `json:"message"`
}

// RefusalReason is a stable identifier.
type RefusalReason string

// The reasons why a plan waits for a person: absence is not intent.
const (
	RefusedBudget         RefusalReason = "deletion-budget"
	RefusedNoClusterTypes RefusalReason = "no-cluster-types"
	RefusedNoAssignments  RefusalReason = "no-assignments"
)

// judge counts the removals and decides whether a person has to agree. The budget is of what is published,
// not of what is wanted, because only what is there can be lost.
func (p *Plan) judge(s *fleet.Snapshot) {
	published := 0
	for _, f := range p.before.Folders {
		published += len(f.Assignments)
	}
	var budget fleet.DeletionBudget
	if s.GitOps != nil {
		budget = s.GitOps.Budget
	}
	p.Budget = Budget{Removals: p.Counts.Removed, Allowed: budget.Allows(published)}
	for i := range p.Assignments {
		if len(p.Assignments[i].Gone) > 0 {
			p.Budget.Removals++
		}
	}
	if len(s.ClusterTypes) == 0 {
		p.refuse(RefusedNoClusterTypes, "environment %q has no cluster type: nothing could run anywhere; check the branch and path it is read from", p.Environment)
	}
	left := p.Counts.Added + p.Counts.Changed + p.Counts.Held + p.Counts.Unchanged
	if published > 0 && left == 0 {
		p.refuse(RefusedNoAssignments, "all %d assignments would be removed and none is left; check that policies and registrations are there", published)
	}
	if p.Budget.Removals > p.Budget.Allowed {
		p.refuse(RefusedBudget, "%d removals exceed the deletion budget of %d; somebody has to agree to them", p.Budget.Removals, p.Budget.Allowed)
	}
}

func (p *Plan) refuse(reason RefusalReason, format string, args ...any) {
	p.Refusals = append(p.Refusals, Refusal{Reason: reason, Message: fmt.Sprintf(format, args...)})
}
