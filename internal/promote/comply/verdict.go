package comply

import (
	"cmp"
	"slices"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/text/revisions"
)

// Result is the result of a verdict.
type Result string

const (
	// Passed means that enough reconcilers run the commit, or that none is expected and the gate allows that.
	Passed Result = "passed"
	// Waiting means that enough reconcilers can still reach it.
	Waiting Result = "waiting"
	// Failed means that too many failed, or that a cluster is offline and the gate blocks. It ends when the cause ends.
	Failed Result = "failed"
	// TimedOut means that they did not reach it in time. The gate still passes when they do.
	TimedOut Result = "timedOut"
	// NoClusters means that no reconciler is expected, and the gate does not allow that.
	NoClusters Result = "noClusters"
)

// State is the state of an expected reconciler with regard to the commit.
type State string

const (
	// Reached means that it runs the commit or a descendant.
	Reached State = "reached"
	// Behind means that it runs another revision, or is still applying the commit.
	Behind State = "behind"
	// Broken means that it failed to apply the commit or a descendant.
	Broken State = "failed"
	// Offline means that its cluster has not reported for too long.
	Offline State = "offline"
	// Missing means that no known reconciler of the cluster follows the branch.
	Missing State = "missing"
)

// Verdict says whether the expected reconcilers run a commit.
type Verdict struct {
	Commit string `json:"commit"`
	Result Result `json:"result"`
	// Reason explains the result, such as "2 of 37 clusters behind: large-03, large-11".
	Reason string `json:"reason"`
	Counts Counts `json:"counts"`
	// Reconcilers are all expected ones, sorted by cluster, cluster type and target.
	Reconcilers []Reconciler `json:"reconcilers"`
	// Since is when the last required reconciler reached the commit; zero unless reconcilers passed the gate.
	Since time.Time `json:"since,omitzero"`
	// Next is when the verdict may change without a report: a cluster goes offline, or the timeout ends. Zero if it cannot.
	Next time.Time `json:"next,omitzero"`
}

// Counts are numbers of reconcilers.
type Counts struct {
	Expected int `json:"expected"`
	// Counted are the expected ones without ignored offline ones, without suspended ones that the gate does not wait for, and without those
	// that began to fail by themselves before the commit arrived.
	Counted int `json:"counted"`
	// Required is how many must have reached the commit.
	Required int `json:"required"`
	Reached  int `json:"reached"`
	Behind   int `json:"behind"`
	Failed   int `json:"failed"`
	Offline  int `json:"offline"`
	Missing  int `json:"missing"`
	// Suspended are those of Behind whose reconciler is suspended: their clusters ask not to be changed.
	Suspended int `json:"suspended,omitempty"`
	// Degraded are those whose objects are degraded, in any of these states: a gate that wants commits to be applied counts them as reached.
	Degraded int `json:"degraded,omitempty"`
}

// Reconciler is an expected reconciler and its state.
type Reconciler struct {
	Cluster     string `json:"cluster"`
	ClusterType string `json:"clusterType,omitempty"`
	Target      string `json:"target,omitempty"`
	// Name is its kind, namespace and name in the cluster; empty if none follows the branch.
	Name  string `json:"name,omitempty"`
	State State  `json:"state"`
	// Reason explains the state, without the cluster's name.
	Reason string `json:"reason"`
	// Since is when the state began; zero if unknown.
	Since time.Time `json:"since,omitzero"`
	// Revision is what it follows, Applied what it applied last: that is in the cluster while it fails to apply
	// another one. Zero if unknown.
	Revision revisions.Revision `json:"revision,omitzero"`
	Applied  revisions.Revision `json:"applied,omitzero"`
	// Health is that of what it applied; empty if it is not known, or the cluster is offline.
	Health hub.Health `json:"health,omitempty"`
	// Suspended means that it is behind and suspended.
	Suspended bool `json:"suspended,omitempty"`
	// Uncounted means that the gate does not count it: it is not one of [Counts.Counted].
	Uncounted bool `json:"-"`
}

func (c *Counts) add(r *Reconciler) {
	if r.Health == hub.HealthDegraded {
		c.Degraded++
	}
	if r.Suspended {
		c.Suspended++
	}
	switch r.State {
	case Reached:
		c.Reached++
	case Behind:
		c.Behind++
	case Broken:
		c.Failed++
	case Offline:
		c.Offline++
	case Missing:
		c.Missing++
	}
}

// Add adds the reconcilers of a verdict on a part of the clusters. has means that the part is to run the commit; otherwise those that
// run what they should are behind, because it is not yet their turn.
func (v *Verdict) Add(part *Verdict, has bool) {
	for _, r := range part.Reconcilers {
		if !has && r.State == Reached {
			r.State, r.Reason = Behind, "its ring does not have the commit yet"
		}
		v.Reconcilers = append(v.Reconcilers, r)
		v.Counts.add(&r)
	}
	v.Counts.Expected += part.Counts.Expected
	v.Counts.Counted += part.Counts.Counted
	v.Counts.Required += part.Counts.Required
}

// Uncount takes back what [Verdict.Add] counted of the part that was added last: the gate does not wait for its clusters.
func (v *Verdict) Uncount(part *Verdict) {
	v.Counts.Counted -= part.Counts.Counted
	v.Counts.Required -= part.Counts.Required
	for i := range part.Reconcilers {
		v.Reconcilers[len(v.Reconcilers)-1-i].Uncounted = true
	}
}

// Sort restores the order of the reconcilers after [Verdict.Add].
func (v *Verdict) Sort() {
	slices.SortFunc(v.Reconcilers, func(a, b Reconciler) int {
		return cmp.Or(cmp.Compare(a.Cluster, b.Cluster), cmp.Compare(a.ClusterType, b.ClusterType), cmp.Compare(a.Target, b.Target))
	})
}
