package promote

import (
	"time"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// Outcome is the result of a round.
type Outcome struct {
	Subject string `json:"subject"`
	// At is the time of the round.
	At time.Time `json:"at"`
	// Environments holds the environments in chain order.
	Environments []Standing `json:"environments"`
	// Problems holds the problems of the chain, sorted.
	Problems []fleet.Problem `json:"problems,omitempty"`
	// Line holds the commits of the source branch, oldest first.
	Line []Commit `json:"-"`
	// Did describes what the round did, in order.
	Did []string `json:"did,omitempty"`
	// Next is when another round may have something to do without an event; zero if not.
	Next time.Time `json:"next,omitzero"`
	// Read holds the locations that the round depends on: when one of them changes, another round may be needed.
	Read []schedule.Location `json:"-"`
}

// GitOps is a source with the JSON names of an outcome. Repo is the URL for access to the repository.
type GitOps struct {
	Repo   string `json:"repo"`
	Branch string `json:"branch,omitempty"`
	Path   string `json:"path,omitempty"`
}

// Standing is the state of one environment, with the reason.
type Standing struct {
	Environment string       `json:"environment"`
	Phase       decide.State `json:"phase"`
	// Commit is the promoted commit; optional. Head is the head of the environment's branch.
	Commit string `json:"commit,omitempty"`
	Head   string `json:"head,omitempty"`
	// Authors holds the names and mail addresses of the author of Commit, as far as they are known.
	Authors []string `json:"-"`
	// Candidate is the commit to promote next; optional.
	Candidate string `json:"candidate,omitempty"`
	// Behind is the number of commits of the line that are newer than Commit.
	Behind int `json:"behind"`
	// Reason describes the state of Commit, and what Candidate waits for.
	Reason string `json:"reason"`
	// Since is when the phase began, if that is recorded.
	Since time.Time `json:"since,omitzero"`
	// Next is when the state may change without an event.
	Next time.Time `json:"next,omitzero"`
	// Rules holds the rules as defined. After includes the predecessor in an explicit chain.
	Rules *v1alpha1.Promotion `json:"rules,omitempty"`
	After []string            `json:"after,omitempty"`
	// GitOps is the source that the clusters follow.
	GitOps  GitOps         `json:"gitOps"`
	Rollout decide.Rollout `json:"rollout"`
	Verdict comply.Verdict `json:"verdict"`
	// Checks holds the progress of the rollout's verifications.
	Checks    []decide.CheckProgress `json:"checks,omitempty"`
	Proposals []Proposal             `json:"proposals,omitempty"`
	Pause     *decide.Pause          `json:"pause,omitempty"`
	Request   *decide.Request        `json:"request,omitempty"`
	Aborts    []decide.Abort         `json:"aborts,omitempty"`
	// Rollbacks are the commands that took commits back, and Targets the commits to go back to, the newest first.
	Rollbacks []decide.Rollback       `json:"rollbacks,omitempty"`
	Targets   []decide.RollbackTarget `json:"targets,omitempty"`
	// Rings holds the rings of the environment, and the batches of rings, in the order of rollouts.
	Rings []RingStanding `json:"rings,omitempty"`
	// Actions describes the next actions. [Outcome.Did] describes the completed ones.
	Actions []string `json:"actions,omitempty"`

	// To is that of [Effect].
	To string `json:"to,omitempty"`
}

// RingStanding is the state of a ring, or of a batch of a ring.
type RingStanding struct {
	// Name is "<ring>" or "<ring>.<batch>".
	Name string `json:"name"`
	Ring string `json:"ring"`
	// Branch is the branch that its clusters follow.
	Branch string `json:"branch"`
	// Clusters is the number of clusters that Git lists for it.
	Clusters int          `json:"clusters"`
	Phase    decide.State `json:"phase"`
	// Commit is the commit of Branch, one of the environment's GitOps branch. Candidate is the commit to roll out next; optional.
	Commit    string `json:"commit,omitempty"`
	Candidate string `json:"candidate,omitempty"`
	// Source and CandidateSource are the promoted commits whose manifests these are; empty if unknown.
	Source          string `json:"source,omitempty"`
	CandidateSource string `json:"candidateSource,omitempty"`
	// Authors are those of the promoted commit that Commit has the manifests of, as far as they are known.
	Authors []string `json:"-"`
	// Behind is the number of commits of the environment's GitOps branch that are newer than Commit.
	Behind int `json:"behind"`
	// Reason describes the state of Commit, and what Candidate waits for.
	Reason string `json:"reason"`
	// Delayed explains why the only cluster of the stage is changed later, while others do not wait for it; optional.
	Delayed string `json:"delayed,omitempty"`
	// Since is when the phase began, if that is recorded. Next is when the state may change without an event.
	Since   time.Time              `json:"since,omitzero"`
	Next    time.Time              `json:"next,omitzero"`
	Counts  comply.Counts          `json:"counts"`
	Checks  []decide.CheckProgress `json:"checks,omitempty"`
	Pause   *decide.Pause          `json:"pause,omitempty"`
	Request *decide.Request        `json:"request,omitempty"`
	Aborts  []decide.Abort         `json:"aborts,omitempty"`
	// Rollbacks and Targets are as in [Standing]; the commits of targets are those of the environment's GitOps branch.
	Rollbacks []decide.Rollback       `json:"rollbacks,omitempty"`
	Targets   []decide.RollbackTarget `json:"targets,omitempty"`
	Skips     []decide.Skip           `json:"skips,omitempty"`
	Actions   []string                `json:"actions,omitempty"`

	// To is that of [Effect].
	To string `json:"to,omitempty"`
}
