package query

import (
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// EventKind is what an event is about.
type EventKind string

// The kinds of events.
const (
	EventPromotion    EventKind = "promotion"    // a step of a promotion
	EventCommit       EventKind = "commit"       // a commit of a GitOps branch
	EventRollout      EventKind = "rollout"      // the first reconciler that was at a revision, in a state
	EventTransition   EventKind = "transition"   // what a reconciler of a cluster became
	EventChange       EventKind = "change"       // what happened to a pull request
	EventRegistration EventKind = "registration" // what a cluster was made
	EventAudit        EventKind = "audit"        // a write that somebody asked for
)

// Event is one thing that happened. Fields that do not apply are empty.
type Event struct {
	At   time.Time `json:"at"`
	Kind EventKind `json:"kind"`
	// Summary says in one line of words what happened.
	Summary     string `json:"summary"`
	Environment string `json:"environment,omitempty"`
	Cluster     string `json:"cluster,omitempty"`
	Workload    string `json:"workload,omitempty"`
	Target      string `json:"target,omitempty"`
	// Reconciler is what the cluster calls it.
	Reconciler string `json:"reconciler,omitempty"`
	// Commit is the promoted commit, Revision the commit of the GitOps branch.
	Commit   string `json:"commit,omitempty"`
	Revision string `json:"revision,omitempty"`
	Version  string `json:"version,omitempty"`
	// Step is the kind of a promotion's step, or what happened to a pull request.
	Step  string       `json:"step,omitempty"`
	State ledger.State `json:"state,omitempty"`
	// Phase is the one that a promotion's step decided.
	Phase decide.Phase `json:"phase,omitempty"`
	// Reason is why, or what the cluster said.
	Reason string `json:"reason,omitempty"`
	By     string `json:"by,omitempty"`
	URL    string `json:"url,omitempty"`
	// Reconcilers is how many are there now, of a rollout.
	Reconcilers int `json:"reconcilers,omitempty"`
	// Until is when it was over; zero while it lasts, and for what has no duration.
	Until time.Time `json:"until,omitzero"`

	// place is where it stands in a timeline.
	place string
}

// HistoryQuery says whose history is wanted: that of a cluster, of a workload, maybe in one environment only, of an environment,
// or everything. Empty fields do not restrict.
type HistoryQuery struct {
	Environment string
	Workload    string
	Cluster     string
	// Kinds restricts the events; empty means all.
	Kinds []EventKind
	// Audits adds the writes that people asked for; the caller knows who may see them.
	Audits   bool
	From, To time.Time // from, inclusive, to, exclusive; zero is without an end
	Paging
}
