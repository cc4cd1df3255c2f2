package query

import (
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// EventKind is the kind of an event.
type EventKind string

// The kinds of events.
const (
	EventPromotion    EventKind = "promotion"    // a step of a promotion
	EventCommit       EventKind = "commit"       // a commit of a GitOps branch
	EventRollout      EventKind = "rollout"      // the first reconciler reached a revision with a state
	EventTransition   EventKind = "transition"   // a state change of a reconciler
	EventChange       EventKind = "change"       // an event of a pull request
	EventRegistration EventKind = "registration" // a registration of a cluster
	EventAudit        EventKind = "audit"        // a write that a user or client requested
)

// Event is one entry of a history. Fields that do not apply are empty.
type Event struct {
	At   time.Time `json:"at"`
	Kind EventKind `json:"kind"`
	// Summary describes the event in one line.
	Summary     string `json:"summary"`
	Environment string `json:"environment,omitempty"`
	// Ring is the ring of the environment, or the batch of it. Revision is the commit that is rolled out there.
	Ring     string `json:"ring,omitempty"`
	Cluster  string `json:"cluster,omitempty"`
	Workload string `json:"workload,omitempty"`
	Target   string `json:"target,omitempty"`
	// Reconciler is its kind, namespace and name in the cluster.
	Reconciler string `json:"reconciler,omitempty"`
	// Commit is the promoted commit, Revision the commit of the GitOps branch.
	Commit   string `json:"commit,omitempty"`
	Revision string `json:"revision,omitempty"`
	Version  string `json:"version,omitempty"`
	// Step is the kind of a promotion's step, or of a pull request's event.
	Step  string       `json:"step,omitempty"`
	State ledger.State `json:"state,omitempty"`
	// Phase is the phase that a promotion's step led to.
	Phase decide.State `json:"phase,omitempty"`
	// Reason explains the event, or is the cluster's message.
	Reason string `json:"reason,omitempty"`
	By     string `json:"by,omitempty"`
	URL    string `json:"url,omitempty"`
	// Reconcilers is, for a rollout, how many reconcilers run the revision now.
	Reconcilers int `json:"reconcilers,omitempty"`
	// Until is when it ended; zero while it lasts, and for events without a duration.
	Until time.Time `json:"until,omitzero"`

	// place is its position in a timeline, number that among facts of its kind and time, from 1, if that is always the same.
	place  string
	number int
}

// HistoryQuery selects the history of a cluster, of a workload, optionally in one environment, of an environment, or
// everything. Empty fields match all.
type HistoryQuery struct {
	Environment string      `query:"environment" maxLength:"253" doc:"Only events of this environment; can be combined with a workload."`
	Ring        string      `query:"ring" maxLength:"253" doc:"Only events of this ring of the environment, and of its batches."`
	Workload    string      `query:"workload" maxLength:"253" doc:"Only events of this workload."`
	Target      string      `query:"target" maxLength:"253" doc:"Only events of this target of the workload in the environment, which are required, and those of all its targets: promotions and pull requests."`
	Cluster     string      `query:"cluster" maxLength:"253" doc:"Only events of this cluster."`
	Kinds       []EventKind `query:"kind" maxItems:"16" enum:"promotion,commit,rollout,transition,change,registration,audit" doc:"Only events of these kinds, separated by commas. audit requires the role admin."`
	From        time.Time   `query:"from" doc:"Only events at this time or later."`
	To          time.Time   `query:"to" doc:"Only events before this time."`
	// Audits includes audit entries. The caller decides who may see them.
	Audits bool
	Paging
}
