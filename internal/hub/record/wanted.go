package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// wanted is the content of a commit.
type wanted struct {
	// source is the promoted commit that it was rendered from; empty if unknown.
	source      string
	assignments []ledger.Assignment
	versions    []ledger.Version
	// environment is that of the branch; empty if several share it.
	environment string
	problems    []fleet.Problem
}

// wanted reads the content of a commit.
func (r *recording) wanted(ctx context.Context, c Commit) (wanted, error) {
	read := &reading{recording: r, commit: c, roots: map[string]bool{}}
	steps := []func(context.Context) error{read.assignments, read.tracking}
	if r.branch.Kind == ledger.BranchApplication {
		steps = []func(context.Context) error{read.tracking, read.versions}
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return wanted{}, fmt.Errorf("read commit %s: %w", fleet.ShortCommit(c.SHA), err)
		}
	}
	read.found.problems = fleet.SortProblems(read.found.problems)
	return read.found, nil
}

// reading is a commit that is being read.
type reading struct {
	*recording
	commit Commit
	// roots are the folders with inventories of a platform branch.
	roots map[string]bool
	found wanted
}

// maxTracking limits the file with the promoted commit, in bytes.
const maxTracking = 4 << 10

var commitID = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

// tracking reads the promoted commit that the files were rendered from. Environments that share a branch have a tracking
// file each, below their paths. If their commits differ, that of the branch is unknown.
func (r *reading) tracking(ctx context.Context) error {
	commits := map[string]bool{}
	for _, root := range slices.Sorted(maps.Keys(r.roots)) {
		if err := r.trackingAt(ctx, path.Join(root, bundle.TrackingPath), commits); err != nil {
			return err
		}
	}
	if len(commits) == 0 && !r.roots[""] {
		if err := r.trackingAt(ctx, bundle.TrackingPath, commits); err != nil {
			return err
		}
	}
	for commit := range commits {
		if len(commits) == 1 {
			r.found.source = commit
		}
	}
	return nil
}

// trackingAt adds the commit in a tracking file, if the file exists.
func (r *reading) trackingAt(ctx context.Context, at string, commits map[string]bool) error {
	file, ok, err := lookup(ctx, r.commit.Tree, at)
	if !ok || file.Folder || err != nil {
		return err
	}
	content, err := r.commit.Tree.Read(ctx, file, maxTracking)
	if err != nil && !errors.Is(err, ErrTooLarge) {
		return err
	}
	if text := bytes.TrimSpace(content); commitID.Match(text) {
		commits[string(text)] = true
		return nil
	}
	r.problem(file, &unreadable{kind: fleet.KindInvalidValue, message: "the file does not contain a commit id", hint: "write the commit that was promoted"})
	return nil
}

// problem adds a problem of a file.
func (r *reading) problem(file Entry, bad *unreadable) {
	r.found.problems = append(r.found.problems, fleet.Problem{
		Severity: fleet.SeverityWarning, Kind: bad.kind, Message: secret.Line(bad.message), Hint: bad.hint,
		Position: fleet.Position{Source: r.place(), File: secret.Line(file.Path), Line: bad.line},
	})
}

// place returns repository, branch and commit for messages.
func (r *reading) place() string {
	return fmt.Sprintf("%s %s@%s", secret.Redact(r.branch.Repository), secret.Line(r.branch.Branch), fleet.ShortCommit(r.commit.SHA))
}

// belongTo sets the environment of the branch if there is exactly one.
func (r *reading) belongTo(environments map[string]bool) {
	delete(environments, "")
	for environment := range environments {
		if len(environments) == 1 {
			r.found.environment = environment
		}
	}
}

// unreadable is a problem of a file.
type unreadable struct {
	kind    fleet.ProblemKind
	line    int
	message string
	hint    string
}

func (u *unreadable) Error() string { return u.message }

// maxBefore is how many commits are searched for a readable version of a file.
const maxBefore = 100

// parsed returns the content of a file. For an unreadable file it adds a problem and returns the last readable content.
func parsed[T any](ctx context.Context, r *reading, file Entry, parse func(context.Context, Tree, Entry) (T, error)) (T, error) {
	value, err := parse(ctx, r.commit.Tree, file)
	var bad *unreadable
	if !errors.As(err, &bad) {
		return value, err
	}
	value, since, err := before(ctx, r, file, parse)
	if err != nil {
		return value, err
	}
	note := *bad
	note.message += "; the file is ignored"
	if since != "" {
		note.message = fmt.Sprintf("%s; its content at %s counts", bad.message, fleet.ShortCommit(since))
	}
	r.problem(file, &note)
	return value, nil
}

// before returns the last readable content of a file and its commit; empty if there is none.
// It stops at a commit without the file.
func before[T any](ctx context.Context, r *reading, file Entry, parse func(context.Context, Tree, Entry) (T, error)) (value T, since string, err error) {
	history, _, err := r.Repositories.History(ctx, r.url, r.commit, nil, maxBefore)
	if err != nil {
		return value, "", err
	}
	for _, c := range history[min(1, len(history)):] {
		old, ok, err := lookup(ctx, c.Tree, file.Path)
		if !ok || err != nil {
			return value, "", err
		}
		said, err := parse(ctx, c.Tree, old)
		var bad *unreadable
		if !errors.As(err, &bad) {
			return said, c.SHA, err
		}
	}
	return value, "", nil
}
