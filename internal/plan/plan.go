package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/bundle"
	"github.com/kalypso-io/kalypso/internal/fleet"
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
	// Drift lists the files that somebody changed by hand and that are restored.
	Drift []bundle.Drift `json:"drift,omitempty"`
	// Budget says how many removals there are and how many would go without a person.
	Budget Budget `json:"budget"`
	// Refusals say why a person has to agree first; empty when nobody has to.
	Refusals []Refusal `json:"refusals,omitempty"`
	// Problems are those of the state after, sorted.
	Problems []fleet.Problem `json:"problems,omitempty"`

	before, after State
}

// Counts are numbers of assignments.
type Counts struct {
	Added     int `json:"added"`
	Changed   int `json:"changed"`
	Removed   int `json:"removed"`
	Held      int `json:"held"`
	Unchanged int `json:"unchanged"`
}

// Op is what happens to an assignment, a cluster type or a file.
type Op string

// The operations. Held applies to assignments only.
const (
	Added   Op = "added"
	Changed Op = "changed"
	Removed Op = "removed"
	Held    Op = "held"
)

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

// State is one side of a comparison.
type State struct {
	// Name is what people call it.
	Name     string
	Folders  []*bundle.Folder
	Promoted string
	// Read returns the content of a file that the state knows by its hash alone. May be nil when there are none.
	Read func(path string) ([]byte, error)
}

// PublishedState is what a GitOps branch holds. The nil pointer stands for an empty branch.
func PublishedState(name string, p *bundle.Published) State {
	if p == nil {
		return State{Name: name}
	}
	return State{Name: name, Folders: p.Folders, Promoted: p.Promoted, Read: p.Read}
}

// BundleState is what a control plane wants.
func BundleState(name string, b *bundle.Bundle) State {
	return State{Name: name, Folders: b.Folders, Promoted: b.Snapshot.PromotedCommit, Read: b.Published().Read}
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
	}
	if from, to := before.Promoted, after.Snapshot.PromotedCommit; from != to && to != "" {
		p.Promotion = &Promotion{From: from, To: to}
	}
	if published := after.Published(); published != nil {
		p.Drift = published.Drift
	}
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

// compareFolders walks both sides cluster type by cluster type.
func (p *Plan) compareFolders() {
	before, after := byClusterType(p.before.Folders), byClusterType(p.after.Folders)
	for _, name := range slices.Sorted(maps.Keys(union(before, after))) {
		old, now := before[name], after[name]
		if old == now {
			p.keep(now)
			continue
		}
		first := len(p.Assignments)
		counts := p.compareFolder(old, now)
		p.Counts.add(counts)
		if op, touched := folderOp(old, now, p.Assignments[first:]); touched {
			p.ClusterTypes = append(p.ClusterTypes, ClusterType{Name: name, Op: op, Counts: counts})
		}
	}
}

// keep counts a folder that both sides share.
func (p *Plan) keep(f *bundle.Folder) {
	for i := range f.Assignments {
		if a := &f.Assignments[i]; a.Held != nil {
			p.Assignments = append(p.Assignments, heldChange(a))
			p.Counts.Held++
		} else {
			p.Counts.Unchanged++
		}
	}
}

func folderOp(old, now *bundle.Folder, changes []Change) (Op, bool) {
	switch {
	case old == nil:
		return Added, true
	case now == nil:
		return Removed, true
	}
	touched := old.Readme.Hash != now.Readme.Hash || old.Inventory.Hash != now.Inventory.Hash ||
		slices.ContainsFunc(changes, func(c Change) bool { return c.Op != Held })
	return Changed, touched
}

// compareFolder merges the assignments of both sides, which are sorted by target.
func (p *Plan) compareFolder(old, now *bundle.Folder) Counts {
	var counts Counts
	was, is := assignments(old), assignments(now)
	for len(was) > 0 || len(is) > 0 {
		switch order := compareHeads(was, is); {
		case order < 0:
			p.Assignments = append(p.Assignments, removedChange(&was[0]))
			counts.Removed++
			was = was[1:]
		case order > 0:
			p.Assignments = append(p.Assignments, p.newChange(&is[0], &counts))
			is = is[1:]
		default:
			if c, ok := bothChange(&was[0], &is[0], &counts); ok {
				p.Assignments = append(p.Assignments, c)
			}
			was, is = was[1:], is[1:]
		}
	}
	return counts
}

