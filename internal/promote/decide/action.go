package decide

import (
	"fmt"
	"time"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Action is something to do. Each can be done again without harm: who finds it done leaves it so.
//
// Only this package has actions: [Record], [FulfillOrder], [SetStatus], [RunCheck], [Promote], [ProposeRollback], [Withdraw].
type Action interface {
	fmt.Stringer
	isAction()
}

// Record puts a step into the history of an environment.
type Record struct {
	Environment string
	Step        Step
	// Reason says why, where it failed.
	Reason string
}

// FulfillOrder takes back an order that was carried out.
type FulfillOrder struct {
	Environment, ID string
}

// SetStatus says on a commit how it stands in an environment; the context is the environment's name.
type SetStatus struct {
	Environment, Commit string
	Status
}

// RunCheck runs a verification and keeps its result.
type RunCheck struct {
	Environment      string
	Commit, Revision string
	Check            Check
}

// Promote makes an environment name another commit, by itself or as a proposal to people.
// An open proposal for another commit is replaced.
type Promote struct {
	Environment string
	// From is what the environment named when it was decided; when it names something else by now, nothing is done.
	From, Commit string
	By           v1alpha1.Approval
}

// ProposeRollback proposes to people that an environment goes back to a commit that ran well there.
// An open proposal for another commit is replaced.
type ProposeRollback struct {
	Environment string
	From, To    string
	Reason      string
}

// Withdraw closes an open proposal that nobody needs any more.
type Withdraw struct {
	Environment, Commit string
	Reason              string
}

func (Record) isAction()          {}
func (FulfillOrder) isAction()    {}
func (SetStatus) isAction()       {}
func (RunCheck) isAction()        {}
func (Promote) isAction()         {}
func (ProposeRollback) isAction() {}
func (Withdraw) isAction()        {}

// String says what goes on record.
func (a Record) String() string {
	text := fmt.Sprintf("record: %s %s %s at %s", fleet.ShortCommit(a.Step.Commit), a.Step.Kind, a.Environment, a.Step.At.UTC().Format(time.RFC3339))
	if a.Reason != "" {
		text += " (" + a.Reason + ")"
	}
	return text
}

// String says which order is done.
func (a FulfillOrder) String() string {
	return fmt.Sprintf("order %s in %s is carried out", a.ID, a.Environment)
}

// String says what is shown.
func (a SetStatus) String() string {
	return fmt.Sprintf("status of %s in %s: %s %q", fleet.ShortCommit(a.Commit), a.Environment, a.State, a.Description)
}

// String says what is verified.
func (a RunCheck) String() string {
	return fmt.Sprintf("verify %s in %s: %s", fleet.ShortCommit(a.Commit), a.Environment, a.Check.Name)
}

// String says who goes where.
func (a Promote) String() string {
	if a.By == v1alpha1.ApprovalPullRequest {
		return fmt.Sprintf("propose %s to %s", fleet.ShortCommit(a.Commit), a.Environment)
	}
	return fmt.Sprintf("promote %s to %s", fleet.ShortCommit(a.Commit), a.Environment)
}

// String says the way back, and why.
func (a ProposeRollback) String() string {
	return fmt.Sprintf("propose that %s goes back from %s to %s (%s)", a.Environment, fleet.ShortCommit(a.From), fleet.ShortCommit(a.To), a.Reason)
}

// String says what is closed, and why.
func (a Withdraw) String() string {
	return fmt.Sprintf("withdraw the proposal of %s to %s: %s", fleet.ShortCommit(a.Commit), a.Environment, a.Reason)
}
