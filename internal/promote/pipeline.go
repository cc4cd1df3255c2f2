package promote

import (
	"context"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// Pipeline defines what is promoted along a chain of environments, and how.
// All methods are idempotent.
type Pipeline interface {
	// Read returns the state of all environments. It returns an error if the chain itself cannot be determined;
	// if one environment cannot be read, it sets [EnvironmentState.Unknown].
	Read(ctx context.Context) (*State, error)
	// Move promotes a commit to an environment, or opens a proposal for that.
	// It does nothing if the environment's commit is no longer m.From. For a ring, the environment is that of [decide.RingName], and the
	// commit is one of the line of the rings.
	Move(ctx context.Context, m Move) (MoveResult, error)
	// Withdraw closes the open proposal for a commit. A proposal that does not exist is not an error.
	Withdraw(ctx context.Context, w decide.Withdraw) error
	// SetStatus posts the status of a commit in an environment. It returns [ErrNoCommit] if the forge does not have
	// the commit, and [forge.ErrTooMany] if it stores no more statuses of the commit.
	SetStatus(ctx context.Context, s decide.SetStatus) error
}

// StatusReader is a [Pipeline] that can read what others posted on a promoted commit.
type StatusReader interface {
	// ReadStatuses returns the statuses of a commit of the source, and the results of the forge's own CI.
	// It returns [ErrNoCommit] if no forge hosts the repository, or the forge does not have the commit.
	ReadStatuses(ctx context.Context, commit string) ([]forge.Status, error)
}

// State is the state of all environments of a pipeline.
type State struct {
	// Subject identifies the pipeline in the ledger: the URL of the control plane, or of the application's source,
	// normalized by [ledger.CleanRepository].
	Subject string // required
	// Workspace is the owner of the application; empty for a control plane.
	Workspace string
	Chain     *decide.Chain
	// Stages holds the definitions of the environments.
	Stages []decide.Stage
	// Problems holds the problems of the chain.
	Problems []fleet.Problem
	// Line holds the commits of the source branch, oldest first; the last one is its head.
	Line []Commit
	// Places holds the environments of the chain.
	Places []EnvironmentState
	// Watched holds the environments without rules. Nothing is promoted to them; what becomes of their commits is
	// recorded.
	Watched []EnvironmentState
	// OnlyMoves is set if only [Pipeline.Move] should change the commit of an environment. Other changes are recorded as such.
	OnlyMoves bool
	// Read holds the locations that were read: when one of them changes, another round may be needed.
	Read []schedule.Location
}

// Commit is a commit of the source branch.
type Commit struct {
	SHA string `json:"sha"`
	// Subject is the first line of the message.
	Subject string    `json:"subject,omitempty"`
	Time    time.Time `json:"time,omitzero"`
	// Authors holds the name and the mail address of its author, and of a merge also those of what it merged.
	Authors []string `json:"-"`
}

// EnvironmentState is the state of one environment in Git and on the forge.
type EnvironmentState struct {
	Environment string // required
	// Unknown explains why the environment could not be read; optional. If it is set, the environment has no actions.
	Unknown string
	// Commit is the promoted commit. Follows is set if no commit was promoted and the environment follows the branch:
	// Commit is then the head, and the first action is to pin it, so that later commits do not reach the environment by themselves.
	Commit  string
	Follows bool
	// Version and Image are what was built from the commit and published here; only of applications.
	Version, Image string
	// Head is the head of the environment's branch; optional.
	Head string
	// Proposals holds the proposals to promote another commit, newest first.
	Proposals []Proposal
	Rollout   decide.Rollout
	// GitOps is the source that the clusters follow, with the URL for access to the repository and its history.
	GitOps hub.Source
	// Rendered is the head of the GitOps branch if it has there what its commits render; empty if it has something
	// else, or that is not known. Such a head enters no ring.
	Rendered string
	// Folders are the clusters with folders of their own in GitOps.
	Folders comply.Folders
	// Rings are the parts of the clusters that follow branches of their own; nil if all follow GitOps.
	Rings *Rings
	// Expect returns which reconcilers of the clusters should follow a branch, which is that of GitOps or of a ring; defaults to those of
	// all members of the environment.
	Expect func(clusters []comply.Cluster, branch string) []comply.Expected

	// exact means that only the commit itself counts as reached, and not a later one: that of a ring that went back.
	exact bool
	// wholes are the batches that a stage was a part of until they were divided.
	wholes []wholeBatch
	// start is the commit to which the branch of a ring is moved first, outside of rollouts, and startWhy the reason; empty if it takes part
	// in rollouts.
	start, startWhy string
}

// Proposal is a pull request that would promote another commit.
type Proposal struct {
	decide.Proposal
	// Ended is when it was closed; zero if it is open.
	Ended time.Time `json:"ended,omitzero"`
}

// Move is the promotion of a commit to an environment, or its rollback.
type Move struct {
	Environment  string // required
	From, Commit string // required
	// Approval says whether a pull request is required. A protected branch requires one in any case.
	Approval v1alpha1.Approval
	// Back marks a rollback after a failure.
	Back bool
	// Former marks the move of a batch that has no clusters any more.
	Former bool
	// Reason is the reason for the message.
	Reason string
}

// MoveResult is the result of a move.
type MoveResult struct {
	// Did describes what was done; empty if nothing was.
	Did string
	// Revision is the commit that the branch of a ring has now; empty if it did not move.
	Revision string
	// URL is the page of the proposal; empty if the commit was promoted directly.
	URL string
}
