package decide

import "time"

// Decision is what is to be done for one environment, and why.
type Decision struct {
	Environment string
	Phase       Phase
	// Commit is the commit that the environment names.
	Commit string
	// Candidate is the commit that enters next; empty when none is on its way.
	Candidate string
	// Reason says in words how Commit stands, and what Candidate waits for.
	Reason string
	// Actions are to be carried out in this order. It does no harm to stop after any of them.
	Actions []Action
	// Next is when the decision may be another one though no fact changes; zero when it cannot.
	Next time.Time
}

// Phase is where the commit that an environment names stands; the package documentation draws how one leads to another.
type Phase string

const (
	// Unknown is that the facts could not be gathered.
	Unknown Phase = "unknown"
	// Empty is that no commit was ever promoted here.
	Empty Phase = "empty"
	// Promoted is that the environment names the commit, and its manifests are not proposed yet.
	Promoted Phase = "promoted"
	// Refused is that its manifests wait for a person: a plan that was refused, or a change that was closed.
	Refused Phase = "refused"
	// Proposed is that its manifests wait to be merged.
	Proposed Phase = "proposed"
	// Deploying is that clusters are on their way to it.
	Deploying Phase = "deploying"
	// Nobody is that there are no clusters that could be.
	Nobody Phase = "nobody"
	// Verifying is that clusters run it and verifications are not all done.
	Verifying Phase = "verifying"
	// Deployed is that clusters run it and verifications passed.
	Deployed Phase = "deployed"
	// Failed is that clusters or verifications failed, or that the time was up.
	Failed Phase = "failed"
	// Aborted is that a person gave it up.
	Aborted Phase = "aborted"
)

// free says whether another commit may enter: nothing that is being rolled out would be overtaken.
func (p Phase) free() bool {
	switch p {
	case Empty, Refused, Nobody, Deployed, Failed, Aborted:
		return true
	default:
		return false
	}
}