func assignments(f *bundle.Folder) []bundle.Assignment {
	if f == nil {
		return nil
	}
	return f.Assignments
}

// compareHeads orders the first assignments of two lists by target; an empty list comes last.
func compareHeads(was, is []bundle.Assignment) int {
	switch {
	case len(was) == 0:
		return 1
	case len(is) == 0:
		return -1
	}
	return cmp.Compare(was[0].Target, is[0].Target)
}

func (p *Plan) newChange(a *bundle.Assignment, counts *Counts) Change {
	if a.Held != nil {
		counts.Held++
		return heldChange(a)
	}
	counts.Added++
	c := describe(Added, a)
	c.Files = fileChanges(nil, a.Files)
	return c
}

func bothChange(was, is *bundle.Assignment, counts *Counts) (Change, bool) {
	if is.Held != nil {
		counts.Held++
		return heldChange(is), true
	}
	files := fileChanges(was.Files, is.Files)
	if len(files) == 0 {
		counts.Unchanged++
		return Change{}, false
	}
	counts.Changed++
	c := describe(Changed, is)
	c.Files = files
	return c, true
}

func removedChange(a *bundle.Assignment) Change {
	c := describe(Removed, a)
	c.Files = fileChanges(a.Files, nil)
	return c
}

func heldChange(a *bundle.Assignment) Change {
	c := describe(Held, a)
	c.Reason = a.Held
	return c
}

func describe(op Op, a *bundle.Assignment) Change {
	return Change{Op: op, ClusterType: a.ClusterType, Target: a.Target, Title: title(a), Policies: a.Policies}
}

// title returns what people call a target: "<workload>/<short name>", or its name when the workload is not known.
func title(a *bundle.Assignment) string {
	if short, ok := strings.CutPrefix(a.Target, a.Workload+"-"); ok && a.Workload != "" {
		return a.Workload + "/" + short
	}
	return a.Target
}

// fileChanges merges two sorted lists of files into those that differ.
func fileChanges(was, is []bundle.File) []FileChange {
	var changes []FileChange
	for len(was) > 0 || len(is) > 0 {
		switch {
		case len(is) == 0 || len(was) > 0 && was[0].Path < is[0].Path:
			changes = append(changes, FileChange{Op: Removed, Path: was[0].Path, before: was[0]})
			was = was[1:]
		case len(was) == 0 || is[0].Path < was[0].Path:
			changes = append(changes, FileChange{Op: Added, Path: is[0].Path, after: is[0]})
			is = is[1:]
		default:
			if was[0].Hash != is[0].Hash {
				changes = append(changes, FileChange{Op: Changed, Path: is[0].Path, before: was[0], after: is[0]})
			}
			was, is = was[1:], is[1:]
		}
	}
	return changes
}

func byClusterType(folders []*bundle.Folder) map[string]*bundle.Folder {
	m := make(map[string]*bundle.Folder, len(folders))
	for _, f := range folders {
		m[f.ClusterType] = f
	}
	return m
}

func union(a, b map[string]*bundle.Folder) map[string]*bundle.Folder {
	m := maps.Clone(a)
	maps.Copy(m, b)
	return m
}

func (c *Counts) add(other Counts) {
	c.Added += other.Added
	c.Changed += other.Changed
	c.Removed += other.Removed
	c.Held += other.Held
	c.Unchanged += other.Unchanged
}

// Title says in one line what the plan does: "dev: 1 added, 2 changed".
func (p *Plan) Title() string {
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{{p.Counts.Added, "added"}, {p.Counts.Changed, "changed"}, {p.Counts.Removed, "removed"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.what))
		}
	}
	switch {
	case len(parts) > 0:
		return p.Environment + ": " + strings.Join(parts, ", ")
	case p.Promotion != nil:
		return fmt.Sprintf("%s: promote main to %s", p.Environment, p.Promotion.To[:min(7, len(p.Promotion.To))])
	default:
		return p.Environment + ": bring the records up to date"
	}
}
