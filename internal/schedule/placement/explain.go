package placement

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Explanation gives the reasons why a target is, or is not, on a cluster type.
type Explanation struct {
	Target      string `json:"target"`
	ClusterType string `json:"clusterType"`
	Assigned    bool   `json:"assigned"`
	// Policies has an entry for each policy of the environment, sorted by name.
	Policies []PolicyReason `json:"policies"`
}

// PolicyReason tells whether a policy selects a pair, and if not, why.
type PolicyReason struct {
	Policy   string         `json:"policy"`
	Position fleet.Position `json:"position"`
	Selects  bool           `json:"selects"`
	// Failed lists every requirement that does not hold, the target's first. Empty when the policy selects the pair.
	Failed []Requirement `json:"failed,omitempty"`
}

// Requirement is one condition of a selector that does not hold.
type Requirement struct {
	// Of is the side it applies to: "target" or "clusterType".
	Of string `json:"of"`
	// Want is the requirement in readable form: `edge=true`, `region in (east-us, west-us)`, `workspace kaizen-app-team`.
	Want string `json:"want"`
	// Have is what was found: `edge=false`, or `no label edge`.
	Have string `json:"have"`
}

// Explain returns the reasons for one pair. The target is given by its name, or as "<workload>/<short name>".
// The error for an unknown target or cluster type suggests similar names.
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
		failed := slices.Concat(c.target.failed(d.targetIndex.objects[t]), c.clusterType.failed(d.clusterTypeIndex.objects[ct]))
		e.Policies[i] = PolicyReason{
			Policy:   c.policy.Name,
			Position: c.policy.Position,
			Selects:  len(failed) == 0,
			Failed:   failed,
		}
	}
	return e, nil
}

// Has reports whether there is a target with a name, in either form.
func (d *Decisions) Has(target string) bool {
	_, err := d.targetNamed(target)
	return err == nil
}

// targetNamed returns the position of a target. The two forms of a name cannot collide, because names have no slashes.
func (d *Decisions) targetNamed(name string) (int, error) {
	i := slices.IndexFunc(d.targets, func(t *fleet.Target) bool { return t.Name == name || t.String() == name })
	if i >= 0 {
		return i, nil
	}
	names := make([]string, len(d.targets))
	for i, t := range d.targets {
		names[i] = t.Name
		// Suggest names in the form that the caller used.
		if strings.Contains(name, "/") {
			names[i] = t.String()
		}
	}
	return 0, d.unknown("target", name, names)
}

func (d *Decisions) clusterTypeNamed(name string) (int, error) {
	if i, ok := d.clusterType(name); ok {
		return i, nil
	}
	names := make([]string, len(d.clusterTypes))
	for i, ct := range d.clusterTypes {
		names[i] = ct.Name
	}
	return 0, d.unknown("cluster type", name, names)
}

// unknown returns the error for a name that does not exist, with up to three similar ones.
func (d *Decisions) unknown(noun, name string, names []string) error {
	near := nearest(name, names)
	if len(near) == 0 {
		return fmt.Errorf("no %s %q: environment %q has no %ss", noun, name, d.environment, noun)
	}
	for i, n := range near {
		near[i] = strconv.Quote(n)
	}
	list, last := strings.Join(near[:len(near)-1], ", "), near[len(near)-1]
	if list != "" {
		last = list + " or " + last
	}
	return fmt.Errorf("no %s %q in environment %q: did you mean %s?", noun, name, d.environment, last)
}

// nearest returns the up to three names that are most similar to word, the most similar first.
func nearest(word string, names []string) []string {
	distance := make(map[string]int, len(names))
	for _, n := range names {
		distance[n] = levenshtein.ComputeDistance(word, n)
		if strings.Contains(n, word) {
			// Part of a name is a better sign than a few letters in common.
			distance[n] = 1
		}
	}
	near := slices.SortedFunc(slices.Values(names), func(a, b string) int {
		return cmp.Or(cmp.Compare(distance[a], distance[b]), cmp.Compare(a, b))
	})
	return near[:min(3, len(near))]
}
