package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Budget compares the removals of a plan with those that need no approval.
type Budget struct {
	// Removals are the assignments that are removed, and those that lose objects that clusters then delete.
	Removals int `json:"removals"`
	// Allowed is the number of removals within the budget.
	Allowed int `json:"allowed"`
}

// Refusal is a reason why a plan needs approval.
type Refusal struct {
	Reason RefusalReason `json:"reason"`
	// Message says what is wrong, and what to check.
	Message string `json:"message"`
}

const needsApproval = "; they need approval"

// Approved returns the message once the removals are approved.
func (r Refusal) Approved() string { return strings.TrimSuffix(r.Message, needsApproval) }

// RefusalReason is a stable identifier.
type RefusalReason string

// The reasons why a plan needs approval: absence is not intent.
const (
	RefusedBudget         RefusalReason = "deletion-budget"
	RefusedNoClusterTypes RefusalReason = "no-cluster-types"
	RefusedNoAssignments  RefusalReason = "no-assignments"
	RefusedHandedOver     RefusalReason = "handed-over"
	RefusedClusterFolder  RefusalReason = "cluster-folder"
	RefusedLostValues     RefusalReason = "lost-values"
)

// Removals is the input of [Removals.Evaluate].
type Removals struct {
	// Published is how many assignments, or targets of an application, exist. The budget is a share of these, and not
	// of what is wanted, because only what exists can be removed. Left is how many remain.
	Published, Left int
	Removed         int
	Budget          fleet.DeletionBudget
	// Unit names them in the plural, and Check says what to check if none is left.
	Unit, Check string
}

// Evaluate returns the budget, and why the removals need approval.
func (r Removals) Evaluate() (Budget, []Refusal) {
	b := Budget{Removals: r.Removed, Allowed: r.Budget.Allows(r.Published)}
	var refusals []Refusal
	if r.Published > 0 && r.Left == 0 {
		all := fmt.Sprintf("all %d %s", r.Published, r.Unit)
		if r.Published == 1 {
			all = "the only " + strings.TrimSuffix(r.Unit, "s")
		}
		refusals = append(refusals, Refusal{RefusedNoAssignments, fmt.Sprintf("%s would be removed and none is left; check that %s", all, r.Check)})
	}
	if b.Removals > b.Allowed {
		refusals = append(refusals, Refusal{RefusedBudget, fmt.Sprintf("%d removals exceed the deletion budget of %d", b.Removals, b.Allowed) + needsApproval})
	}
	return b, refusals
}

// checkBudget decides whether the plan needs approval.
func (p *Plan) checkBudget(s *fleet.Snapshot) {
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
	// Only the platform team can ask for the removal of what was handed over. Otherwise it goes because nothing takes over any more, and counts
	// as what it is: a removal.
	asked, retired := s.GitOps != nil && s.GitOps.RemoveHandedOver, 0
	for i := range p.Assignments {
		c := &p.Assignments[i]
		switch {
		case c.Op == Changed && (len(c.Gone) > 0 || len(c.Retired) > 0 && !asked):
			r.Removed++
		case len(c.Retired) > 0:
			retired++
		}
	}
	p.Budget, p.Refusals = r.Evaluate()
	p.checkLost()
	if retired > 0 {
		p.Refusals = append(p.Refusals, Refusal{RefusedHandedOver, fmt.Sprintf(
			"the previous reconcilers of %s are removed; check that every cluster has applied the current commit, "+
				"because a cluster that has not would delete what they applied", count(retired, "assignment")) + needsApproval})
	}
	if names := p.clusterFolders(Removed); len(names) > 0 {
		p.Refusals = append(p.Refusals, Refusal{RefusedClusterFolder, fmt.Sprintf(
			"removals of folders of clusters: %s; check that each cluster follows the folder of its type, "+
				"because one that follows a folder that is removed can delete what it applied", few(names)) + needsApproval})
	}
	if len(s.ClusterTypes) == 0 {
		message := fmt.Sprintf("environment %q has no cluster type: nothing could run anywhere; check the branch and path it is read from", p.Environment)
		p.Refusals = append([]Refusal{{RefusedNoClusterTypes, message}}, p.Refusals...)
	}
}

// checkLost adds the refusal of changes that take configuration values away from more assignments than may be removed: a
// label that is changed, or a file that is gone, can do that everywhere at once. Assignments that count as removals count
// once.
func (p *Plan) checkLost() {
	lost, key := 0, ""
	for i := range p.Assignments {
		c := &p.Assignments[i]
		if c.Op != Changed || len(c.Gone)+len(c.Retired) > 0 {
			continue
		}
		at := slices.IndexFunc(c.Config, func(v ConfigChange) bool { return v.Old != nil && v.New == nil })
		if at < 0 {
			continue
		}
		if lost++; key == "" {
			key = c.Config[at].Key
		}
	}
	if lost == 0 || lost+p.Budget.Removals <= p.Budget.Allowed {
		return
	}
	with := ""
	if p.Budget.Removals > 0 {
		with = fmt.Sprintf(", with %s", count(p.Budget.Removals, "removal"))
	}
	p.Refusals = append(p.Refusals, Refusal{RefusedLostValues, fmt.Sprintf(
		"%s would lose values, such as %s%s, which exceeds the deletion budget of %d", count(lost, "assignment"), key, with, p.Budget.Allowed) + needsApproval})
}
