package plan

import (
	"fmt"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Budget compares the removals of a plan with those that need no approval.
type Budget struct {
	// Removals are the assignments that are removed, and those that lose their namespace.
	Removals int `json:"removals"`
	// Allowed is the number of removals within the budget.
	Allowed int `json:"allowed"`
}

// Refusal says why a plan needs approval.
type Refusal struct {
	Reason RefusalReason `json:"reason"`
	// Message says what is wrong, and what to check.
	Message string `json:"message"`
}

// RefusalReason is a stable identifier.
type RefusalReason string

// The reasons why a plan needs approval: absence is not intent.
const (
	RefusedBudget         RefusalReason = "deletion-budget"
	RefusedNoClusterTypes RefusalReason = "no-cluster-types"
	RefusedNoAssignments  RefusalReason = "no-assignments"
)

// Removals is the input of [Removals.Judge].
type Removals struct {
	// Published is how many assignments, or targets of an application, exist. The budget is a share of these, and not
	// of what is wanted, because only what exists can be removed. Left is how many remain.
	Published, Left int
	Removed         int
	Budget          fleet.DeletionBudget
	// Unit names them in the plural, and Check says what to check if none is left.
	Unit, Check string
}

// Judge returns the budget, and why the removals need approval.
func (r Removals) Judge() (Budget, []Refusal) {
	b := Budget{Removals: r.Removed, Allowed: r.Budget.Allows(r.Published)}
	var refusals []Refusal
	if r.Published > 0 && r.Left == 0 {
		refusals = append(refusals, Refusal{RefusedNoAssignments, fmt.Sprintf("all %d %s would be removed and none is left; check that %s", r.Published, r.Unit, r.Check)})
	}
	if b.Removals > b.Allowed {
		refusals = append(refusals, Refusal{RefusedBudget, fmt.Sprintf("%d removals exceed the deletion budget of %d; they need approval", b.Removals, b.Allowed)})
	}
	return b, refusals
}

// judge decides whether the plan needs approval.
func (p *Plan) judge(s *fleet.Snapshot) {
	r := Removals{
		Removed: p.Counts.Removed, Left: p.Counts.Left(),
		Unit: "assignments", Check: "policies and registrations are there",
	}
	for _, f := range p.before.Folders {
		r.Published += len(f.Assignments)
	}
	if s.GitOps != nil {
		r.Budget = s.GitOps.Budget
	}
	for i := range p.Assignments {
		if len(p.Assignments[i].Gone) > 0 {
			r.Removed++
		}
	}
	p.Budget, p.Refusals = r.Judge()
	if len(s.ClusterTypes) == 0 {
		message := fmt.Sprintf("environment %q has no cluster type: nothing could run anywhere; check the branch and path it is read from", p.Environment)
		p.Refusals = append([]Refusal{{RefusedNoClusterTypes, message}}, p.Refusals...)
	}
}
