package record

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// wanted is what a commit wants.
type wanted struct {
	// source is the promoted commit that it was made from; empty when unknown.
	source      string
	assignments []ledger.Assignment
	versions    []ledger.Version
	// environment is the one that the branch is of; empty when several share it.
	environment string
	problems    []fleet.Problem
}

// wanted reads what a commit wants.
func (r *recording) wanted(ctx context.Context, c Commit) (wanted, error) {
	read := &reading{recording: r, commit: c}
	steps := []func(context.Context) error{read.tracking, read.assignments}
	if r.branch.Kind == ledger.BranchApplication {
		steps[1] = read.versions
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return wanted{}, fmt.Errorf("read commit %s: %w", short(c.SHA), err)
		}
	}
	read.found.problems = fleet.SortProblems(read.found.problems)
	return read.found, nil
}

// reading is a commit that is being read.
type reading struct {
	*recording
	commit Commit
	found  wanted
}

// maxTracking is the most that is read of the file with the promoted commit.
const maxTracking = 4 << 10

var commitID = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

// tracking reads the promoted commit that the files were made from.
func (r *reading) tracking(ctx context.Context) error {
	file, ok, err := lookup(ctx, r.commit.Tree, bundle.TrackingPath)
	if !ok || file.Folder || err != nil {
		return err
	}
	content, err := r.commit.Tree.Read(ctx, file, maxTracking)
	if err != nil && !errors.Is(err, ErrTooLarge) {
		return err
	}
	if text := bytes.TrimSpace(content); commitID.Match(text) {
		r.found.source = string(text)
		return nil
	}
	r.problem(file, &unreadable{kind: fleet.KindInvalidValue, message: "it does not hold a commit id", hint: "write the commit that was promoted"})
	return nil
}

// problem notes what is wrong with a file.
func (r *reading) problem(file Entry, bad *unreadable) {
	r.found.problems = append(r.found.problems, fleet.Problem{
		Severity: fleet.SeverityWarning, Kind: bad.kind, Message: secret.Line(bad.message), Hint: bad.hint,
		Position: fleet.Position{Source: r.place(), File: secret.Line(file.Path), Line: bad.line},
	})
}

// place names the commit: the repository, and the branch with the commit.
func (r *reading) place() string {
	return fmt.Sprintf("%s %s@%s", secret.Redact(r.branch.Repository), secret.Line(r.branch.Branch), short(r.commit.SHA))
}

// belongTo decides of which environment the branch is: of the one that is named, if it is one.
func (r *reading) belongTo(environments map[string]bool) {
	delete(environments, "")
	for environment := range environments {
		if len(environments) == 1 {
			r.found.environment = environment
		}
	}
}

// unreadable is a file that does not say what it should.
type unreadable struct {
	kind    fleet.ProblemKind
	line    int
	message string
	hint    string
}

func (u *unreadable) Error() string { return u.message }

// maxBefore is how many commits back a file is looked for that can be read.
const maxBefore = 100

// parsed returns what a file says. Of one that cannot be read it is what it said when it could be read last; that is a problem.
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
	note.message += "; nothing is recorded of it"
	if since != "" {
		note.message = fmt.Sprintf("%s; what it said at %s counts", bad.message, short(since))
	}
	r.problem(file, &note)
	return value, nil
}

// before returns what a file said when it could be read last, and at which commit; empty when it never could.
// It goes back no further than to where the file did not exist: what had been there before counts no more.
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
