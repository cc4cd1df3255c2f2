package decide

import "time"

// Decision holds the next actions for one environment, and the reason.
type Decision struct {
	Environment string
	State       State
	// Commit is the environment's commit.
	Commit string
	// Candidate is the commit to promote next; optional.
	Candidate string
	// Reason describes the state of Commit, and what Candidate waits for.
	Reason string
	// Since is when the clusters began to run Commit without a gap, after it had passed its verifications; zero unless it is deployed.
	Since time.Time
	// Ran are the carriers that the clusters ran and that passed their verifications, oldest first.
	Ran []Carrier
	// Targets are the commits to go back to, newest first.
	Targets []RollbackTarget
	// Request is the request that is not done; optional.
	Request *Request
	// Failure is why Commit failed; it stays the same while more clusters fail in the same way. Empty unless it failed.
	Failure string
	// Cause is why it failed, with all that is known now.
	Cause string
	// InRing means that Commit failed in a ring of the environment, which has a decision of its own with that failure.
	InRing bool
	// Delayed explains why the only cluster of a stage of rings is changed later, while other stages do not wait for it; optional.
	Delayed string
	// Asks are what users have to do before this environment continues, such as merging a pull request.
	Asks []string
	// Checks is the progress of the verifications of Commit, in the order of the rules; nil before its manifests are merged.
	Checks []CheckProgress
	// Actions are carried out in order. It is safe to stop after any of them.
	Actions []Action
	// Next is when the decision may change although no fact changes; zero if it cannot.
	Next time.Time
}

// State is the state of a commit in an environment or ring. docs/reference/promotion.md has a table of them.
type State string

// The states of a commit. They follow from facts each time, so that no state needs to be left.
const (
	// Unknown means that the facts could not be determined. It is a state of the environment, not of a commit.
	Unknown State = "unknown"
	// Outside means that the environment has no commit yet.
	Outside State = "outside"
	// Proposed means that the manifests are not published yet: the pull request is not open, or not merged.
	Proposed State = "proposed"
	// Rejected means that a user has to act: the plan was refused, or the pull request was closed.
	Rejected State = "rejected"
	// Applying means that the manifests are published, and the gate is not met yet.
	Applying State = "applying"
	// Checking means that the gate is met, and measurements are missing.
	Checking State = "checking"
	// Awaiting means that only approvals of users, or statuses of others, are missing.
	Awaiting State = "awaiting"
	// Soaking means that the clusters run it, and it has passed its verifications, for less than the soak.
	Soaking State = "soaking"
	// Good means that the clusters run it, and it has passed its verifications, for at least the soak.
	Good State = "good"
	// Unproven means that it was soaking or good, and that too few clusters are known to run it.
	Unproven State = "unproven"
	// Drifted means that it was soaking or good, and that clusters are known to run something else or not to be healthy.
	Drifted State = "drifted"
	// Failed means that clusters or verifications failed, or that the timeout expired.
	Failed State = "failed"
	// Superseded means that another commit replaced it before it passed its verifications.
	Superseded State = "superseded"
	// TakenBack means that a user aborted it or rolled it back.
	TakenBack State = "takenBack"
	// GoingBack means that the environment returns to it from a newer one, and the gate is not met yet.
	GoingBack State = "goingBack"
	// NoClusters means that no cluster is expected, or that all targets of the application are pinned.
	NoClusters State = "noClusters"
)

// States returns all states of a commit.
func States() []State {
	return []State{
		Outside, Proposed, Rejected, Applying, Checking, Awaiting, Soaking, Good, Unproven, Drifted, Failed, Superseded, TakenBack, GoingBack, NoClusters,
	}
}

// Deployed reports whether the clusters run the commit, and it has passed its verifications.
func (s State) Deployed() bool { return s == Soaking || s == Good }

// Verifying reports whether the commit waits for a verification.
func (s State) Verifying() bool { return s == Checking || s == Awaiting }
