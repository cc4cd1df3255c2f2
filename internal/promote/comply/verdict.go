package comply

import "time"

// Result is what a verdict comes to.
type Result string

const (
	// Passed is that enough reconcilers run the commit,
	// or that none is expected and the gate says in so many words that this is all right.
	Passed Result = "passed"
	// Waiting is that enough of them may still reach it.
	Waiting Result = "waiting"
	// Failed is that too many of them failed, or that a cluster is offline at a gate that does not bear it.
	// It lasts only as long as its reason.
	Failed Result = "failed"
	// TimedOut is that they did not reach it in the time the gate gives them. Those that come late still pass it.
	TimedOut Result = "timedOut"
	// Nobody is that no reconciler is expected: there is nobody who could run the commit, and nothing was shown.
	Nobody Result = "nobody"
)

// State is how an expected reconciler stands to the commit.
type State string

const (
	// Reached is that it runs the commit or a descendant of it.
	Reached State = "reached"
	// Behind is that it runs something else, or is not done with the commit.
	Behind State = "behind"
	// Broken is that it could not apply the commit, or a descendant of it.
	Broken State = "failed"
	// Offline is that its cluster was not heard of for too long: whatever it ran, nobody knows what it runs.
	Offline State = "offline"
	// Missing is that nothing on its cluster is known to follow the branch.
	Missing State = "missing"
)

// Verdict says whether the reconcilers that are expected run a commit.
type Verdict struct {
	Commit string `json:"commit"`
	Result Result `json:"result"`
	// Reason says the result in words, such as "2 of 37 clusters behind: large-03, large-11".
	Reason string `json:"reason"`
	Counts Counts `json:"counts"`
	// Reconcilers are all that are expected, sorted by cluster, cluster type and target.
	Reconcilers []Reconciler `json:"reconcilers"`
	// Since is when the last reconciler that was required reached the commit; zero unless the gate is passed by somebody.
	Since time.Time `json:"since,omitzero"`
	// Next is when the verdict may change though nothing is reported: a cluster goes offline, or the time is up.
	// Zero when it cannot.
	Next time.Time `json:"next,omitzero"`
}

// Counts are the numbers of reconcilers.
type Counts struct {
	Expected int `json:"expected"`
	// Counted are the expected ones without those that are offline and ignored.
	Counted int `json:"counted"`
	// Required is how many must have reached the commit.
	Required int `json:"required"`
	Reached  int `json:"reached"`
	Behind   int `json:"behind"`
	Failed   int `json:"failed"`
	Offline  int `json:"offline"`
	Missing  int `json:"missing"`
}

// Reconciler is an expected reconciler and how it stands.
type Reconciler struct {
	Cluster     string `json:"cluster"`
	ClusterType string `json:"clusterType,omitempty"`
	Target      string `json:"target,omitempty"`
	// Name is what the cluster calls it; empty when nothing there follows the branch.
	Name  string `json:"name,omitempty"`
	State State  `json:"state"`
	// Reason says why, in words without the cluster's name.
	Reason string `json:"reason"`
	// Since is when the state began; zero when that is not known.
	Since    time.Time `json:"since,omitzero"`
	Revision Revision  `json:"revision,omitzero"`
}

func (c *Counts) add(s State) {
	switch s {
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
