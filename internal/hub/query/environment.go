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

// Environment summarizes an environment.
type Environment struct {
	Name string `json:"name"`
	// ControlPlane is the URL of its control plane; empty if only the ledger is known.
	ControlPlane string `json:"controlPlane,omitempty"`
	// After are the environments that a commit must have run in first.
	After []string `json:"after,omitempty"`
	// Commit is the commit of main that is promoted here; empty before the first one.
	Commit string `json:"commit,omitempty"`
	// Title is the first line of its message; empty if unknown.
	Title string `json:"title,omitempty"`
	// Since is when the phase began; zero if unknown.
	Since time.Time `json:"since,omitzero"`
	// Phase is the phase of the commit.
	Phase decide.State `json:"phase"`
	// Reason explains the phase, and what the candidate waits for.
	Reason string `json:"reason,omitempty"`
	// Candidate is the commit that is promoted next; empty if there is none.
	Candidate string `json:"candidate,omitempty"`
	// GitOps is the branch that clusters follow, with the commit they should run.
	GitOps *GitOps `json:"gitOps,omitempty"`
	// Gate counts the clusters that run that commit; absent before the first one.
	Gate *Gate `json:"gate,omitempty"`
	// Health is what runs on the clusters; absent in the past.
	Health *Health `json:"health,omitempty"`
	// Change is the open pull request with generated files.
	Change *Change `json:"change,omitempty"`
	// Problems counts the problems in the repositories.
	Problems ProblemCounts `json:"problems"`
	// Held is how many assignments keep their published files because of a problem.
	Held int `json:"held"`
	// Paused is set while promotions to the environment are paused.
	Paused *decide.Pause `json:"paused,omitempty"`
	// Counts counts workloads, targets, clusters and so on.
	Counts EnvironmentCounts `json:"counts"`
	// Rings are the rings of the environment, in the order of rollouts; absent if it has none.
	Rings []Ring `json:"rings,omitempty"`
	// WithoutClusters are the cluster types that have assignments and no clusters, sorted. The gate checks nothing for them.
	WithoutClusters []string `json:"withoutClusters,omitempty"`
	// Error is why the last round failed.
	Error string `json:"error,omitempty"`
	// LastRound is the time of the last round; zero if only the ledger is known.
	LastRound time.Time `json:"looked,omitzero"`
}

// EnvironmentCounts counts what is in an environment.
type EnvironmentCounts struct {
	Workloads    int `json:"workloads"`
	Targets      int `json:"targets"`
	ClusterTypes int `json:"clusterTypes"`
	Assignments  int `json:"assignments"`
	// Clusters counts memberships: a cluster with two cluster types counts twice.
	Clusters int `json:"clusters"`
	// Versions counts the distinct versions of workloads that run.
	Versions int `json:"versions"`
}

// GitOps is a branch that clusters follow.
type GitOps struct {
	// Repository is the URL in the spelling of the ledger.
	Repository string `json:"repository"`
	// URL is where it is read; empty if no round has read it.
	URL    string `json:"url,omitempty"`
	Branch string `json:"branch"`
	Path   string `json:"path,omitempty"`
	// Commit is the one that clusters should run.
	Commit string `json:"commit,omitempty"`
	// Committed is the time of the commit; zero if unknown.
	Committed time.Time `json:"committed,omitzero"`
}

// Gate is the result of an environment's gate for a commit.
type Gate struct {
	// Commit is the commit of the GitOps branch.
	Commit string `json:"commit"`
	// SourceCommit is the promoted commit that it was rendered from. It differs from the environment's commit while that one is only
	// proposed. Empty if unknown.
	SourceCommit string        `json:"sourceCommit,omitempty"`
	Result       comply.Result `json:"result"`
	// Reason explains the result.
	Reason string        `json:"reason"`
	Counts comply.Counts `json:"counts"`
	// Causes are up to five reasons why reconcilers did not reach it: failures first, then offline, missing and behind ones,
	// within a state the most frequent first. Reconcilers with the same error have one cause.
	Causes []comply.Cause `json:"causes,omitempty"`
	// Worst are up to five reconcilers that did not reach it: failed ones first, then offline, missing and behind ones,
	// each by the time since when.
	Worst []comply.Reconciler `json:"worst,omitempty"`
	// Since is when the gate was passed; zero if it is not.
	Since time.Time `json:"since,omitzero"`
	// Next is when the result may change without a report.
	Next time.Time `json:"next,omitzero"`
}

