package decide

import (
	"time"

	"github.com/kalypso-io/kalypso/internal/promote/comply"
)

// Facts holds the input of a decision, except for the time.
type Facts struct {
	// Chain holds the environments and their rules.
	Chain *Chain // required
	// Line holds the commits of the source branch, oldest first, without duplicates; the last one is its head.
	// It contains at least all commits since the oldest commit that an environment runs.
	// Any other commit is no longer on the branch.
	Line []string
	// Environments holds the facts of each environment. Environments that are not in Chain are ignored.
	Environments []Environment
	// Merged holds when the commits on Line were made, as far as that is known.
	Merged map[string]time.Time
	// Sources holds, for rings, the source commits whose manifests the commits on Line have; a commit without one is its own. SourceLine
	// holds the source commits, oldest first.
	Sources    map[string]string
	SourceLine []string
	// Authors holds the names and addresses of the authors of commits on Line, as far as they are known.
	Authors map[string][]string
}

// Environment holds the facts of one environment.
type Environment struct {
	Name string // required
	// Unknown explains why the facts could not be determined; optional.
	// If it is set, the environment has no actions, and no commit is promoted from it.
	Unknown string
	// Commit is the promoted commit; empty before the first promotion.
	Commit string
	// Head is the commit of the environment's branch, which gets the same statuses; empty if there is no branch.
	Head string
	// Proposals holds the pull requests that would promote another commit, without those that were withdrawn or replaced.
	// At most one of them is open.
	Proposals []Proposal
	// Rollout is the progress of the manifests of Commit and Head.
	Rollout Rollout
	// Verdict is the result of the gate for Rollout.Commit now. A verdict for another commit is ignored.
	Verdict comply.Verdict
	// Carriers are the revisions that the branch had, oldest first. That of the present one is Rollout.Commit.
	Carriers []Carrier
	// Checks holds what is recorded of the verifications of Rollout.Commit, oldest first, and those that are running.
	Checks []CheckResult
	// Bypasses and Approvals are the users' commands for verifications of Commit, oldest first.
	Bypasses  []Bypass
	Approvals []Approval
	// Reviews are the reviews of the pull requests that made Rollout. ReviewsUnknown explains why some could not be read; optional.
	Reviews        []Review
	ReviewsUnknown string
	// Statuses holds the posted statuses of this environment by commit: those of Commit and Head,
	// and those of earlier commits that are still pending.
	Statuses map[string]Status
	// CheckStatuses holds those of its verifications, in the same way.
	CheckStatuses map[CheckCommit]Status

	Pause  *Pause
	Aborts []Abort
	// Rollbacks are the users' commands that took a commit back, oldest first, without those that a later request for the commit undid.
	Rollbacks []Rollback
	// Skips are the commits that need not run here before they enter later environments or rings.
	Skips []Skip
	// Rings means that the environment has rings: its carriers are judged by what its rings ran, also after newer ones were merged.
	Rings bool
	// Request is the newest request that is not done yet; optional.
	Request *Request
	// Requested holds when each commit was last requested here.
	Requested map[string]time.Time
}

// Carrier is a revision that brought a commit to a place. It is a fact from Git.
type Carrier struct {
	// Commit is one of Line, Revision the commit of the branch that the clusters follow.
	Commit, Revision string
	// Entered is when the branch got it, Left when the next one came; zero for the present one.
	Entered, Left time.Time
	// Spans are what the gate said from Entered until Left, or until now.
	Spans []comply.Span
	// Checks, Bypasses, Approvals and Reviews are facts about its verifications. Those of the present one are in [Environment].
	Checks    []CheckResult
	Bypasses  []Bypass
	Approvals []Approval
	Reviews   []Review
}

// Proposal is a pull request that would promote another commit, and that is not merged.
type Proposal struct {
	From   string        `json:"from"`   // required
	Commit string        `json:"commit"` // required
	State  ProposalState `json:"state"`
	URL    string        `json:"url,omitempty"`
}

// ProposalState is the state of a proposal.
type ProposalState string

