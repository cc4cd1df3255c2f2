package promote

import (
	"strings"
	"time"
	"unicode"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// The kinds of steps in the ledger, in addition to those of package decide: started, deployed and failed.
// Each step has a reason as text and a [Detail] for programs.
const (
	// Published means that the GitOps branch contains the manifests of the commit. The gate's timeout starts here.
	Published decide.StepKind = "published"
	// Emptied means that a batch has no clusters any more: they are in other batches. If it has some again, it starts where these were.
	Emptied decide.StepKind = "emptied"
	// StateChanged means that the decision for an environment changed: its phase, its candidate, or the reason to wait.
	StateChanged decide.StepKind = "stateChanged"
	// StatusPosted means that a commit status was posted.
	StatusPosted decide.StepKind = "statusPosted"
	// Proposed means that a pull request to promote the commit was opened, Withdrawn that it was closed by the promoter.
	Proposed  decide.StepKind = "proposed"
	Withdrawn decide.StepKind = "withdrawn"
	// Verifying means that a verification began that has a timeout or waits for users, Verified is one measurement of it.
	Verifying decide.StepKind = "verifying"
	Verified  decide.StepKind = "verified"
	// Ran is what clusters answered about the Jobs of a measurement. There may be several for one measurement.
	Ran decide.StepKind = "ran"

	// Paused and Resumed are a user's commands for an environment; their commit is [EveryCommit].
	Paused  decide.StepKind = "paused"
	Resumed decide.StepKind = "resumed"
	// Aborted is a user's command to give up a commit in an environment. A later request for the commit reverts it.
	Aborted decide.StepKind = "aborted"
	// Requested is a user's request to promote a commit next, Completed means that it was carried out.
	Requested decide.StepKind = "requested"
	Completed decide.StepKind = "done"
	// RolledBack is a user's command that takes a commit back. A later request for the commit reverts it.
	RolledBack decide.StepKind = "rolledBack"
	// Skipped is a user's command to let a commit pass a ring without waiting for it. A later request for the commit reverts it.
	Skipped decide.StepKind = "skipped"
	// Approved is a user's approval of a commit, for a verification that waits for it. Bypassed is a user's command to do
	// without a verification of a commit.
	Approved decide.StepKind = "approved"
	Bypassed decide.StepKind = "bypassed"
	// Reviewed is what a user decided about a rollout by reviewing its pull requests on the forge, or that this was withdrawn.
	Reviewed decide.StepKind = "reviewed"
)

// Spaced returns a kind of step as people read it: "state changed" for stateChanged.
func Spaced(kind string) string {
	var text strings.Builder
	for i, r := range kind {
		if i > 0 && unicode.IsUpper(r) {
			text.WriteByte(' ')
		}
		text.WriteRune(unicode.ToLower(r))
	}
	return text.String()
}

// EveryCommit is the commit of steps that apply to an environment as a whole.
const EveryCommit = "*"

// Detail holds the data of a step. Its kind determines which fields are set.
type Detail struct {
	// Revision is the commit of the GitOps branch; set for deployed, failed, published, stateChanged, verifying and verified.
	Revision string `json:"revision,omitempty"`
	// Version and Image are the build of the commit that was published; only of applications.
	Version string `json:"version,omitempty"`
	Image   string `json:"image,omitempty"`
	// Phase is the state of the commit, and Candidate the next one; of a decision.
	Phase     decide.State `json:"phase,omitempty"`
	Candidate string       `json:"candidate,omitempty"`
	// Failure and Asks are those of a decision: why the commit failed, and what users have to do. A failed step has a failure, too.
	Failure string   `json:"failure,omitempty"`
	Asks    []string `json:"asks,omitempty"`
	// InRing means that Failure is that of a ring of the environment, which is recorded for the ring, too.
	InRing bool `json:"inRing,omitempty"`
	// Workspace is the owner of the application; empty for a control plane.
	Workspace string `json:"workspace,omitempty"`
	// On is the commit that has the status, which may be a commit of the environment's branch.
	On string `json:"on,omitempty"`
	// Status is the posted state, and Percent how many percent of the clusters its description counts.
	Status  decide.StatusState `json:"status,omitempty"`
	Percent int                `json:"percent,omitempty"`
	// Check is the name of a verification: of a measurement, a status, an approval or a bypass.
	Check string `json:"check,omitempty"`
	// Result is the result of a measurement: passed, failed, or waiting for a commit status.
	Result decide.CheckState `json:"result,omitempty"`
	// Value is the answer in short, Expression what it had to satisfy, and Baseline what it was compared with.
	Value      string `json:"value,omitempty"`
	Expression string `json:"expression,omitempty"`
	Baseline   string `json:"baseline,omitempty"`
	// Output is the end of the output of a measurement, and Took its duration.
	Output string `json:"output,omitempty"`
	Took   string `json:"took,omitempty"`
	// Job is the ID of a run of Jobs, Succeeded the clusters whose Jobs succeeded, and Answers those of the other clusters.
	Job       string      `json:"job,omitempty"`
	Succeeded []string    `json:"succeeded,omitempty"`
	Answers   []JobAnswer `json:"answers,omitempty"`
	// Groups are those of an approval's user, as far as the verification names them, or those of a review's user.
	Groups []string `json:"groups,omitempty"`
	// URL is the page of a proposal, or of a review.
	URL string `json:"url,omitempty"`
	// Review is the decision of a review, by Login on Forge, of the head On of a pull request.
	Review forge.ReviewDecision `json:"review,omitempty"`
	Forge  string               `json:"forge,omitempty"`
	Login  string               `json:"login,omitempty"`
	// From is the commit that a proposal replaces.
	From string `json:"from,omitempty"`
	// Since is when the phase of a decision began, or when a review was made, if the forge tells.
	Since time.Time `json:"since,omitzero"`
	// Request is the ID of the completed request.
	Request string `json:"request,omitempty"`
	// To is the commit that a rollback returns to, if the user chose one. Fast, Now and All are those of [decide.Rollback].
	To   string `json:"to,omitempty"`
	Fast bool   `json:"fast,omitempty"`
	Now  bool   `json:"now,omitempty"`
	All  bool   `json:"all,omitempty"`
}

// JobAnswer is why the Job of a cluster has not succeeded.
type JobAnswer struct {
	Cluster string `json:"cluster"`
	// Result is failed, or waiting if the cluster could not run it.
	Result  decide.CheckState `json:"result"`
	Message string            `json:"message,omitempty"`
}
