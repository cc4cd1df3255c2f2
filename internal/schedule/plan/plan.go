package plan

import (
	"fmt"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/schedule/placement"
)

// Plan is the difference between two states of an environment.
type Plan struct {
	Environment string `json:"environment"`
	// Before and After describe what is compared, such as "gitops
	// dev@8c6fb4a" and "control plane dev@1f0c2aa, main@5523a85".
	Before string `json:"before"`
	After  string `json:"after"`
	// WhatIf are the imagined changes of the control plane; empty for a plan of what it is.
	WhatIf []string `json:"whatIf,omitempty"`
	Counts Counts   `json:"counts"`
	// Assignments are the assignments that are added, changed, removed or held, sorted by cluster type and target.
	Assignments []Change `json:"assignments"`
	// ClusterTypes are the cluster types and clusters whose folders change, sorted by folder.
	ClusterTypes []ClusterType `json:"clusterTypes"`
	// Moves are the targets that leave a cluster type for another one, because of the rules of a policy, the most targets first.
	Moves []Move `json:"moves,omitempty"`
	// Rings are the rings in which the change is rolled out; absent if the environment has none.
	Rings *Rings `json:"rings,omitempty"`
	// Answers are the policies whose recorded answers of external schedulers change, sorted.
	Answers []string `json:"answers,omitempty"`
	// Promotion is the move to another commit of main; nil if the commit stays the same.
	Promotion *Promotion `json:"promotion,omitempty"`
	// Drift lists the files that were changed by hand and that are restored. It leaves out those of held assignments.
	Drift []bundle.Drift `json:"drift,omitempty"`
	// Unmanaged lists the files that clusters may apply and that Kalypso doesn't render, as spec.unmanaged of the GitOpsRepo permits.
	Unmanaged []string `json:"unmanaged,omitempty"`
	// Budget compares the removals with those that need no approval.
	Budget Budget `json:"budget"`
	// Refusals say why the plan needs approval; empty if it does not.
	Refusals []Refusal `json:"refusals,omitempty"`
	// Problems are the problems of the state after the change, sorted.
	Problems []fleet.Problem `json:"problems,omitempty"`

	before, after State
	// redact hides parts of file contents; nil hides nothing. See [Plan.Redact].
	redact func(text string) string
}

// Counts are the numbers of assignments, or of an application's targets, by operation.
type Counts struct {
	Added     int `json:"added"`
	Changed   int `json:"changed"`
	Removed   int `json:"removed"`
	Held      int `json:"held"`
	Unchanged int `json:"unchanged"`
}

// Op is what happens to an assignment, a target, a cluster type, a file or an object.
type Op string

// The operations. Held and Unchanged apply to assignments and targets only.
const (
	Added     Op = "added"
	Changed   Op = "changed"
	Removed   Op = "removed"
	Held      Op = "held"
	Unchanged Op = "unchanged"
)

// Count adds an assignment or target to the counter of its operation.
func (c *Counts) Count(op Op) {
	switch op {
	case Added:
		c.Added++
	case Changed:
		c.Changed++
	case Removed:
		c.Removed++
	case Held:
		c.Held++
	case Unchanged:
		c.Unchanged++
	}
}

// Left returns how many assignments or targets remain.
func (c *Counts) Left() int { return c.Added + c.Changed + c.Held + c.Unchanged }

// String formats the counts: "1 added, 2 changed". It leaves out what is unchanged.
func (c *Counts) String() string {
	var parts []string
	for _, part := range []struct {
		n  int
		op Op
	}{{c.Added, Added}, {c.Changed, Changed}, {c.Removed, Removed}, {c.Held, Held}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.op))
		}
	}
	return strings.Join(parts, ", ")
}

