package decide

import (
	"time"

	"github.com/kalypso-io/kalypso/internal/promote/comply"
)

// Facts are everything a decision depends on, besides the time.
type Facts struct {
	// Chain has the environments and their rules.
	Chain *Chain // required
	// Line are the commits of the source branch, the oldest first, each once; the last is its head.
	// It reaches back at least to the oldest commit that an environment runs.
	// A commit that is named elsewhere and not here is no longer on the branch.
	Line []string
	// Environments are what is known about each of them; those that the chain does not have are left alone.
	Environments []Environment
}

// Environment is what is known about one environment.
type Environment struct {
	Name string // required
	// Unknown says why the facts could not be gathered. Then nothing is done here, and nothing goes on from here.
	Unknown string
	// Commit is the commit that the environment names as promoted; empty when it never named one.
	Commit string
	// Head is the commit of the environment's own branch, which gets the same statuses; empty when there is no such branch.
	Head string
	// Proposals are the changes that would make the environment name another commit. At most one of them is open.
	// One that was withdrawn or replaced is not among them.
	Proposals []Proposal
	// Rollout is how far Commit, with what Head says, has come on the way to the clusters.
	Rollout Rollout
	// Verdict is that of the clusters on Rollout.Commit. One on another commit counts as none.
	Verdict comply.Verdict
	// Checks are results of the verifications of Rollout.Commit.
	Checks []CheckResult
	// History are the steps on record, in the order in which they were recorded.
	History []Step
	// Statuses are the statuses of this environment that commits already have: those of Commit and Head,
	// and of earlier ones that are still pending.
	Statuses map[string]Status

	Pause  *Pause
	Aborts []Abort
	// Order is what a person wants to run here and does not yet.
	Order *Order
}

// Proposal is a change that would make an environment name another commit and was not merged.
type Proposal struct {
	From   string        `json:"from"`   // required
	Commit string        `json:"commit"` // required
	State  ProposalState `json:"state"`
	URL    string        `json:"url,omitempty"`
}

// ProposalState is what became of a proposal.
type ProposalState string

const (
	// ProposalOpen is that it waits for people.
	ProposalOpen ProposalState = "open"
	// ProposalClosed is that a person did not want it. It is not made again.
	ProposalClosed ProposalState = "closed"
)

// Rollout is the change of the manifests that follows when an environment names a commit.
type Rollout struct {
	State RolloutState `json:"state,omitempty"`
	// Commit is the commit of the GitOps branch that has the manifests, once they are merged.
	Commit string `json:"commit,omitempty"`
	// Reason says why it is refused.
	Reason string `json:"reason,omitempty"`
	URL    string `json:"url,omitempty"`
}

// RolloutState is how far the manifests of a commit have come.
type RolloutState string

const (
	// RolloutNone is that no change is there yet.
	RolloutNone RolloutState = ""
	// RolloutRefused is that none is made until a person agrees or a newer commit comes.
	RolloutRefused RolloutState = "refused"
	// RolloutOpen is a change that waits to be merged.
	RolloutOpen RolloutState = "open"
	// RolloutOffered is a change that waits for a person to merge it, and that would rather have a newer commit:
	// nothing of it is rolled out, so that the newer one takes its place.
	RolloutOffered RolloutState = "offered"
	// RolloutClosed is a change that a person closed without merging it.
	RolloutClosed RolloutState = "closed"
	// RolloutMerged is that the GitOps branch has the manifests, or had them all the time.
	RolloutMerged RolloutState = "merged"
)

// CheckResult is what came of a verification of a rollout.
type CheckResult struct {
	Name string `json:"name"` // required, as in the rules
	// Revision is the commit of the GitOps branch that was verified.
	Revision string     `json:"revision"` // required
	State    CheckState `json:"state"`
	// Reason says why it failed.
	Reason string `json:"reason,omitempty"`
}

// CheckState is how a verification stands.
type CheckState string

// How a verification stands. One that was cut off has no result, and is run again.
const (
	CheckRunning CheckState = "running"
	CheckPassed  CheckState = "passed"
	CheckFailed  CheckState = "failed"
)

// Step is something that happened to a commit in an environment and is on record.
type Step struct {
	Kind   StepKind
	Commit string
	// Revision is the commit of the GitOps branch; empty for a commit that only entered.
	Revision string
	// At is when it was recorded.
	At time.Time
}

// StepKind is what happened.
type StepKind string

const (
	// Entered is that the environment names the commit.
	Entered StepKind = "entered"
	// Arrived is that its clusters run the commit and its verifications passed.
	Arrived StepKind = "arrived"
	// FailedHere is that the rollout failed, or that a commit that had arrived does not run any more.
	FailedHere StepKind = "failed"
)

// Pause is a person's word that nothing enters an environment. What is already rolled out goes on.
type Pause struct {
	By  string    `json:"by"`
	Why string    `json:"why,omitempty"`
	At  time.Time `json:"at"`
}

// Abort is a person's word that a commit is given up in an environment: it does not enter, nor go on from there.
type Abort struct {
	Commit string    `json:"commit"`
	By     string    `json:"by"`
	Why    string    `json:"why,omitempty"`
	At     time.Time `json:"at"`
}

// Order is a person's word that a commit, also an older one, is to be the next to enter. All rules hold for it as well.
type Order struct {
	// ID is what the order is known by, to whoever keeps it.
	ID     string `json:"id"`
	Commit string `json:"commit"`
	By     string `json:"by"`
	Why    string `json:"why,omitempty"`
}
