package placement

import (
	"encoding/binary"
	"slices"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// candidates is what one policy makes possible: each of its targets on each of its cluster types.
// Positions are ascending; keeping the two halves apart instead of their pairs is what makes a large fleet cheap.
type candidates struct {
	policy                *fleet.Policy
	target, clusterType   conditions
	targets, clusterTypes []int32
}

// filter finds the possible pairs: for each policy what its two selectors select.
func filter(policies []*fleet.Policy, targets, clusterTypes *index) []candidates {
	possible := make([]candidates, len(policies))
	for i, p := range policies {
		c := candidates{
			policy:      p,
			target:      compile(ofTarget, p.Workspace, p.Targets),
			clusterType: compile(ofClusterType, "", p.ClusterTypes),
		}
		c.targets = targets.find(c.target)
		c.clusterTypes = clusterTypes.find(c.clusterType)
		possible[i] = c
	}
	return possible
}

// score says how well each possible pair fits. Label policies have no preferences:
// all pairs fit alike, and nothing is to be noted about them.
func score(possible []candidates) []candidates { return possible }

// selected are the pairs that were taken: a row for each cluster type, by position.
// Cluster types that the same policies select share one row.
type selected struct {
	rows  []*row
	lists policyLists
}

// row holds the targets of a cluster type, ascending, and for each the number of its list of policies.
type row struct {
	targets, policies []int32
}

// selectAll takes every possible pair, and joins the policies that select the same one.
func selectAll(scored []candidates, targets, clusterTypes int) selected {
	s := selected{rows: make([]*row, clusterTypes), lists: newPolicyLists()}
	// What runs on a cluster type depends on nothing but the policies that select it,
	// and a hundred cluster types are often selected by the same few.
	shared := make(map[string]*row)
	scratch := make([]int32, targets)
	for clusterType, policies := range policiesByClusterType(scored, clusterTypes) {
		key := mapKey(policies)
		if shared[key] == nil {
			shared[key] = s.lists.join(scored, policies, scratch)
		}
		s.rows[clusterType] = shared[key]
	}
	return s
}

// policiesByClusterType turns the candidates around: the policies that select each cluster type, ascending.
func policiesByClusterType(scored []candidates, clusterTypes int) [][]int32 {
	policies := make([][]int32, clusterTypes)
	for policy, c := range scored {
		for _, clusterType := range c.clusterTypes {
			policies[clusterType] = append(policies[clusterType], int32(policy))
		}
	}
	return policies
}

// mapKey packs numbers into a text, because slices cannot be keys of a map.
func mapKey(numbers []int32) string {
	key := make([]byte, 0, 4*len(numbers))
	for _, n := range numbers {
		key = binary.LittleEndian.AppendUint32(key, uint32(n))
	}
	return string(key)
}

// policyLists keeps each distinct list of policy names once; a fleet has few of them.
// Lists have numbers and grow by one policy at a time, so that finding one never compares names. List 0 is empty.
type policyLists struct {
	names  [][]string
	longer map[extension]int32
}

// extension is a list and the policy that comes after it.
type extension struct{ list, policy int32 }

func newPolicyLists() policyLists {
	return policyLists{names: [][]string{nil}, longer: make(map[extension]int32)}
}

// join makes the row of a cluster type that exactly the given policies select.
// The scratch space has a zero for each target, before and after: its cost is paid for assignments, not for targets.
func (l *policyLists) join(scored []candidates, policies, scratch []int32) *row {
	var r row
	for _, policy := range policies {
		for _, target := range scored[policy].targets {
			if scratch[target] == 0 {
				r.targets = append(r.targets, target)
			}
			scratch[target] = l.extend(scratch[target], policy, scored[policy].policy.Name)
		}
	}
	slices.Sort(r.targets)
	r.policies = make([]int32, len(r.targets))
	for i, target := range r.targets {
		r.policies[i], scratch[target] = scratch[target], 0
	}
	return &r
}

// extend returns the number of the list that has one more policy.
// Policies come in the order of their names, so the lists are sorted.
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
