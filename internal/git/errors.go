package git

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/kalypso-io/kalypso/internal/git/reflock"
)

// The kinds of errors. Every error of this package has one of them, or is the context's own; match with [errors.Is].
var (
	// ErrRepositoryNotFound means that the repository does not exist, or is hidden from the credentials used.
	ErrRepositoryNotFound = errors.New("repository not found")
	// ErrBranchNotFound means that the repository has no such branch.
	ErrBranchNotFound = errors.New("branch not found")
	// ErrCommitNotFound means that the repository has no such commit, or that a shallow clone does not reach it.
	ErrCommitNotFound = errors.New("commit not found")
	// ErrPathNotFound means that a tree has no such file or folder.
	ErrPathNotFound = errors.New("path not found")
	// ErrDenied means that the remote, or the file system, denied access.
	ErrDenied = errors.New("access denied")
	// ErrUnavailable means that the remote cannot be reached now. Retrying may help.
	ErrUnavailable = errors.New("repository unavailable")
	// ErrNotWritten means that a folder could not be written: a file is at the path of a folder, or the disk is full.
	// The folder is unchanged.
	ErrNotWritten = errors.New("folder not written")
	// ErrCorrupt means that the repository's data is damaged.
	ErrCorrupt = errors.New("repository corrupt")
	// ErrEmpty means that the repository has no commit yet.
	ErrEmpty = errors.New("repository empty")
	// ErrMoved means that a branch is not where the caller expected it. Resolve it again and start over.
	ErrMoved = errors.New("branch moved")
	// ErrCheckedOut means that the branch is checked out in a work tree.
	ErrCheckedOut = errors.New("branch checked out")
	// ErrNothingToCommit means that the changes have no effect.
	ErrNothingToCommit = errors.New("nothing to commit")
	// ErrTooLarge means that content exceeds the limit given.
	ErrTooLarge = errors.New("content too large")
	// ErrInvalid means that the request can never succeed: a malformed URL, an unsafe path.
	ErrInvalid = errors.New("invalid request")
)

// ErrHeld is an [ErrUnavailable] that usually ends soon: another process moves the same branch.
// It stays if git was killed meanwhile.
var ErrHeld = reflock.ErrHeld

// Error describes what was attempted, where, what happened and what to do next.
// Its text never contains credentials.
type Error struct {
	// Kind is one of the Err variables of this package.
	Kind error
	// Op is the operation in plain verb form: "fetch", "read commit abc".
	Op string
	// Where is the repository, redacted.
	Where string
	// Detail is what happened. Empty if Kind is enough.
	Detail string
	// Hint is what to do next. Optional.
	Hint string
	// cause is set only where callers need it: the end of a context, [ErrHeld], a full disk.
	cause error
}

// Error returns `fetch "https://host/path": access denied: detail; hint`.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Where != "" {
		b.WriteString(" " + strconv.Quote(e.Where))
	}
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	b.WriteString(e.Kind.Error())
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

// Unwrap makes errors.Is match the kind, and the cause: context.Canceled, context.DeadlineExceeded, [ErrHeld] or syscall.ENOSPC.
func (e *Error) Unwrap() []error {
	if e.cause != nil {
		return []error{e.Kind, e.cause}
	}
	return []error{e.Kind}
}

// ended returns the error of a context if it is the cause of err, else nil.
func ended(ctx context.Context, err error) error {
	for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, end) {
			return end
		}
	}
	return ctx.Err()
}