// Change is what happens to one assignment.
type Change struct {
	Op          Op     `json:"op"`
	ClusterType string `json:"clusterType"`
	// Cluster is the cluster whose folder has the assignment; empty for the folder of the cluster type.
	Cluster string `json:"cluster,omitempty"`
	// Target is the name of the deployment target; Title is its display name, "<workload>/<short name>".
	Target string `json:"target"`
	Title  string `json:"title"`
	// Policies are the policies that select the pair or, if it is removed, that selected it.
	Policies []string `json:"policies,omitempty"`
	// Files are the files that differ, sorted by path. A held assignment has none.
	Files []FileChange `json:"files,omitempty"`
	// Config are the configuration keys that differ, sorted.
	Config []ConfigChange `json:"config,omitempty"`
	// Sources is what differs in what the reconciler applies: its repository, branch or path.
	Sources []SourceChange `json:"sources,omitempty"`
	// Gone are the objects that are no longer written. Reconcilers that prune delete them: a namespace with everything in it, a
	// reconciler's object with everything it applied. An assignment that remains and loses objects counts as a removal.
	// Of removed assignments, the first 1000 list theirs.
	Gone []Object `json:"gone,omitempty"`
	// Granted are the ClusterRoles that the change gives, and Withdrawn those that it takes away. Removed assignments list none.
	Granted   []Role `json:"granted,omitempty"`
	Withdrawn []Role `json:"withdrawn,omitempty"`
	// GrantedSecrets are the Secrets outside of the assignment's namespace that the change has sent to a repository, and WithdrawnSecrets
	// those that are no longer sent there. Removed assignments list none.
	GrantedSecrets   []Secret `json:"grantedSecrets,omitempty"`
	WithdrawnSecrets []Secret `json:"withdrawnSecrets,omitempty"`
	// MayStay are the roles outside of the namespace of an assignment that is removed. Its service account is deleted with the namespace, so
	// reconcilers may leave there what they applied.
	MayStay []Role `json:"mayStay,omitempty"`
	// HandedOver are objects of a reconciler that stay beside those that take over from them, and delete nothing any more.
	HandedOver []Object `json:"handedOver,omitempty"`
	// Retired are objects that were handed over and are no longer written. Clusters delete them, and nothing with them.
	Retired []Object `json:"retired,omitempty"`
	// Cause is why the assignment is removed; empty for other operations.
	Cause RemovalCause `json:"cause,omitempty"`
	// Step is the step of its policy that does not allow a removed assignment any more, for the cause "rules", and StepReason
	// explains it. MovesTo are the cluster types to which the policy adds the target instead.
	Step       placement.Step `json:"step,omitempty"`
	StepReason string         `json:"stepReason,omitempty"`
	MovesTo    []string       `json:"movesTo,omitempty"`
	// RenamedFrom is, for an added assignment, the removed one with the same content apart from the name of its target or cluster type.
	// RenamedTo is the reverse. Clusters delete the old objects and create new ones, so it counts as a removal.
	RenamedFrom *Pair `json:"renamedFrom,omitempty"`
	RenamedTo   *Pair `json:"renamedTo,omitempty"`
	// Reason explains why the assignment is held.
	Reason *fleet.Problem `json:"reason,omitempty"`
}

// RemovalCause is why an assignment is removed.
type RemovalCause string

// The causes of removals.
const (
	// NoClusterType means that the cluster type does not exist any more.
	NoClusterType RemovalCause = "no-cluster-type"
	// NoTarget means that the deployment target does not exist any more in the environment.
	NoTarget RemovalCause = "no-target"
	// NoPolicy means that no policy selects the two any more.
	NoPolicy RemovalCause = "no-policy"
	// Rules means that a policy selects the two, but its other rules, or those of other policies, do not allow the assignment any more.
	Rules RemovalCause = "rules"
	// NoCluster means that the folder was that of a cluster whose Cluster object does not exist any more.
	NoCluster RemovalCause = "no-cluster"
)

// String says it in words.
func (c RemovalCause) String() string {
	switch c {
	case NoClusterType:
		return "the cluster type was removed"
	case NoTarget:
		return "the target was removed"
	case NoCluster:
		return "the Cluster was removed"
	case Rules:
		return "the rules do not allow it any more"
	}
	return "no policy schedules it any more"
}

// FileChange is what happens to one file.
type FileChange struct {
	Op   Op     `json:"op"`
	Path string `json:"path"`

	before, after *bundle.File // of the folders; nil if the state does not have it
}

// ClusterType is what happens to the folder of one cluster type, or of one cluster with values of its own.
type ClusterType struct {
	Name string `json:"name"`
	// Cluster is the cluster whose folder it is; empty for the folder of the cluster type.
	Cluster string `json:"cluster,omitempty"`
	// Op is what happens to the folder: added, removed or changed.
	Op     Op     `json:"op"`
	Counts Counts `json:"counts"`
}

