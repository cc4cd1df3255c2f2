package ledger

import "time"

// ReconcilerState is the state of a reconciler, now or in the past.
type ReconcilerState struct {
	Reconciler ReconcilerID `json:"reconciler"`
	Outcome
	// Environment is that of the GitOps branch; empty while no commit of the branch is recorded.
	Environment string `json:"environment,omitempty"`
	// Since is the first observation of the outcome without another outcome after it.
	// As of an earlier time, it is the newest observation until then.
	Since time.Time `json:"since"`
	// Confirmed is the last observation of the outcome, Received when the server received it. As of an earlier time, both are zero.
	Confirmed time.Time `json:"confirmed,omitzero"`
	Received  time.Time `json:"received"`
}

// StateQuery selects states. Empty fields match all.
type StateQuery struct {
	Environment string
	Cluster     string
	Workload    string // in the deployment descriptors at each reconciler's revision
	Repository  string
	Ref         string
	// Source selects the reconcilers that follow it. The zero value lists those of all sources.
	Source Source
	State  State
	// AsOf selects the states at a time; zero means now.
	AsOf time.Time
	// After is StatePage.Next of the previous page.
	After string
	// Limit is the size of a page; 0 means all. As of an earlier time, pages may have fewer states, or none.
	Limit int
}

// StatePage is one page of states.
type StatePage struct {
	States []ReconcilerState
	// Next continues after this page. It is empty on the last page, and only there.
	Next string
}

// TransitionQuery selects transitions. Either Cluster or Workload is required.
type TransitionQuery struct {
	Cluster  string
	Workload string
	From, To time.Time // from, inclusive, to, exclusive; zero is unlimited
	Limit    int       // 0 means all
}

// Transition is a change of a reconciler's outcome.
type Transition struct {
	Reconciler ReconcilerID `json:"reconciler"`
	Outcome
	At       time.Time `json:"at"`
	Until    time.Time `json:"until,omitzero"` // zero while it lasts
	Received time.Time `json:"received"`
}

// StateHistoryQuery selects what the reconcilers that follow a branch or tag reported, in the time from From, inclusive, to To, exclusive.
type StateHistoryQuery struct {
	// Repository and Ref are required.
	Repository string
	Ref        string
	From, To   time.Time // zero is unlimited
}

// VersionQuery selects versions. Empty fields match all.
type VersionQuery struct {
	Environment string
	Workload    string
	Workspace   string
	AsOf        time.Time // zero means now
}

// VersionState counts the reconcilers at a version of a workload in one state.
type VersionState struct {
	Version
	State       State `json:"state"`
	Reconcilers int   `json:"reconcilers"`
	// Since is the first observation on any reconciler.
	Since time.Time `json:"since"`
}

// DiscrepancyKind says how a cluster differs from what it should run.
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
