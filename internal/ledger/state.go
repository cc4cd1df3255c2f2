package ledger

import "time"

// ReconcilerState is what a reconciler is, or was.
type ReconcilerState struct {
	Reconciler ReconcilerID `json:"reconciler"`
	Outcome
	// Environment is the one whose GitOps branch the source is; empty while no commit of the branch is recorded.
	Environment string `json:"environment,omitempty"`
	// Since is the first observation of the outcome, with no other one after it.
	// As of an earlier time it is the observation that counted then.
	Since time.Time `json:"since"`
	// Confirmed is the last observation of the outcome. As of an earlier time it is zero.
	Confirmed time.Time `json:"confirmed,omitzero"`
	// Received is when we heard of the last one.
	Received time.Time `json:"received"`
}

// StateQuery says which states are wanted. Empty fields do not restrict.
type StateQuery struct {
	Environment string
	Cluster     string
	Workload    string // as the GitOps repositories know workloads at the revision of each reconciler
	Repository  string
	Ref         string
	State       State
	// AsOf is the time of which the states are wanted; zero means now.
	AsOf time.Time
	// After is StatePage.Next of the page before.
	After string
	// Limit is how many there are on a page at most; 0 means all. As of an earlier time, pages may have fewer, or none.
	Limit int
}

// StatePage is one page of states.
type StatePage struct {
	States []ReconcilerState
	// Next continues after this page; empty, and nothing else, means that it is the last one.
	Next string
}

// TransitionQuery says which transitions are wanted. Either Cluster or Workload is required.
type TransitionQuery struct {
	Cluster  string
	Workload string
	From, To time.Time // from, inclusive, to, exclusive; zero is without an end
	Limit    int       // 0 means all
}

// Transition is what a reconciler became.
type Transition struct {
	Reconciler ReconcilerID `json:"reconciler"`
	Outcome
	At       time.Time `json:"at"`
	Until    time.Time `json:"until,omitzero"` // zero while it lasts
	Received time.Time `json:"received"`
}

// VersionQuery says which versions are wanted. Empty fields do not restrict.
type VersionQuery struct {
	Environment string
	Workload    string
	Workspace   string
	AsOf        time.Time // zero means now
}

// VersionState is how many reconcilers have a version of a workload, in one state.
type VersionState struct {
	Version
	State       State `json:"state"`
	Reconcilers int   `json:"reconcilers"`
	// Since is when the first reconciler observed it so.
	Since time.Time `json:"since"`
}

// DiscrepancyKind is how a cluster differs from what it should run.
type DiscrepancyKind string

// The kinds of discrepancies.
const (
	DiscrepancyMissing DiscrepancyKind = "missing" // no reconciler follows the branch
	DiscrepancyBehind  DiscrepancyKind = "behind"  // another revision than the head
	DiscrepancyFailed  DiscrepancyKind = "failed"
	DiscrepancyUnready DiscrepancyKind = "unready" // at the head, and progressing or suspended
)

// Discrepancy is a difference between a cluster and the head of the platform branch of its environment.
type Discrepancy struct {
	Kind        DiscrepancyKind `json:"kind"`
	Cluster     string          `json:"cluster"`
	Environment string          `json:"environment"`
	ClusterType string          `json:"clusterType"`
	Expected    string          `json:"expected"` // the head
	Reconciler  ReconcilerID    `json:"reconciler,omitzero"`
	Outcome     Outcome         `json:"outcome,omitzero"`
	Since       time.Time       `json:"since,omitzero"`
	LastHeard   time.Time       `json:"lastHeard,omitzero"`
}