// Promotion is the move of an environment to another commit of main.
type Promotion struct {
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// Compare returns the plan for changing a state to a bundle. It returns an error if a published file cannot be read.
func Compare(before State, afterName string, after *bundle.Bundle) (*Plan, error) {
	p := &Plan{
		Environment: after.Environment,
		Before:      before.Name,
		After:       afterName,
		Problems:    after.Problems,
		before:      before,
		after:       BundleState(afterName, after),
		// The lists are encoded as JSON, where clients expect an empty list rather than null.
		Assignments:  []Change{},
		ClusterTypes: []ClusterType{},
	}
	if from, to := before.Promoted, after.Snapshot.PromotedCommit; from != to && to != "" {
		p.Promotion = &Promotion{From: from, To: to}
	}
	p.Drift, p.Answers = restored(after), after.ChangedAnswers()
	if published := after.Published(); published != nil {
		p.Unmanaged = published.Unmanaged
	}
	p.compareFolders()
	p.addCauses(after.Snapshot)
	p.addMoves(after)
	if err := p.addDetails(); err != nil {
		return nil, err
	}
	p.Rings = ringsOf(before.Rings, ringsAfter(after))
	if err := p.addRenames(); err != nil {
		return nil, err
	}
	p.checkBudget(after.Snapshot)
	return p, nil
}

// addCauses adds why assignments are removed.
func (p *Plan) addCauses(s *fleet.Snapshot) {
	clusterTypes, targets := map[string]bool{}, map[string]bool{}
	for _, ct := range s.ClusterTypes {
		clusterTypes[ct.Name] = true
	}
	for _, t := range s.Targets {
		targets[t.Name] = true
	}
	for i := range p.Assignments {
		switch c := &p.Assignments[i]; {
		case c.Op != Removed:
		case c.Cluster != "" && s.Cluster(c.Cluster) == nil:
			c.Cause = NoCluster
		case !clusterTypes[c.ClusterType]:
			c.Cause = NoClusterType
		case !targets[c.Target]:
			c.Cause = NoTarget
		default:
			c.Cause = NoPolicy
		}
	}
}

// Empty reports whether the plan changes no file.
func (p *Plan) Empty() bool {
	return p.Counts.Added+p.Counts.Changed+p.Counts.Removed == 0 && len(p.ClusterTypes)+len(p.Answers)+len(p.Drift) == 0 && p.Promotion == nil && !p.Rings.changed()
}

// OnlyRecords reports whether only inventories and recorded answers change, for example because another policy selects the same pair.
func (p *Plan) OnlyRecords() bool {
	return !p.Empty() && p.Counts.Added+p.Counts.Changed+p.Counts.Removed == 0 && p.Promotion == nil && len(p.Drift) == 0 && !p.Rings.changed()
}

// restored returns the files changed by hand that a bundle restores.
func restored(b *bundle.Bundle) []bundle.Drift {
	published := b.Published()
	if published == nil || len(published.Drift) == 0 {
		return nil
	}
	written := map[string]bool{}
	for _, c := range b.Changes() {
		written[c.Path] = c.Content != nil
	}
	var drift []bundle.Drift
	for _, d := range published.Drift {
		if written[d.Path] {
			drift = append(drift, d)
		}
	}
	return drift
}

// Title returns a one-line summary of the counts: "dev: 1 added, 2 changed". [Plan.Headline] says what changes.
func (p *Plan) Title() string {
	changed := Counts{Added: p.Counts.Added, Changed: p.Counts.Changed, Removed: p.Counts.Removed}
	switch {
	case p.Empty():
		return p.Environment + ": nothing changes"
	case changed != Counts{}:
		return p.Environment + ": " + changed.String()
	case p.Promotion != nil:
		return fmt.Sprintf("%s: promote main to %s", p.Environment, p.Promotion.To[:min(7, len(p.Promotion.To))])
	case p.Rings.changed():
		return p.Environment + ": change the rings"
	case len(p.Drift) > 0:
		return p.Environment + ": restore what was changed by hand"
	default:
		return p.Environment + ": bring the records up to date"
	}
}
