package promote

import (
	"context"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// Pipeline is what moves along a chain of environments, and how it is moved.
// Everything may be repeated: what is done already is left as it is.
type Pipeline interface {
	// Read finds out where every commit is. An error means that nothing is known, not even the chain;
	// of an environment that cannot be read, [Place.Unknown] says why.
	Read(ctx context.Context) (*Reading, error)
	// Move makes an environment name another commit, or proposes that to people.
	// It does nothing when the environment does not name m.From any more.
	Move(ctx context.Context, m Move) (Moved, error)
	// Withdraw closes the open proposal of an environment for a commit. That there is none is no error.
	Withdraw(ctx context.Context, w decide.Withdraw) error
	// SetStatus shows on a commit how it stands in an environment. [ErrNoCommit] when the forge does not have the commit.
	SetStatus(ctx context.Context, s decide.SetStatus) error
}

// Reading is where every commit is.
type Reading struct {
	// Subject is what moves, as the ledger knows it: the URL of a control plane, or of an application's source,
	// in the spelling of [ledger.CleanRepository].
	Subject string // required
	Chain   *decide.Chain
	// Stages are the environments as they are written.
	Stages []decide.Stage
	// Problems are what is wrong with the chain.
	Problems []fleet.Problem
	// Line are the commits of the source branch, the oldest first; the last is its head.
	Line []Commit
	// Places are the environments of the chain.
	Places []Place
	// Read are the locations that were read: when one of them moves, a round may have to do.
	Read []schedule.Location
}

// Commit is a commit of the source branch.
type Commit struct {
	SHA string `json:"sha"`
	// Subject is the first line of its message.
	Subject string    `json:"subject,omitempty"`
	Time    time.Time `json:"time,omitzero"`
}

// Place is one environment, as Git and the forge know it.
type Place struct {
	Environment string // required
	// Unknown says why it could not be read; then nothing is done there.
	Unknown string
	// Commit is what it names. Follows says that it names none and follows the branch: Commit is the head then,
	// and the first thing that is done is to name it, so that nothing more comes in by itself.
	Commit  string
	Follows bool
	// Head is the commit of the environment's own branch; empty when there is none.
	Head string
	// Proposals to name another commit, the newest first.
	Proposals []Proposal
	Rollout   decide.Rollout
	// GitOps is what its clusters follow, with the URL by which the repository is reached: its history is read there.
	GitOps hub.Source
	// Expect lists who of all clusters has to follow it; nil is everybody who is a member of the environment.
	Expect func(clusters []comply.Cluster) []comply.Expected
}

// Proposal is a change that would make an environment name another commit.
type Proposal struct {
	decide.Proposal
	// Ended is when it was closed; zero while it is open.
	Ended time.Time `json:"ended,omitzero"`
}

// Move is a wish that an environment names another commit.
type Move struct {
	Environment  string // required
	From, Commit string // required
	// Approval says whether people have to agree. Where they have to by the rules of the forge, they are asked as well.
	Approval v1alpha1.Approval
	// Back says that it is a way back after a failure.
	Back bool
	// Reason says why, for the message.
	Reason string
}

// Moved is what came of a move.
type Moved struct {
	// Did says in words what was done; empty when nothing had to be.
	Did string
	// URL is the page of the proposal; empty when the environment names the commit now.
	URL string
}
