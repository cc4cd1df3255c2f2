package placement

import (
	"iter"
	"slices"
)

// Published yields the assignments on the GitOps branch, each with the names of the policies that selected it; nil if that is
// not recorded.
type Published = iter.Seq2[Pair, []string]

// standing is what is published, by the position of the target.
type standing struct {
	pairs [][]standingPair
	// held counts, for each policy and target, the published assignments on cluster types that the snapshot does not have,
	// and that stay nevertheless, because something cannot be read.
	held map[held]int
	// foreign counts the published assignments of targets that the snapshot does not have, and that stay nevertheless, by cluster type.
	foreign []int64
}

// standingPair is a published assignment of a target. Policies are positions, ascending.
type standingPair struct {
	clusterType int32
	policies    []int32
	stays       bool // even if no policy wants it any more
}

type held struct{ policy, target int32 }

// newStanding reads what is published.
func (d *Decisions) newStanding(o Options) standing {
	s := standing{pairs: make([][]standingPair, len(d.targets)), held: map[held]int{}, foreign: make([]int64, len(d.clusterTypes))}
	if o.Published == nil {
		return s
	}
	policies := map[string]int32{}
	for i, c := range d.candidates {
		policies[c.policy.Name] = int32(i)
	}
	targets := make(map[string]int32, len(d.targets))
	for i, t := range d.targets {
		targets[t.Name] = int32(i)
	}
	for pair, names := range o.Published {
		target, known := targets[pair.Target]
		if !known {
			if i, ok := d.clusterType(pair.ClusterType); ok && o.Stays != nil && o.Stays(pair) {
				s.foreign[i]++
			}
			continue
		}
		p := standingPair{clusterType: -1}
		for _, name := range names {
			if policy, ok := policies[name]; ok {
				p.policies = append(p.policies, policy)
			}
		}
		slices.Sort(p.policies)
		p.stays = o.Stays != nil && o.Stays(pair)
		if i, ok := d.clusterType(pair.ClusterType); ok {
			p.clusterType = int32(i)
			s.pairs[target] = append(s.pairs[target], p)
			continue
		}
		for _, policy := range p.policies {
			if p.stays {
				s.held[held{policy, target}]++
			}
		}
	}
	for _, pairs := range s.pairs {
		slices.SortFunc(pairs, func(a, b standingPair) int { return int(a.clusterType) - int(b.clusterType) })
	}
	return s
}

// find returns the published assignment of a target to a cluster type.
func (s *standing) find(target, clusterType int32) (standingPair, bool) {
	if s.pairs == nil {
		return standingPair{}, false
	}
	pairs := s.pairs[target]
	i, ok := slices.BinarySearchFunc(pairs, clusterType, func(p standingPair, ct int32) int { return int(p.clusterType) - int(ct) })
	if !ok {
		return standingPair{}, false
	}
	return pairs[i], true
}

// staying returns the number of published assignments of a policy that stay, although they are not among its candidates.
func (s *standing) staying(policy, target int32, candidate func(clusterType int32) bool) int {
	n := s.held[held{policy, target}]
	for _, p := range s.pairs[target] {
		if p.stays && slices.Contains(p.policies, policy) && !candidate(p.clusterType) {
			n++
		}
	}
	return n
}

// own reports whether an assignment is published for a policy: if the policy has assigned it, or if it is not known which one has.
// What others have assigned besides must not matter: it would change what the policy chooses, without a change of its own.
func (s *standing) own(policy, target, clusterType int32) bool {
	p, published := s.find(target, clusterType)
	return published && (len(p.policies) == 0 || slices.Contains(p.policies, policy))
}

// prefers reports whether a policy prefers to keep a published assignment: its own one, or that of another policy if it has
// assigned nothing to the target yet.
func (s *standing) prefers(policy, target, clusterType int32) bool {
	return s.own(policy, target, clusterType) || s.has(target, clusterType) &&
		!slices.ContainsFunc(s.pairs[target], func(p standingPair) bool { return slices.Contains(p.policies, policy) })
}

func (s *standing) has(target, clusterType int32) bool {
	_, ok := s.find(target, clusterType)
	return ok
}
