package query

import (
	"time"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// Application is an application that a server promotes through its environments, as of the last round.
type Application struct {
	// Name is the name of its workload.
	Name string `json:"name"`
	// Subject identifies it in the ledger.
	Subject   string `json:"subject"`
	Workspace string `json:"workspace,omitempty"`
	// ControlPlane is the URL of the control plane that registers it.
	ControlPlane string `json:"controlPlane"`
	// Source is the branch whose commits are delivered, with its head.
	Source Branch `json:"source"`
	// Title is the first line of the message of the head.
	Title string `json:"title,omitempty"`
	// Environments are in the order of its chain.
	Environments []ApplicationEnvironment `json:"environments"`
	// Problems counts the problems of the source and of all environments.
	Problems ProblemCounts `json:"problems"`
	// ProblemList are the problems of the source, such as of the chain; only in the answer about one application.
	ProblemList []fleet.Problem `json:"problemList,omitempty"`
	// Error is why the last round failed. Then the other fields are from the last successful round.
	Error string `json:"error,omitempty"`
	// Line are the commits of the source branch, the oldest first; not in JSON.
	Line []promote.Commit `json:"-"`
	// LastRound is the time of the last round.
	LastRound time.Time `json:"looked,omitzero"`
}

// Branch is a folder on a branch of a repository.
type Branch struct {
	Repository string `json:"repository"`
	Branch     string `json:"branch,omitempty"`
	Path       string `json:"path,omitempty"`
	// Commit is the head; empty if unknown.
	Commit string `json:"commit,omitempty"`
}

// ApplicationEnvironment is the state of an application in one environment.
type ApplicationEnvironment struct {
	Environment string `json:"environment"`
	// After are the environments that a commit must have run in first.
	After []string `json:"after,omitempty"`
	// Build is the commit of the source that the environment has, with version and image: that of the open change, or else what
	// is published. Absent before the first one.
	Build *deliver.Build `json:"build,omitempty"`
	// Title is the first line of the commit's message; empty if unknown.
	Title string `json:"title,omitempty"`
	// Published is the build that the GitOps branch was rendered from; absent before the first one.
	Published *deliver.Build `json:"published,omitempty"`
	// Candidate is the build that is promoted next; absent if there is none.
	Candidate *deliver.Build `json:"candidate,omitempty"`
	// Behind is how many newer builds there are.
	Behind int `json:"behind,omitempty"`
	// Phase is the phase of the build. Reason explains it, and what the candidate waits for.
	Phase  decide.State `json:"phase"`
	Reason string       `json:"reason,omitempty"`
	// Targets are the commits to go back to, the newest first, or why they are not good.
	Targets []decide.RollbackTarget `json:"targets,omitempty"`
	// Since is when the phase began; zero if unknown.
	Since time.Time `json:"since,omitzero"`
	// GitOps is the branch that the application's reconcilers follow.
	GitOps *GitOps `json:"gitOps,omitempty"`
	// Configuration is the branch with the values of the environment; absent if there are none, or they cannot be read.
	Configuration *Branch `json:"configuration,omitempty"`
	// Gate counts the reconcilers of the application's targets that run what is published; absent before the first publication.
	Gate *Gate `json:"gate,omitempty"`
	// Change is the open pull request to the GitOps branch.
	Change *Change `json:"change,omitempty"`
	// AutoMerge means that pull requests are merged automatically when their checks pass.
	AutoMerge bool `json:"autoMerge"`
	// Problems counts the problems of this environment.
	Problems ProblemCounts `json:"problems"`
	// Findings counts what the checks found in the manifests that change.
	Findings FindingCounts `json:"findings"`
	// Held is how many targets keep their published files because of a problem.
	Held int `json:"held"`
	// Pinned is how many targets keep a revision, or are uninstalled, on the GitOps branch.
	Pinned int `json:"pinned,omitempty"`
	// Drift is how many generated files were changed by hand.
	Drift int `json:"drift"`
	// Paused is set while promotions to the environment are paused.
	Paused *decide.Pause `json:"paused,omitempty"`
	// Error is why the last round failed here. Then files, pull request and problems are from the last successful round.
	Error string `json:"error,omitempty"`
	// Detail is only in the answer about one application.
	Detail *ApplicationEnvironmentDetail `json:"detail,omitempty"`
}

// FindingCounts are numbers of findings by level.
type FindingCounts struct {
	Refuse int `json:"refuse"`
	Warn   int `json:"warn"`
	Inform int `json:"inform"`
}

// ApplicationEnvironmentDetail has the details of an application in one environment.
type ApplicationEnvironmentDetail struct {
	// Plan is what the open pull request, or the next one, changes; absent if nothing changes.
	Plan *DeliveryPlan `json:"plan,omitempty"`
	// ProblemList are the problems with file and line, errors first, at most 100 of them.
	ProblemList []fleet.Problem `json:"problemList"`
	// Findings are what the checks found in the manifests that change, at most 100.
	Findings []check.Finding `json:"findings"`
	// HeldList are the targets that keep their published files.
	HeldList []HeldTarget `json:"heldList"`
	// Pinned are the targets that keep a revision, or are uninstalled, on the GitOps branch, by name.
	Pinned []deliver.PinnedTarget `json:"pinned,omitempty"`
	// Requests are what the open pull request wants for single targets, by name, at most 100.
	Requests []deliver.PinnedTarget `json:"requests,omitempty"`
	// DriftList are the files that were changed by hand, at most 100. KeepsDrift means that they are not overwritten.
	DriftList  []string `json:"driftList"`
	KeepsDrift bool     `json:"keepsDrift,omitempty"`
	// Unreached are the reconcilers that do not run what is published: failed ones first, then offline, missing and
	// behind ones, oldest first; at most 100.
	Unreached []comply.Reconciler `json:"unreached"`
	Details
	// Steps are the last steps of the application's promotions here, newest first, at most 20.
	Steps []ledger.Step `json:"steps"`
}

// DeliveryPlan summarizes a change of an application.
type DeliveryPlan struct {
	Title string `json:"title"`
	// Promotes means that it contains a new commit of the source, not only new configuration.
	Promotes bool `json:"promotes"`
	// Counts are numbers of targets.
	Counts plan.Counts `json:"counts"`
	// Files is how many files are written or deleted.
	Files int `json:"files"`
	// Budget is how many targets can be removed without approval. Refusals say why approval is needed.
	Budget   int      `json:"budget"`
	Refusals []string `json:"refusals,omitempty"`
}

// HeldTarget is a target that keeps its published files.
type HeldTarget struct {
	Target string         `json:"target"`
	Reason *fleet.Problem `json:"reason,omitempty"`
}

// ApplicationDetail is an application with its history.
type ApplicationDetail struct {
	Application
	// History has the last events, newest first, at most 20.
	History []Event `json:"history"`
}

// ApplicationsQuery selects applications. Empty fields match all.
type ApplicationsQuery struct {
	Name         string       `query:"name" maxLength:"253" doc:"Only applications of this workload."`
	Workspace    string       `query:"workspace" maxLength:"253" doc:"Only applications of this workspace."`
	ControlPlane string       `query:"controlPlane" maxLength:"2048" doc:"Only applications that this control plane registers."`
	Environment  string       `query:"environment" maxLength:"253" doc:"Only applications that are promoted through this environment."`
	Phase        decide.State `query:"phase" maxLength:"32" doc:"Only applications in this phase in any environment, or in the given one."`
	Paging
}

// ApplicationQuery identifies an application.
type ApplicationQuery struct {
	Name    string `path:"name" maxLength:"253" doc:"Name of the workload."` // required
	Subject string `query:"subject" maxLength:"2048" doc:"The application in the ledger; required only if several have the same name."`
}
