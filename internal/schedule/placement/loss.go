package placement

import (
	"slices"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Loss is why a policy does not assign a pair any more.
type Loss struct {
	Policy string
	Step   Step
	Reason string
}

// Losses returns why pairs are not assigned any more, with the policies that have assigned them: the reason of the policy that
// got the furthest. It has no entry for pairs whose target, cluster type or policies do not exist. It decides once more, to
// trace all of them.
func (d *Decisions) Losses(pairs map[Pair][]string) map[Pair]Loss {
	targets, losses := map[string]int32{}, map[Pair]Loss{}
	for i, t := range d.targets {
		targets[t.Name] = int32(i)
	}
	var traced []int32
	for pair := range pairs {
		if t, known := targets[pair.Target]; known {
			traced = append(traced, t)
		}
	}
	if len(traced) == 0 {
		return losses
	}
	var s *solver
	if !d.isPlain() {
		s = d.repeat(newTrace(traced...))
	}
	for pair, policies := range pairs {
		t, known := targets[pair.Target]
		ct, exists := d.clusterType(pair.ClusterType)
		if !known || !exists {
			continue
		}
		furthest := -1
		for i, c := range d.candidates {
			if c.policy.Mode == v1alpha1.PolicyExclude || !slices.Contains(policies, c.policy.Name) {
				continue
			}
			p := d.explain(s, &Explanation{}, int32(i), t, int32(ct))
			if progress := Progress(p); !p.Selects && progress > furthest {
				furthest, losses[pair] = progress, Loss{p.Policy, p.Step, p.Reason}
			}
		}
	}
	return losses
}

// repeat decides again, with a trace.
func (d *Decisions) repeat(t *trace) *solver {
	again := newDecisions(&fleet.Snapshot{
		Environment: d.environment, Targets: d.targets, ClusterTypes: d.clusterTypes, Policies: d.policies(), Unreadable: d.unreadable,
		Elsewhere: d.elsewhere,
	}, d.options)
	s := again.solve(d.options, t)
	again.meetNeeds(d.options, s)
	return s
}
