package promote

import (
	"time"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// Outcome says what a round found and did.
type Outcome struct {
	Subject string `json:"subject"`
	// At is the time that everything is said of.
	At time.Time `json:"at"`
	// Environments are those of the chain, in its order.
	Environments []Standing `json:"environments"`
	// Problems are what is wrong with the chain, sorted.
	Problems []fleet.Problem `json:"problems,omitempty"`
	// Line are the commits of the source branch, the oldest first.
	Line []Commit `json:"-"`
	// Did lists what was done, in order; empty for a round in which nothing had to be.
	Did []string `json:"did,omitempty"`
	// Next is when there may be something to do though nothing happens; zero when there is not.
	Next time.Time `json:"next,omitzero"`
	// Read are the locations that were read: when one of them moves, a round may have to do.
	Read []schedule.Location `json:"-"`
}

// GitOps is a source with the JSON names of an outcome. Repo is the URL at which the repository is reached.
type GitOps struct {
	Repo   string `json:"repo"`
	Branch string `json:"branch,omitempty"`
	Path   string `json:"path,omitempty"`
}

// Standing is how one environment stands, and why.
type Standing struct {
	Environment string       `json:"environment"`
	Phase       decide.Phase `json:"phase"`
	// Commit is what the environment names; empty when it names none. Head is the commit of its own branch.
	Commit string `json:"commit,omitempty"`
	Head   string `json:"head,omitempty"`
	// Candidate is what enters next; empty when nothing is on its way.
	Candidate string `json:"candidate,omitempty"`
	// Behind is how many commits of the line are newer than Commit.
	Behind int `json:"behind"`
	// Reason says in words how the commit stands, and what the candidate waits for.
	Reason string `json:"reason"`
	// Since is when the phase began, as far as that is on record.
	Since time.Time `json:"since,omitzero"`
	// Next is when that may change though nothing happens.
	Next time.Time `json:"next,omitzero"`
	// Rules are as they are written; After also counts an explicit chain.
	Rules *v1alpha1.Promotion `json:"rules,omitempty"`
	After []string            `json:"after,omitempty"`
	// GitOps is what its clusters follow.
	GitOps  GitOps         `json:"gitOps"`
	Rollout decide.Rollout `json:"rollout"`
	Verdict comply.Verdict `json:"verdict"`
	// Checks are the results of the verifications of the rollout.
	Checks    []decide.CheckResult `json:"checks,omitempty"`
	Proposals []Proposal           `json:"proposals,omitempty"`
	Pause     *decide.Pause        `json:"pause,omitempty"`
	Order     *decide.Order        `json:"order,omitempty"`
	Aborts    []decide.Abort       `json:"aborts,omitempty"`
	// Actions are what is to be done, in words; what was done is in [Outcome.Did].
	Actions []string `json:"actions,omitempty"`
}
