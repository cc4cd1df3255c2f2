package promote

import (
	"time"

	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// The kinds of steps that are in the ledger, beside those of package promotion: entered, arrived and failed.
// Each has a reason for people and, in [Detail], what programs need.
const (
	// Published is that the GitOps branch has the manifests of the commit. The time of the gate runs from here.
	Published decide.StepKind = "published"
	// Decided is that the decision on an environment changed: where the commit stands, what comes next, and why that waits.
	Decided decide.StepKind = "decided"
	// Shown is that a commit was given a status.
	Shown decide.StepKind = "shown"
	// Proposed is that people were asked to let the commit in, Withdrawn that they are asked no more.
	Proposed  decide.StepKind = "proposed"
	Withdrawn decide.StepKind = "withdrawn"
	// Verified is the result of one verification.
	Verified decide.StepKind = "verified"

	// Paused and Resumed are a person's words about an environment; their commit is [EveryCommit].
	Paused  decide.StepKind = "paused"
	Resumed decide.StepKind = "resumed"
	// Aborted is a person's word that a commit is given up in an environment. An order for it that is given later lifts that.
	Aborted decide.StepKind = "aborted"
	// Ordered is a person's word that a commit is next, Fulfilled that it was carried out.
	Ordered   decide.StepKind = "ordered"
	Fulfilled decide.StepKind = "fulfilled"
)

// EveryCommit stands for the commit in steps that are about an environment as a whole.
const EveryCommit = "*"

// Detail is what programs need of a step. Which fields are set depends on its kind.
type Detail struct {
	// Revision is the commit of the GitOps branch: of arrived, failed, published, decided and verified.
	Revision string `json:"revision,omitempty"`
	// Phase and Candidate are those of a decision.
	Phase     decide.Phase `json:"phase,omitempty"`
	Candidate string       `json:"candidate,omitempty"`
	// On is the commit that a status is shown on, which may be one of the environment's own branch.
	On string `json:"on,omitempty"`
	// Status is what is shown.
	Status decide.StatusState `json:"status,omitempty"`
	// Check is the name of a verification, Result how it ended, Output the end of what it wrote, Took for how long it ran.
	Check  string            `json:"check,omitempty"`
	Result decide.CheckState `json:"result,omitempty"`
	Output string            `json:"output,omitempty"`
	Took   string            `json:"took,omitempty"`
	// URL is the page of a proposal.
	URL string `json:"url,omitempty"`
	// From is the commit that a proposal replaces.
	From string `json:"from,omitempty"`
	// Since is when the phase of a decision began.
	Since time.Time `json:"since,omitzero"`
	// Order is the order that was carried out.
	Order string `json:"order,omitempty"`
}
