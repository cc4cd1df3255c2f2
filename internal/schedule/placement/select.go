package placement

import (
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// candidates are the pairs that one policy selects: each of its targets on each of its cluster types.
// Positions are ascending. Storing the two sides instead of the pairs keeps large fleets cheap.
type candidates struct {
	policy                *fleet.Policy
	target, clusterType   conditions
	targets, clusterTypes []int32

	// on are the assigned targets on each of clusterTypes. Nil means that all pairs are assigned.
	on [][]int32
	// held is why the policy only keeps what is published.
	held error
}

// assigned returns the targets that the policy assigns to a cluster type, by its index in clusterTypes.
func (c *candidates) assigned(i int) []int32 {
	if c.on == nil {
		return c.targets
	}
	return c.on[i]
}

// assigns reports whether the policy assigns a pair that it selects.
func (c *candidates) assigns(target, clusterType int32) bool {
	i, selects := slices.BinarySearch(c.clusterTypes, clusterType)
	if !selects {
		return false
	}
	_, assigned := slices.BinarySearch(c.assigned(i), target)
	return assigned
}

// filter returns what the two selectors of each policy select.
func filter(policies []*fleet.Policy, targets, clusterTypes *index) []candidates {
	all := make([]candidates, len(policies))
	for i, p := range policies {
		c := candidates{
			policy:      p,
			target:      compile(ofTarget, p.Workspace, p.Targets),
			clusterType: compile(ofClusterType, "", p.ClusterTypes),
		}
		c.targets = targets.find(c.target)
		c.clusterTypes = clusterTypes.find(c.clusterType)
		all[i] = c
	}
	return all
}

// selected holds the assigned pairs: a row for each cluster type, by position.
// Cluster types that the same policies select share one row.
type selected struct {
	rows  []*row
	lists policyLists
}

// row holds the targets of a cluster type, ascending, and for each the number of its policy list.
type row struct {
	targets, policies []int32
}

// selectAll assigns every candidate pair, and collects the policies that select it.
func selectAll(all []candidates, targets, clusterTypes int) selected {
	s := selected{rows: make([]*row, clusterTypes), lists: newPolicyLists()}
	// What runs on a cluster type depends only on the policies that select it,
	// and a hundred cluster types are often selected by the same few.
	shared := make(map[string]*row)
	scratch := make([]int32, targets)
	for clusterType, policies := range policiesByClusterType(all, clusterTypes) {
		key := mapKey(policies)
		if slices.ContainsFunc(policies, func(p int32) bool { return all[p].on != nil }) {
			key += "\n" + strconv.Itoa(clusterType) // not shared
		}
		if shared[key] == nil {
			shared[key] = s.lists.join(all, policies, int32(clusterType), scratch)
		}
		s.rows[clusterType] = shared[key]
	}
	return s
}

// policiesByClusterType returns the policies that select each cluster type, ascending.
func policiesByClusterType(all []candidates, clusterTypes int) [][]int32 {
	policies := make([][]int32, clusterTypes)
	for policy, c := range all {
		for _, clusterType := range c.clusterTypes {
			policies[clusterType] = append(policies[clusterType], int32(policy))
		}
	}
	return policies
}

// mapKey packs numbers into a string, because slices cannot be map keys.
func mapKey(numbers []int32) string {
	key := make([]byte, 0, 4*len(numbers))
	for _, n := range numbers {
		key = binary.LittleEndian.AppendUint32(key, uint32(n))
	}
	return string(key)
}

// policyLists stores each distinct list of policy names once; a fleet has few of them.
// Lists are numbered and grow by one policy at a time, so that looking one up never compares names. List 0 is empty.
type policyLists struct {
	names  [][]string
	longer map[extension]int32
}

// extension is a list and the policy appended to it.
type extension struct{ list, policy int32 }

func newPolicyLists() policyLists {
	return policyLists{names: [][]string{nil}, longer: make(map[extension]int32)}
}

// join returns the row of a cluster type that exactly the given policies select.
// scratch has a zero for each target, before and after the call, so that a row costs time for its assignments only.
func (l *policyLists) join(all []candidates, policies []int32, clusterType int32, scratch []int32) *row {
	var r row
	for _, policy := range policies {
		i, _ := slices.BinarySearch(all[policy].clusterTypes, clusterType)
		for _, target := range all[policy].assigned(i) {
			if scratch[target] == 0 {
				r.targets = append(r.targets, target)
			}
			scratch[target] = l.extend(scratch[target], policy, all[policy].policy.Name)
		}
	}
	slices.Sort(r.targets)
	r.policies = make([]int32, len(r.targets))
	for i, target := range r.targets {
		r.policies[i], scratch[target] = scratch[target], 0
	}
	return &r
}

// extend returns the number of the list with one more policy.
// Policies come in the order of their names, so that lists are sorted.
func (l *policyLists) extend(list, policy int32, name string) int32 {
	to := extension{list, policy}
	number, ok := l.longer[to]
	if !ok {
		number = int32(len(l.names))
		l.longer[to] = number
		l.names = append(l.names, append(slices.Clip(l.names[list]), name))
	}
	return number
}
