package promoting

import (
	"time"

	"github.com/kalypso-io/kalypso/internal/promotion"
)

// The kinds of steps that are in the ledger, beside those of package promotion: entered, arrived and failed.
// Each has a reason for people and, in [Detail], what programs need.
const (
	// Published is that the GitOps branch has the manifests of the commit. The time of the gate runs from here.
	Published promotion.StepKind = "published"
	// Decided is that the decision on an environment changed: where the commit stands, what comes next, and why that waits.
	Decided promotion.StepKind = "decided"
	// Shown is that a commit was given a status.
	Shown promotion.StepKind = "shown"
	// Proposed is that people were asked to let the commit in, Withdrawn that they are asked no more.
	Proposed  promotion.StepKind = "proposed"
	Withdrawn promotion.StepKind = "withdrawn"
	// Verified is the result of one verification.
	Verified promotion.StepKind = "verified"

	// Paused and Resumed are a person's words about an environment; their commit is [EveryCommit].
	Paused  promotion.StepKind = "paused"
	Resumed promotion.StepKind = "resumed"
	// Aborted is a person's word that a commit is given up in an environment. An order for it that is given later lifts that.
	Aborted promotion.StepKind = "aborted"
	// Ordered is a person's word that a commit is next, Fulfilled that it was carried out.
	Ordered   promotion.StepKind = "ordered"
	Fulfilled promotion.StepKind = "fulfilled"
)

// EveryCommit stands for the commit in steps that are about an environment as a whole.
const EveryCommit = "*"

// Detail is what programs need of a step. Which fields are set depends on its kind.
type Detail struct {
	// Revision is the commit of the GitOps branch: of arrived, failed, published, decided and verified.
	Revision string `json:"revision,omitempty"`
	// Phase and Candidate are those of a decision.
	Phase     promotion.Phase `json:"phase,omitempty"`
	Candidate string          `json:"candidate,omitempty"`
	// On is the commit that a status is shown on, which may be one of the environment's own branch.
	On string `json:"on,omitempty"`
	// Status is what is shown.
	Status promotion.StatusState `json:"status,omitempty"`
	// Check is the name of a verification, Result how it ended, Output the end of what it wrote, Took for how long it ran.
	Check  string               `json:"check,omitempty"`
	Result promotion.CheckState `json:"result,omitempty"`
	Output string               `json:"output,omitempty"`
	Took   string               `json:"took,omitempty"`
	// URL is the page of a proposal.
	URL string `json:"url,omitempty"`
	// From is the commit that a proposal replaces.
	From string `json:"from,omitempty"`
	// Since is when the phase of a decision began.
	Since time.Time `json:"since,omitzero"`
	// Order is the order that was carried out.
	Order string `json:"order,omitempty"`
}