const (
	// ProposalOpen means that the pull request waits for approval.
	ProposalOpen ProposalState = "open"
	// ProposalClosed means that a user closed the pull request without merging it. It is not opened again.
	ProposalClosed ProposalState = "closed"
)

// Rollout is the change of the manifests that follows a promotion.
type Rollout struct {
	State RolloutState `json:"state,omitempty"`
	// Commit is the commit of the GitOps branch that contains the manifests, after they are merged.
	Commit string `json:"commit,omitempty"`
	// Manual is set if an open pull request is not merged automatically.
	Manual bool `json:"-"`
	// Reason explains RolloutRefused and RolloutPinned.
	Reason string `json:"reason,omitempty"`
	URL    string `json:"url,omitempty"`
}

// RolloutState is the progress of a commit's manifests.
type RolloutState string

const (
	// RolloutNone means that there is no pull request yet.
	RolloutNone RolloutState = ""
	// RolloutRefused means that no pull request is opened until a user approves or a newer commit arrives.
	RolloutRefused RolloutState = "refused"
	// RolloutPinned means that no target of the application would run the commit: each is pinned to a revision, or uninstalled.
	RolloutPinned RolloutState = "pinned"
	// RolloutOpen means that the pull request is not merged yet.
	RolloutOpen RolloutState = "open"
	// RolloutOffered means that the pull request waits for a user to merge it.
	// Nothing is rolled out yet, so a newer commit can replace the commit.
	RolloutOffered RolloutState = "offered"
	// RolloutClosed means that a user closed the pull request without merging it.
	RolloutClosed RolloutState = "closed"
	// RolloutMerged means that the GitOps branch contains the manifests.
	RolloutMerged RolloutState = "merged"
)

// StepKind is the kind of a step that is recorded for people. No decision depends on a record.
type StepKind string

const (
	// StepStarted means that the commit was promoted to the environment.
	StepStarted StepKind = "started"
	// StepDeployed means that the commit was deployed: the clusters run it and the verifications passed.
	StepDeployed StepKind = "deployed"
	// StepFailed means that the rollout failed, or that a deployed commit no longer runs.
	StepFailed StepKind = "failed"
)

// Pause is a user's command to promote nothing to an environment. A rollout that has started continues.
type Pause struct {
	By  string    `json:"by"`
	Why string    `json:"why,omitempty"`
	At  time.Time `json:"at"`
}

// Abort is a user's command to give up a commit in an environment: it is not promoted to the environment or from it.
type Abort struct {
	Commit string    `json:"commit"`
	By     string    `json:"by"`
	Why    string    `json:"why,omitempty"`
	At     time.Time `json:"at"`
}

// Skip is a user's command to let a commit pass without having run in an environment or ring.
type Skip struct {
	Commit string    `json:"commit"`
	By     string    `json:"by"`
	Why    string    `json:"why"`
	At     time.Time `json:"at"`
}

// Rollback is a user's command that takes a commit back: the place goes to an earlier one, and neither the commit nor those that were
// merged on top of it by then enter again, until they are requested or a newer one is merged.
type Rollback struct {
	// Commit is the commit that is taken back, To the one to go to; the newest good one if it is empty.
	Commit string    `json:"commit"`
	To     string    `json:"to,omitempty"`
	By     string    `json:"by"`
	Why    string    `json:"why,omitempty"`
	At     time.Time `json:"at"`
	// Fast means that soaks do not delay it, however long ago the target was good. Now means that it does not wait for the windows and
	// holds of clusters either.
	Fast bool `json:"fast,omitempty"`
	Now  bool `json:"now,omitempty"`
	// All means that all rings of the environment go back.
	All bool `json:"all,omitempty"`
	// In is the ring in which the commit was taken back, if the facts are those of its environment, or of another place.
	In string `json:"in,omitempty"`
}

// Request is a user's request to promote a commit next, even an older one. All other rules still apply.
type Request struct {
	// ID identifies the request in the store that holds it.
	ID     string `json:"id"`
	Commit string `json:"commit"`
	By     string `json:"by"`
	Why    string `json:"why,omitempty"`
	// At is when it was made. It is done when its commit entered after it.
	At time.Time `json:"at,omitzero"`
}
