package plan

import (
	"fmt"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// Plan is the difference between two states of an environment.
type Plan struct {
	Environment string `json:"environment"`
	// Before and After say what is compared, such as "gitops dev@8c6fb4a" and "control plane dev@1f0c2aa, main@5523a85".
	Before string `json:"before"`
	After  string `json:"after"`
	Counts Counts `json:"counts"`
	// Assignments are those that are added, changed, removed or held, sorted by cluster type and target.
	Assignments []Change `json:"assignments"`
	// ClusterTypes are those whose folders change, sorted by name.
	ClusterTypes []ClusterType `json:"clusterTypes"`
	// Promotion is the move to another commit of main; nil when that does not change.
	Promotion *Promotion `json:"promotion,omitempty"`
	// Drift lists the files that somebody changed by hand and that are restored. Those of held assignments are not.
	Drift []bundle.Drift `json:"drift,omitempty"`
	// Budget says how many removals there are and how many would go without a person.
	Budget Budget `json:"budget"`
	// Refusals say why a person has to agree first; empty when nobody has to.
	Refusals []Refusal `json:"refusals,omitempty"`
	// Problems are those of the state after, sorted.
	Problems []fleet.Problem `json:"problems,omitempty"`

	before, after State
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

// Left returns how many remain, whatever happens to them.
func (c *Counts) Left() int { return c.Added + c.Changed + c.Held + c.Unchanged }

// String lists what happens: "1 added, 2 changed". What stays as it is does not count.
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
	// Target is the name of the deployment target; Title is what people call it, "<workload>/<short name>".
	Target string `json:"target"`
	Title  string `json:"title"`
	// Policies are those that select the pair, or selected it when it is removed.
	Policies []string `json:"policies,omitempty"`
	// Files are those that differ, sorted by path. A held assignment has none.
	Files []FileChange `json:"files,omitempty"`
	// Config are the configuration keys that differ, sorted.
	Config []ConfigChange `json:"config,omitempty"`
	// Gone are the namespaces that are not written any more though the assignment stays:
	// clusters delete them with everything in them, so they count as removals.
	Gone []string `json:"gone,omitempty"`
	// Reason says why the assignment is held.
	Reason *fleet.Problem `json:"reason,omitempty"`
}

// FileChange is what happens to one file.
type FileChange struct {
	Op   Op     `json:"op"`
	Path string `json:"path"`

	before, after bundle.File
}

// ClusterType is what happens to the folder of one cluster type.
type ClusterType struct {
	Name string `json:"name"`
	// Op says whether the folder as a whole is new, gone, or changed within.
	Op     Op     `json:"op"`
	Counts Counts `json:"counts"`
}

// Promotion is the move of an environment to another commit of main.
type Promotion struct {
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// Compare says what it means to go from a state to a bundle. An error means that a published file cannot be read.
func Compare(before State, afterName string, after *bundle.Bundle) (*Plan, error) {
	p := &Plan{
		Environment: after.Environment,
		Before:      before.Name,
		After:       afterName,
		Problems:    after.Problems,
		before:      before,
		after:       BundleState(afterName, after),
		// Programs that read the plan iterate over these: they are empty lists, never null.
		Assignments:  []Change{},
		ClusterTypes: []ClusterType{},
	}
	if from, to := before.Promoted, after.Snapshot.PromotedCommit; from != to && to != "" {
		p.Promotion = &Promotion{From: from, To: to}
	}
	p.Drift = restored(after)
	p.compareFolders()
	if err := p.addDetails(); err != nil {
		return nil, err
	}
	p.judge(after.Snapshot)
	return p, nil
}

// Empty reports whether going from before to after changes no file.
func (p *Plan) Empty() bool {
	return p.Counts.Added+p.Counts.Changed+p.Counts.Removed == 0 && len(p.ClusterTypes) == 0 && p.Promotion == nil && len(p.Drift) == 0
}

// OnlyRecords reports whether no assignment changes, but the inventories do: another policy selects the same pair, for example.
func (p *Plan) OnlyRecords() bool {
	return !p.Empty() && p.Counts.Added+p.Counts.Changed+p.Counts.Removed == 0 && p.Promotion == nil && len(p.Drift) == 0
}

// restored returns the files changed by hand that a bundle writes again.
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

// Title says in one line what the plan does: "dev: 1 added, 2 changed".
func (p *Plan) Title() string {
	changed := Counts{Added: p.Counts.Added, Changed: p.Counts.Changed, Removed: p.Counts.Removed}
	switch {
	case p.Empty():
		return p.Environment + ": nothing changes"
	case changed != Counts{}:
		return p.Environment + ": " + changed.String()
	case p.Promotion != nil:
		return fmt.Sprintf("%s: promote main to %s", p.Environment, p.Promotion.To[:min(7, len(p.Promotion.To))])
	case len(p.Drift) > 0:
		return p.Environment + ": restore what was changed by hand"
	default:
		return p.Environment + ": bring the records up to date"
	}
}
