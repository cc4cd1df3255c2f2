package forge

import (
	"context"
	"net/http"
)

// The abilities that only some forges have. Those of a repository are found on a [Repository],
// those of an installation on a [Forge], by type assertion.

// Viewer tells who the credential belongs to.
type Viewer interface {
	// Viewer returns the account's name; empty when the forge does not tell, as for the tokens of some CI jobs.
	Viewer(ctx context.Context) (string, error)
}

// Creator creates repositories.
type Creator interface {
	// CreateRepository creates an empty repository below an account or group. One that exists is [ErrConflict].
	CreateRepository(ctx context.Context, r NewRepository) (Repository, error)
}

// NewRepository is a repository to be created.
type NewRepository struct {
	// Owner is an account, a group with its parents, or an organization and project.
	Owner string // required
	Name  string // required
	// DefaultBranch is "main" when it is empty.
	DefaultBranch string
	Description   string
	Private       bool
}

// WebhookVerifier understands what a forge delivers to us.
type WebhookVerifier interface {
	// VerifyWebhook checks that a delivery was signed with the secret and returns what it says.
	// [ErrDenied] means that it was not, [ErrInvalid] that it says nothing we understand.
	// It is a pure function: whether a delivery was seen before is for the caller to know.
	VerifyWebhook(header http.Header, body []byte, key Secret) (Event, error)
}

// Brancher creates and deletes branches.
type Brancher interface {
	// CreateBranch creates a branch at a commit. One that is there already is no error at the same commit, else [ErrConflict].
	CreateBranch(ctx context.Context, name, commit string) error
	// DeleteBranch deletes a branch. That there is none is no error.
	DeleteBranch(ctx context.Context, name string) error
}

// LabelHistorian knows who did what with labels.
type LabelHistorian interface {
	// LabeledBy returns who added a label to a pull request last; empty when the pull request does not have it.
	LabeledBy(ctx context.Context, change int, label string) (string, error)
}

// Checker knows of checks that are no statuses.
type Checker interface {
	// Checks returns the statuses of a commit, and as such also what the forge's own CI says by other means.
	// Who merges by himself looks here, where a repository has it, and at the statuses alone where it has not.
	Checks(ctx context.Context, commit string) ([]Status, error)
}

// AutoMerger merges later.
type AutoMerger interface {
	// AutoMerge asks the forge to merge a pull request once its required checks and reviews are there; at once when they are.
	// [ErrConflict] when the forge will not, for instance because the head is another one.
	AutoMerge(ctx context.Context, number int, m Merge) error
}

// Protector reads and sets what a branch demands.
type Protector interface {
	// Protection returns what a branch demands; the zero value when it is not protected.
	Protection(ctx context.Context, branch string) (Protection, error)
	// Protect makes a branch demand exactly this; the zero value lifts the protection.
	Protect(ctx context.Context, branch string, p Protection) error
}

// Protection is what a branch demands before it changes.
type Protection struct {
	// PullRequestsOnly forbids to push; the branch moves by merging pull requests.
	PullRequestsOnly bool
	// Approvals is how many people have to approve a pull request.
	Approvals int
	// CodeOwners demands the approval of the owners of what a pull request touches.
	CodeOwners bool
	// Checks are the contexts of statuses that have to succeed; sorted.
	Checks []string
}

// Protected reports whether the branch demands anything.
func (p Protection) Protected() bool {
	return p.PullRequestsOnly || p.Approvals > 0 || p.CodeOwners || len(p.Checks) > 0
}

// CodeOwned says where a repository names who owns its files.
type CodeOwned interface {
	// CodeOwnersPath is the file's path: ".github/CODEOWNERS".
	CodeOwnersPath() string
}

// Hooker subscribes to what happens in a repository.
type Hooker interface {
	// EnsureHook makes the forge deliver to a URL everything that [Event] knows, signed with the secret.
	// A subscription of that URL is brought up to date.
	EnsureHook(ctx context.Context, h Hook) error
}

// Hook is a subscription.
type Hook struct {
	URL    string // required
	Secret Secret // required
}
