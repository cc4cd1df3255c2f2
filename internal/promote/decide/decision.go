package decide

import "time"

// Decision holds the next actions for one environment, and the reason.
type Decision struct {
	Environment string
	Phase       Phase
	// Commit is the environment's commit.
	Commit string
	// Candidate is the commit to promote next; optional.
	Candidate string
	// Reason describes the state of Commit, and what Candidate waits for.
	Reason string
	// Failure is why Commit failed; it stays the same while more clusters fail in the same way. Empty unless the phase is Failed.
	Failure string
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

// Phase is the progress of the environment's commit. The package documentation shows the transitions.
type Phase string

const (
	// Unknown means that the facts could not be determined.
	Unknown Phase = "unknown"
	// Empty means that no commit has been promoted to the environment yet.
	Empty Phase = "empty"
	// Promoted means that the environment has the commit, but its manifests are not proposed yet.
	Promoted Phase = "promoted"
	// Refused means that a user has to act: the plan was refused, or the pull request was closed.
	Refused Phase = "refused"
	// Proposed means that the pull request with the manifests is not merged yet.
	Proposed Phase = "proposed"
	// Deploying means that the clusters are updating.
	Deploying Phase = "deploying"
	// NoClusters means that no clusters are expected.
	NoClusters Phase = "noClusters"
	// Verifying means that the clusters run the commit, and verifications are still running.
	Verifying Phase = "verifying"
	// Deployed means that the clusters run the commit, and all verifications passed.
	Deployed Phase = "deployed"
	// Failed means that clusters or verifications failed, or that the timeout expired.
	Failed Phase = "failed"
	// Aborted means that a user aborted the commit.
	Aborted Phase = "aborted"
)

// free reports whether another commit can be promoted without overtaking a rollout.
func (p Phase) free() bool {
	switch p {
	case Empty, Refused, NoClusters, Deployed, Failed, Aborted:
		return true
	default:
		return false
	}
}