// Change is a pull request.
type Change struct {
	Number int      `json:"number"`
	Title  string   `json:"title"`
	URL    string   `json:"url,omitempty"`
	Labels []string `json:"labels,omitempty"`
	// Opened is when it was opened.
	Opened time.Time `json:"opened,omitzero"`
	// Waits says why it is not merged automatically yet.
	Waits string `json:"waits,omitempty"`
}

// ProblemCounts are numbers of problems.
type ProblemCounts struct {
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Notices  int `json:"notices"`
}

// EnvironmentDetail is an environment with its plan, problems, cluster types and last steps.
type EnvironmentDetail struct {
	Environment
	// Plan is what the open pull request, or the next one, changes; absent if nothing changes.
	Plan *PlanSummary `json:"plan,omitempty"`
	// ProblemList are the problems, errors first, at most MaxLimit of them.
	ProblemList []fleet.Problem `json:"problemList"`
	// HeldList are the assignments that keep their published files, at most MaxLimit.
	HeldList []HeldAssignment `json:"heldList"`
	// ClusterTypes are sorted by name.
	ClusterTypes []ClusterType `json:"clusterTypes"`
	// Cluster is what the Cluster object of the requested cluster says; absent if none is requested, or there is none.
	Cluster *ClusterObject `json:"cluster,omitempty"`
	Details
	// Targets are the commits to go back to, the newest first, or why they are not good; absent if only the ledger
	// is known.
	Targets []decide.RollbackTarget `json:"targets,omitempty"`
	// Steps are the last steps of promotions here, the newest first, at most 20.
	Steps []ledger.Step `json:"steps"`
}

// Details are the rules, verifications, proposals and commands of an environment.
type Details struct {
	// Rules are the rules of promotion; absent if there are none, or only the ledger is known.
	Rules *v1alpha1.Promotion `json:"rules,omitempty"`
	// Checks is the progress of the commit's verifications, in the order of the rules.
	Checks []decide.CheckProgress `json:"checks"`
	// Proposals are the pull requests that would promote another commit.
	Proposals []decide.Proposal `json:"proposals"`
	// Aborted are the commits whose promotion was aborted here.
	Aborted []decide.Abort `json:"aborted"`
	// Requested is the commit that a user asked to promote next.
	Requested *decide.Request `json:"requested,omitempty"`
}

// PlanSummary summarizes a plan.
type PlanSummary struct {
	Title  string      `json:"title"`
	Counts plan.Counts `json:"counts"`
	// Budget is how many removals need no approval.
	Budget plan.Budget `json:"budget"`
	// Refusals say why approval is needed.
	Refusals []plan.Refusal `json:"refusals,omitempty"`
	// Drift are the generated files that were changed by hand.
	Drift []string `json:"drift,omitempty"`
}

// HeldAssignment is an assignment that keeps its published files.
type HeldAssignment struct {
	ClusterType string         `json:"clusterType"`
	Target      string         `json:"target"`
	Reason      *fleet.Problem `json:"reason,omitempty"`
}

// ClusterType is a cluster type of an environment.
type ClusterType struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"`
	// Targets is how many targets are assigned to it.
	Targets int `json:"targets"`
	// Clusters is how many clusters have this type.
	Clusters int `json:"clusters"`
	// States counts the clusters by their state with regard to the commit.
	States ComplianceCounts `json:"states"`
}

// ComplianceCounts are numbers of reconcilers by their state with regard to a commit.
type ComplianceCounts struct {
	Reached int `json:"reached"`
	Behind  int `json:"behind"`
	Failed  int `json:"failed"`
	Offline int `json:"offline"`
	Missing int `json:"missing"`
}

// EnvironmentsQuery selects environments. Empty fields match all.
type EnvironmentsQuery struct {
	ControlPlane string    `query:"controlPlane" maxLength:"2048" doc:"Only environments of this control plane."`
	AsOf         time.Time `query:"asOf" doc:"Environments at this time. Default: now."`
	Paging
}

// EnvironmentQuery identifies an environment.
type EnvironmentQuery struct {
	Name         string    `path:"name" maxLength:"253" doc:"Name of the environment."` // required
	ControlPlane string    `query:"controlPlane" maxLength:"2048" doc:"URL of the control plane; required only if several have an environment of this name."`
	Cluster      string    `query:"cluster" maxLength:"253" doc:"Also return what the Cluster object of this cluster says."`
	AsOf         time.Time `query:"asOf" doc:"The environment at this time. Default: now. For the past, only the ledger is known."`
}
