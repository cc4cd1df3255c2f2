package forge

import (
	"context"
	"net/http"
	"time"
)

// Abilities that only some forges have. Find them by type assertion, on a [Repository] or on a [Forge].

// Viewer knows the account of its credential.
type Viewer interface {
	// Viewer returns the account's name. It is empty if the forge does not tell, as for tokens of some CI jobs.
	Viewer(ctx context.Context) (string, error)
}

// Creator creates repositories.
type Creator interface {
	// CreateRepository creates an empty repository below an account or group. If it exists, the error is [ErrConflict].
	CreateRepository(ctx context.Context, r NewRepository) (Repository, error)
}

// NewRepository describes a repository to create.
type NewRepository struct {
	// Owner is an account, a group with its parents, or an organization and project.
	Owner string // required
	Name  string // required
	// DefaultBranch defaults to "main".
	DefaultBranch string
	Description   string
	Private       bool
}

// WebhookVerifier checks and reads webhook deliveries.
type WebhookVerifier interface {
	// VerifyWebhook checks that a delivery was signed with the secret, and returns its event.
	// The error is [ErrDenied] for a wrong signature and [ErrInvalid] for an unreadable body.
	// It is a pure function and does not detect repeated deliveries.
	VerifyWebhook(header http.Header, body []byte, key Secret) (Event, error)
}

// Settler knows how long checks of a new commit may take to appear.
type Settler interface {
	// Settle returns how long after a push the checks of others may take to appear: forges and CI create them in the background.
	// Until then, a commit without checks may still get some.
	Settle() time.Duration
}

// DefaultSettle is the [Settler.Settle] of forges whose configuration does not set it.
const DefaultSettle = time.Minute

// EarlyStatuses sets statuses before their commit is pushed, so that a pull request cannot be merged between the push and its statuses.
type EarlyStatuses interface {
	// SetEarlyStatus is [Repository.SetStatus] for a commit that may not be in the repository yet.
	SetEarlyStatus(ctx context.Context, commit string, s Status) error
}

// Brancher creates and deletes branches.
type Brancher interface {
	// CreateBranch creates a branch at a commit. If the branch exists at another commit, the error is [ErrConflict].
	CreateBranch(ctx context.Context, name, commit string) error
	// DeleteBranch deletes a branch. Deleting a branch that does not exist is not an error.
	DeleteBranch(ctx context.Context, name string) error
}

// LabelHistorian knows who added labels.
type LabelHistorian interface {
	// LabeledBy returns the account that last added a label to a pull request; empty if the pull request does not have it.
	LabeledBy(ctx context.Context, number int, label string) (string, error)
}

// Checker reads checks that the forge does not report as statuses.
type Checker interface {
	// Checks returns the statuses of a commit, and the results of the forge's own CI as statuses.
	// A caller that decides whether to merge uses it instead of [Statuses] where a repository has it.
	Checks(ctx context.Context, commit string) ([]Status, error)
}

// AutoMerger merges later.
type AutoMerger interface {
	// AutoMerge asks the forge to merge a pull request when its required checks and reviews are complete, possibly at once.
	// The error is [ErrConflict] if the forge refuses, for instance because the head moved, and [ErrUnsupported] if the forge
	// cannot merge this pull request later: then merge it when everything has succeeded.
	AutoMerge(ctx context.Context, number int, m Merge) error
}

// Queuer knows the commits on which the forge's merge queue tests pull requests.
type Queuer interface {
	// Queued returns the place of a pull request in the merge queue of its base branch; nil if it is in none, or the forge does not tell.
	Queued(ctx context.Context, number int) (*Queued, error)
}

// Queued is a pull request in a merge queue.
type Queued struct {
	// Commit is what the base branch becomes. Required statuses have to succeed on it, too. Empty until the queue has made it.
	Commit string
	// Head is the pull request's head, and SameFiles is whether Commit has exactly its files. Otherwise Commit has changes
	// of others as well.
	Head      string
	SameFiles bool
}

// Protector reads and sets branch protection.
type Protector interface {
	// Protection returns the protection of a branch; the zero value if it is not protected.
	Protection(ctx context.Context, branch string) (Protection, error)
	// Protect replaces the protection of a branch. The zero value removes it.
	Protect(ctx context.Context, branch string, p Protection) error
}

// Protection is what a branch requires of pushes and merges.
type Protection struct {
	// PullRequestsOnly forbids pushes: the branch only moves when a pull request is merged.
	PullRequestsOnly bool
	// Approvals is how many reviewers have to approve.
	Approvals int
	// CodeOwners requires the approval of the owners of changed files.
	CodeOwners bool
	// Checks are the contexts of statuses that have to succeed, sorted.
	Checks []string
}

// Protected reports whether the branch requires anything.
func (p Protection) Protected() bool {
	return p.PullRequestsOnly || p.Approvals > 0 || p.CodeOwners || len(p.Checks) > 0
}

// CodeOwned knows the path of the code owners file.
type CodeOwned interface {
	// CodeOwnersPath returns the path, such as ".github/CODEOWNERS".
	CodeOwnersPath() string
}

// Hooker manages webhooks of a repository.
type Hooker interface {
	// EnsureHook makes the forge deliver all kinds of [Event] to a URL, signed with the secret.
	// It updates an existing webhook of that URL.
	EnsureHook(ctx context.Context, h Hook) error
}

// Hook is a webhook.
type Hook struct {
	URL    string // required
	Secret Secret // required
}
