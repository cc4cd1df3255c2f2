package placement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Explanation says why a target is, or is not, on a cluster type.
type Explanation struct {
	Target      string `json:"target"`
	ClusterType string `json:"clusterType"`
	Assigned    bool   `json:"assigned"`
	// Policies says for each policy of the environment, sorted by name, whether it selects the pair,
	// and if not, every requirement that failed.
	Policies []PolicyReason `json:"policies"`
}

// PolicyReason is what one policy says about one pair.
type PolicyReason struct {
	Policy   string         `json:"policy"`
	Position fleet.Position `json:"position"`
	Selects  bool           `json:"selects"`
	// Failed lists the requirements that do not hold, those of the target first;
	// empty when the policy selects the pair.
	Failed []Requirement `json:"failed,omitempty"`
}

// Requirement is one condition of a selector that does not hold.
type Requirement struct {
	// Of says whose label is asked for: "target" or "clusterType".
	Of string `json:"of"`
	// Want is the requirement as people write it: `edge=true`, `region in (east-us, west-us)`, `workspace kaizen-app-team`.
	Want string `json:"want"`
	// Have is what was found: `edge=false`, or `no label edge`.
	Have string `json:"have"`
}

// UnknownError says that the environment has no object of that name.
type UnknownError struct {
	Environment string
	// What is the word for the kind of object: "target" or "cluster type".
	What string
	Name string
	// Near are the names that look most like it, the nearest first; empty when there are no objects of the kind.
	Near []string
}

// Error names the object and those that may have been meant.
func (e *UnknownError) Error() string {
	if len(e.Near) == 0 {
		return fmt.Sprintf("no %s %q: environment %q has none at all", e.What, e.Name, e.Environment)
	}
	return fmt.Sprintf("no %s %q in environment %q: did you mean %s?", e.What, e.Name, e.Environment, alternatives(e.Near))
}

// Explain gives the reasons for one pair. A target may be called by its name, or as "<workload>/<short name>".
// An unknown target or cluster type is an [*UnknownError] that lists near names.
func (d *Decisions) Explain(target, clusterType string) (Explanation, error) {
	t, err := d.targetNamed(target)
	if err != nil {
		return Explanation{}, err
	}
	ct, err := d.clusterTypeNamed(clusterType)
	if err != nil {
		return Explanation{}, err
	}
	_, assigned := slices.BinarySearch(d.selected.rows[ct].targets, int32(t))
	e := Explanation{
		Target:      d.targets[t].Name,
		ClusterType: d.clusterTypes[ct].Name,
		Assigned:    assigned,
		Policies:    make([]PolicyReason, len(d.candidates)),
	}
	for i, c := range d.candidates {
		e.Policies[i] = c.reason(d.targetIndex.objects[t], d.clusterTypeIndex.objects[ct])
	}
	return e, nil
}

// reason asks both halves of a policy again, for all that failed. The decision itself kept no reasons.
func (c candidates) reason(target, clusterType object) PolicyReason {
	failed := slices.Concat(c.target.failed(target), c.clusterType.failed(clusterType))
	return PolicyReason{
		Policy:   c.policy.Name,
		Position: c.policy.Position,
		Selects:  len(failed) == 0,
		Failed:   failed,
	}
}

// targetNamed returns the position of a target. Both forms of a name are clear, because names have no slashes.
func (d *Decisions) targetNamed(name string) (int, error) {
	i := slices.IndexFunc(d.targets, func(t *fleet.Target) bool { return t.Name == name || t.String() == name })
	if i >= 0 {
		return i, nil
	}
	names := make([]string, len(d.targets))
	for i, t := range d.targets {
		names[i] = t.Name
		// Names are offered in the form that was asked in.
		if strings.Contains(name, "/") {
			names[i] = t.String()
		}
	}
	return 0, &UnknownError{Environment: d.environment, What: "target", Name: name, Near: nearest(name, names)}
}

func (d *Decisions) clusterTypeNamed(name string) (int, error) {
	if i, ok := d.clusterType(name); ok {
		return i, nil
	}
	names := make([]string, len(d.clusterTypes))
	for i, ct := range d.clusterTypes {
		names[i] = ct.Name
	}
	return 0, &UnknownError{Environment: d.environment, What: "cluster type", Name: name, Near: nearest(name, names)}
}
