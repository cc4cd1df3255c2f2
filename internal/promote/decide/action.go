package decide

import (
	"fmt"
	"time"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote/measure"
)

// Action is one action to carry out. Actions are idempotent: carrying one out again has no effect.
//
// The actions are [SetStatus], [BeginCheck], [RunCheck], [Promote], [ProposeRollback] and [Withdraw].
type Action interface {
	fmt.Stringer
	isAction()
}

// SetStatus posts the status of a commit in an environment, or of one of its verifications.
type SetStatus struct {
	Environment, Commit string
	// Check is the name of the verification; empty for the environment itself.
	Check string
	Status
	// Done and Of are the numbers of clusters in the description; Of is zero if it has none.
	Done, Of int
}

// Context returns the context of the status: the name of the environment, and the name of the verification after a slash.
func (a SetStatus) Context() string {
	if a.Check == "" {
		return a.Environment
	}
	return a.Environment + "/" + a.Check
}

// BeginCheck records that a verification begins. Its timeout starts then, and users can be told that it waits for them.
type BeginCheck struct {
	Environment      string
	Commit, Revision string
	Check            string
}

// RunCheck measures a verification once, and records the answer.
type RunCheck struct {
	Environment      string
	Commit, Revision string
	Check            Check
	// Source is the commit of the source branch that is verified. It is Commit, unless this is a ring, whose commits are those of
	// the GitOps branch; empty if it is not known. It is set when the action is carried out.
	Source string
	// Baseline is what the answer is compared with; nil without a baseline. It is set when the action is carried
	// out.
	Baseline *measure.Comparison
	// Begun is when the verification began; zero if that is not recorded. Measured is how many measurements are.
	Begun    time.Time
	Measured int
}

// Promote promotes a commit to an environment, directly or with a pull request.
// It replaces an open proposal for another commit.
type Promote struct {
	Environment string
	// From is the commit of the environment at the time of the decision.
	// The action is skipped if the environment has another commit by now.
	From, Commit string
	By           v1alpha1.Approval
}

// ProposeRollback opens a pull request that rolls an environment back to a commit that was deployed there successfully.
// It replaces an open proposal for another commit. A ring is rolled back at once, and so is an environment that leaves an aborted commit
// whose manifests are not merged.
type ProposeRollback struct {
	Environment string
	From, To    string
	Reason      string
	By          v1alpha1.Approval
}

// Withdraw closes an open proposal that is no longer needed.
type Withdraw struct {
	Environment, Commit string
	Reason              string
}

func (SetStatus) isAction()       {}
func (BeginCheck) isAction()      {}
func (RunCheck) isAction()        {}
func (Promote) isAction()         {}
func (ProposeRollback) isAction() {}
func (Withdraw) isAction()        {}

// String describes the status.
func (a SetStatus) String() string {
	return fmt.Sprintf("status of %s in %s: %s %q", fleet.ShortCommit(a.Commit), a.Context(), a.State, a.Description)
}

// String describes the verification.
func (a BeginCheck) String() string {
	return fmt.Sprintf("begin to verify %s in %s: %s", fleet.ShortCommit(a.Commit), a.Environment, a.Check)
}

// String describes the measurement.
func (a RunCheck) String() string {
	return fmt.Sprintf("verify %s in %s: %s", fleet.ShortCommit(a.Commit), a.Environment, a.Check.Name)
}

// String describes the promotion.
func (a Promote) String() string {
	if a.By == v1alpha1.ApprovalPullRequest {
		return fmt.Sprintf("propose %s to %s", fleet.ShortCommit(a.Commit), a.Environment)
	}
	return fmt.Sprintf("promote %s to %s", fleet.ShortCommit(a.Commit), a.Environment)
}

// String describes the rollback and its reason.
func (a ProposeRollback) String() string {
	if a.By == v1alpha1.ApprovalAutomatic {
		return fmt.Sprintf("roll %s back from %s to %s (%s)", a.Environment, fleet.ShortCommit(a.From), fleet.ShortCommit(a.To), a.Reason)
	}
	return fmt.Sprintf("propose that %s goes back from %s to %s (%s)", a.Environment, fleet.ShortCommit(a.From), fleet.ShortCommit(a.To), a.Reason)
}

// String describes the proposal and the reason to close it.
func (a Withdraw) String() string {
	return fmt.Sprintf("withdraw the proposal of %s to %s: %s", fleet.ShortCommit(a.Commit), a.Environment, a.Reason)
}
