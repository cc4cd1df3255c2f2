package git

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/kalypso-io/kalypso/internal/git/reflock"
)

// The kinds of errors. Every error of this package is one of them, or the context's own; match with [errors.Is].
var (
	// ErrRepositoryNotFound means that there is no repository, or that the credentials used do not reveal it.
	ErrRepositoryNotFound = errors.New("repository not found")
	// ErrBranchNotFound means that the repository has no such branch.
	ErrBranchNotFound = errors.New("branch not found")
	// ErrCommitNotFound means that the repository has no such commit, or that a shallow clone does not reach it.
	ErrCommitNotFound = errors.New("commit not found")
	// ErrPathNotFound means that a tree has no such file or folder.
	ErrPathNotFound = errors.New("path not found")
	// ErrDenied means that the remote, or the file system, does not let us.
	ErrDenied = errors.New("access denied")
	// ErrUnavailable means that the remote cannot be reached now; trying again may help.
	ErrUnavailable = errors.New("repository unavailable")
	// ErrNotWritten means that a folder cannot hold what is to be written: something is in the way, or the disk is full.
	// The folder is as it was before.
	ErrNotWritten = errors.New("folder not written")
	// ErrCorrupt means that the repository's data is damaged.
	ErrCorrupt = errors.New("repository corrupt")
	// ErrEmpty means that the repository has no commit yet.
	ErrEmpty = errors.New("repository empty")
	// ErrMoved means that a branch is not where the caller believed it to be; resolve it again and start over.
	ErrMoved = errors.New("branch moved")
	// ErrCheckedOut means that somebody works on the branch in a work tree.
	ErrCheckedOut = errors.New("branch checked out")
	// ErrNothingToCommit means that the changes change nothing.
	ErrNothingToCommit = errors.New("nothing to commit")
	// ErrTooLarge means that content exceeds the limit given.
	ErrTooLarge = errors.New("content too large")
	// ErrInvalid means that what was asked for cannot be done anywhere: a malformed URL, an unsafe path.
	ErrInvalid = errors.New("invalid request")
)

// ErrHeld is an [ErrUnavailable] that is soon over, unless git was killed: another process moves the same branch.
var ErrHeld = reflock.ErrHeld

// Error says what was attempted, where, what came of it and what to do next.
// Its text never contains credentials.
type Error struct {
	// Kind is one of the Err variables of this package.
	Kind error
	// Op is the attempt in plain verb form: "fetch", "read commit abc".
	Op string
	// Where is the repository, redacted.
	Where string
	// Detail says what happened; empty means that Kind says it all.
	Detail string
	// Hint says what to do next; may be empty.
	Hint string
	// cause is kept only where callers need it: the end of a context, [ErrHeld].
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

// Unwrap makes errors.Is match the kind, and context.Canceled, context.DeadlineExceeded or [ErrHeld] where they are the reason.
func (e *Error) Unwrap() []error {
	if e.cause != nil {
		return []error{e.Kind, e.cause}
	}
	return []error{e.Kind}
}

// ended returns the error of a context that ended as the reason of err, else nil.
func ended(ctx context.Context, err error) error {
	for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, end) {
			return end
		}
	}
	return ctx.Err()
}
