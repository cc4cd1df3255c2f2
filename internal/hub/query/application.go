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

// Application is an application whose commits a server takes through its environments, as the last rounds found it.
type Application struct {
	// Name is that of its workload.
	Name string `json:"name"`
	// Subject is what the ledger knows it by: no other application has it.
	Subject   string `json:"subject"`
	Workspace string `json:"workspace,omitempty"`
	// ControlPlane is the URL of the control plane that registers it.
	ControlPlane string `json:"controlPlane"`
	// Source is the branch whose commits are delivered, with its head.
	Source Branch `json:"source"`
	// Title is the first line of the message of the head.
	Title string `json:"title,omitempty"`
	// Environments are those of its chain, in order.
	Environments []ApplicationEnvironment `json:"environments"`
	// Problems counts what people have to mend in its repositories, in all environments.
	Problems ProblemCounts `json:"problems"`
	// ProblemList are those of the source, such as of the chain; only in the answer about one application.
	ProblemList []fleet.Problem `json:"problemList,omitempty"`
	// Error is why the last round failed as a whole; the rest is then that of the last one that did not.
	Error string `json:"error,omitempty"`
	// Line are the commits of the source branch, the oldest first; no part of answers.
	Line []promote.Commit `json:"-"`
	// Looked is when the last round was.
	Looked time.Time `json:"looked,omitzero"`
}

// Branch is a branch of a repository, and the folder of it that counts.
type Branch struct {
	Repository string `json:"repository"`
	Branch     string `json:"branch,omitempty"`
	Path       string `json:"path,omitempty"`
	// Commit is the head; empty while it is not known.
	Commit string `json:"commit,omitempty"`
}

// ApplicationEnvironment is how an application stands in one of its environments.
type ApplicationEnvironment struct {
	Environment string `json:"environment"`
	// After are the environments that a commit must have run in first.
	After []string `json:"after,omitempty"`
	// Build is the commit of the source that the environment has, with version and image: that of the open change, or else what
	// is published. Absent before the first one.
	Build *deliver.Build `json:"build,omitempty"`
	// Title is the first line of the commit's message; empty when that is not known.
	Title string `json:"title,omitempty"`
	// Published is the build that the GitOps branch was rendered from; absent before the first one.
	Published *deliver.Build `json:"published,omitempty"`
	// Candidate is the build that enters next; absent when none is on its way.
	Candidate *deliver.Build `json:"candidate,omitempty"`
	// Behind is how many newer builds there are.
	Behind int `json:"behind,omitempty"`
	// Phase is where the build stands, and Reason says that in words, and what the candidate waits for.
	Phase  decide.Phase `json:"phase"`
	Reason string       `json:"reason,omitempty"`
	// Since is when the phase began, as far as that is on record.
	Since time.Time `json:"since,omitzero"`
	// GitOps is the branch that the application's reconcilers follow.
	GitOps *GitOps `json:"gitOps,omitempty"`
	// Configuration is the branch with the values of the environment; absent where there are none, or it cannot be read.
	Configuration *Branch `json:"configuration,omitempty"`
	// Gate is how many of the reconcilers of the application's targets run what is published; absent before there is anything.
	Gate *Gate `json:"gate,omitempty"`
	// Change is the open change to the GitOps branch.
	Change *Change `json:"change,omitempty"`
	// AutoMerge says that changes are merged without a person when their checks pass.
	AutoMerge bool `json:"autoMerge"`
	// Problems counts what people have to mend.
	Problems ProblemCounts `json:"problems"`
	// Findings counts what the checks found in the manifests that change.
	Findings FindingCounts `json:"findings"`
	// Held are the targets that keep the files they have because of a problem.
	Held int `json:"held"`
	// Drift is how many files somebody changed by hand.
	Drift int `json:"drift"`
	// Paused is who let nothing enter, and why.
	Paused *decide.Pause `json:"paused,omitempty"`
	// Error is why the last round failed here; the files, change and problems are then those of the last one that did not.
	Error string `json:"error,omitempty"`
	// Detail is everything else; only in the answer about one application.
	Detail *ApplicationEnvironmentDetail `json:"detail,omitempty"`
}

// FindingCounts are numbers of findings by what they mean for who wants to publish.
type FindingCounts struct {
	Refuse int `json:"refuse"`
	Warn   int `json:"warn"`
	Inform int `json:"inform"`
}

// ApplicationEnvironmentDetail is what is known of an application in one environment besides what is seen at a glance.
type ApplicationEnvironmentDetail struct {
	// Plan is what the open change, or the next one, does; absent when nothing changes.
	Plan *DeliveryPlan `json:"plan,omitempty"`
	// ProblemList are the problems with file and line, errors first, at most 100 of them.
	ProblemList []fleet.Problem `json:"problemList"`
	// Findings are what the checks found in the manifests that change, at most 100.
	Findings []check.Finding `json:"findings"`
	// HeldList are the targets that keep the files they have.
	HeldList []HeldTarget `json:"heldList"`
	// DriftList are the files that somebody changed by hand, at most 100. KeepsDrift says that they stay so.
	DriftList  []string `json:"driftList"`
	KeepsDrift bool     `json:"keepsDrift,omitempty"`
	// Unreached are the reconcilers that do not run what is published: failed ones first, then offline, missing and behind ones,
	// those that are so for longest first; at most 100.
	Unreached []comply.Reconciler `json:"unreached"`
	Words
	// Steps are the last steps of the application's promotions here, the newest first, at most 20.
	Steps []ledger.Step `json:"steps"`
}

// DeliveryPlan says what a change of an application does, in numbers.
type DeliveryPlan struct {
	Title string `json:"title"`
	// Promotes says that a commit of the source comes in, rather than a change of configuration alone.
	Promotes bool `json:"promotes"`
	// Counts are numbers of targets.
	Counts plan.Counts `json:"counts"`
	// Files is how many files are written or deleted.
	Files int `json:"files"`
	// Budget is how many targets may be removed without a person's consent, and Refusals say why one has to agree first.
	Budget   int      `json:"budget"`
	Refusals []string `json:"refusals,omitempty"`
}

// HeldTarget is a target that keeps the files it has.
type HeldTarget struct {
	Target string         `json:"target"`
	Reason *fleet.Problem `json:"reason,omitempty"`
}

// ApplicationDetail is everything about one application that fits on a page.
type ApplicationDetail struct {
	Application
	// History is what happened last, the newest first, at most 20 events.
	History []Event `json:"history"`
}

// ApplicationsQuery says which applications are wanted. Empty fields do not restrict.
type ApplicationsQuery struct {
	// Name is that of the workload.
	Name         string
	Workspace    string
	ControlPlane string
	// Environment wants those that have it in their chain.
	Environment string
	// Phase wants those that stand so in some environment (in Environment, when that is set).
	Phase decide.Phase
	Paging
}

// ApplicationQuery names an application.
type ApplicationQuery struct {
	// Name is that of the workload.
	Name string // required
	// Subject tells applications of one name apart.
	Subject string
}
