package query

import (
	"time"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// Environment is an environment at a glance.
type Environment struct {
	Name string `json:"name"`
	// ControlPlane is the URL of the control plane that describes it; empty where only the ledger is asked.
	ControlPlane string `json:"controlPlane,omitempty"`
	// After are the environments that a commit must have run in first.
	After []string `json:"after,omitempty"`
	// Commit is the commit of main that is promoted here; empty before the first one.
	Commit string `json:"commit,omitempty"`
	// Title is the first line of its message; empty when that is not known.
	Title string `json:"title,omitempty"`
	// Since is when the phase began, as far as that is on record.
	Since time.Time `json:"since,omitzero"`
	// Phase is where the commit stands.
	Phase decide.Phase `json:"phase"`
	// Reason says in words how the commit stands, and what the candidate waits for.
	Reason string `json:"reason,omitempty"`
	// Candidate is the commit that enters next; empty when none is on its way.
	Candidate string `json:"candidate,omitempty"`
	// GitOps is the branch that clusters follow, with the commit they have to run.
	GitOps *GitOps `json:"gitOps,omitempty"`
	// Gate is how many clusters run that commit; absent when there is none yet.
	Gate *Gate `json:"gate,omitempty"`
	// Change is the open pull request with generated files.
	Change *Change `json:"change,omitempty"`
	// Problems counts what people have to mend in the repositories.
	Problems ProblemCounts `json:"problems"`
	// Held are the assignments that keep the files they have because of a problem.
	Held int `json:"held"`
	// Paused is who let nothing enter, and why.
	Paused *decide.Pause `json:"paused,omitempty"`
	// Counts are how much there is.
	Counts EnvironmentCounts `json:"counts"`
	// Error is why the last round failed; empty when it did not.
	Error string `json:"error,omitempty"`
	// Looked is when the last round was; zero where only the ledger is asked.
	Looked time.Time `json:"looked,omitzero"`
}

// EnvironmentCounts are how much there is in an environment.
type EnvironmentCounts struct {
	Workloads    int `json:"workloads"`
	Targets      int `json:"targets"`
	ClusterTypes int `json:"clusterTypes"`
	Assignments  int `json:"assignments"`
	// Clusters are the memberships: a cluster that serves as two cluster types counts twice.
	Clusters int `json:"clusters"`
	// Versions are the different versions of workloads that run.
	Versions int `json:"versions"`
}

// GitOps is a branch that clusters follow.
type GitOps struct {
	// Repository is what the ledger calls it: the same for every way to reach it.
	Repository string `json:"repository"`
	// URL is how it is reached; empty where no round has read it.
	URL    string `json:"url,omitempty"`
	Branch string `json:"branch"`
	Path   string `json:"path,omitempty"`
	// Commit is the one that clusters have to run.
	Commit string `json:"commit,omitempty"`
	// Committed is when it was made; zero when that is not on record.
	Committed time.Time `json:"committed,omitzero"`
}

// Gate is how an environment's clusters stand to a commit.
type Gate struct {
	// Commit is the commit of the GitOps branch.
	Commit string `json:"commit"`
	// SourceCommit is the promoted commit that it was rendered from: another than the environment's while that one is only proposed.
	// Empty when that is not known.
	SourceCommit string        `json:"sourceCommit,omitempty"`
	Result       comply.Result `json:"result"`
	// Reason says the result in words.
	Reason string        `json:"reason"`
	Counts comply.Counts `json:"counts"`
	// Worst are up to five reconcilers that did not reach it: failed ones first, then offline, missing and behind ones,
	// those that are so for longest first.
	Worst []comply.Reconciler `json:"worst,omitempty"`
	// Since is when the gate was passed; zero while it is not.
	Since time.Time `json:"since,omitzero"`
	// Next is when the result may change though nothing is reported.
	Next time.Time `json:"next,omitzero"`
}

// Change is a pull request.
type Change struct {
	Number int      `json:"number"`
	Title  string   `json:"title"`
	URL    string   `json:"url,omitempty"`
	Labels []string `json:"labels,omitempty"`
	// Opened is when it was made.
	Opened time.Time `json:"opened,omitzero"`
	// Waits says why it is not merged automatically though it may be.
	Waits string `json:"waits,omitempty"`
}

// ProblemCounts are numbers of problems.
type ProblemCounts struct {
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Notices  int `json:"notices"`
}

// EnvironmentDetail is everything about one environment that fits on a page.
type EnvironmentDetail struct {
	Environment
	// Plan is what the open change, or the next one, does; absent when nothing changes.
	Plan *PlanSummary `json:"plan,omitempty"`
	// ProblemList are the problems, errors first, at most MaxLimit of them.
	ProblemList []fleet.Problem `json:"problemList"`
	// HeldList are the assignments that keep the files they have, at most MaxLimit of them.
	HeldList []HeldAssignment `json:"heldList"`
	// ClusterTypes are sorted by name.
	ClusterTypes []ClusterType `json:"clusterTypes"`
	Words
	// Steps are the last steps of promotions here, the newest first, at most 20.
	Steps []ledger.Step `json:"steps"`
}

// Words are what is said about an environment besides how it stands: rules, what verifications found, and what people want.
type Words struct {
	// Rules are the rules of promotion as they are written; absent when there are none, or where only the ledger is asked.
	Rules *v1alpha1.Promotion `json:"rules,omitempty"`
	// Checks are the verifications of the commit, in the order of the rules.
	Checks []Check `json:"checks"`
	// Proposals are the changes that would make the environment name another commit.
	Proposals []decide.Proposal `json:"proposals"`
	// Aborted are the commits that were given up here.
	Aborted []decide.Abort `json:"aborted"`
	// Ordered is what a person wants to run here next.
	Ordered *decide.Order `json:"ordered,omitempty"`
}

// PlanSummary says what a change does, in numbers.
type PlanSummary struct {
	Title  string      `json:"title"`
	Counts plan.Counts `json:"counts"`
	// Removals are compared with what may go without a person's consent.
	Budget plan.Budget `json:"budget"`
	// Refusals say why a person has to agree first.
	Refusals []plan.Refusal `json:"refusals,omitempty"`
	// Drift are the files that somebody changed by hand.
	Drift []string `json:"drift,omitempty"`
}

// HeldAssignment is an assignment that keeps the files it has.
type HeldAssignment struct {
	ClusterType string         `json:"clusterType"`
	Target      string         `json:"target"`
	Reason      *fleet.Problem `json:"reason,omitempty"`
}

// ClusterType is a cluster type of an environment.
type ClusterType struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"`
	// Targets is how many are assigned to it.
	Targets int `json:"targets"`
	// Clusters is how many serve as it.
	Clusters int `json:"clusters"`
	// States is how those stand to the commit they have to run.
	States ComplianceCounts `json:"states"`
}

// ComplianceCounts are numbers of reconcilers by how they stand to a commit.
type ComplianceCounts struct {
	Reached int `json:"reached"`
	Behind  int `json:"behind"`
	Failed  int `json:"failed"`
	Offline int `json:"offline"`
	Missing int `json:"missing"`
}

// Check is a verification and what came of it.
type Check struct {
	Name string `json:"name"`
	// State is running, passed or failed; empty when it was not run yet.
	State  decide.CheckState `json:"state,omitempty"`
	Reason string            `json:"reason,omitempty"`
}

// EnvironmentsQuery says which environments are wanted. Empty fields do not restrict.
type EnvironmentsQuery struct {
	ControlPlane string
	Paging
}

// EnvironmentQuery names an environment.
type EnvironmentQuery struct {
	Name string // required
	// ControlPlane tells environments of one name apart.
	ControlPlane string
	// AsOf is the time of which it is wanted; zero means now. Of the past, the answer is what the ledger alone knows.
	AsOf time.Time
}
