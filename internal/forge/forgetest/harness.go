package forgetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Harness is a forge to try the rules on.
type Harness struct {
	// Forge is what is tried, with a credential that may do everything.
	Forge forge.Forge // required
	// NewRepository creates a repository whose branch main has a commit, and returns its URL.
	// Nobody else works in it.
	NewRepository func(t *testing.T) string // required
	// Commit adds a commit to a branch and returns it. A branch that does not exist starts at main.
	Commit func(t *testing.T, url, branch string) string // required

	// Fork opens a pull request to main, from a branch of a fork that somebody else has, and returns its number; may be nil.
	Fork func(t *testing.T, url, branch string) int

	// Notes returns what is shown at places of a pull request; nil skips the rules about annotations.
	Notes func(t *testing.T, url string, change int) []Note
	// Put adds a commit with a file to a branch; nil for forges that do not look into files.
	Put func(t *testing.T, url, branch, file, text string)

	// Person is the same forge, seen with the credential of somebody else who may write everywhere; may be nil.
	Person forge.Forge
	// Weak is the same forge, seen with a credential that may only read; may be nil.
	Weak forge.Forge
	// Owner is where repositories may be created; empty skips that rule.
	Owner string
	// Unsigned says that deliveries carry the secret itself and no signature of the body.
	Unsigned bool
	// Eventually tries until done, for forges that do things in the background. Nil tries once.
	Eventually func(t *testing.T, done func() bool)
	// Fake is how to make the forge fail; nil for a real one.
	Fake *Fake
}

// Fake is a forge that fails on command.
type Fake struct {
	Faults *Faults // required
	// Clock is that of the adapter's transport.
	Clock *Clock // required
	// RateLimits are the ways in which this forge says that it was asked too much, by name, each with a time to wait.
	RateLimits map[string]func(wait time.Duration) Fault // required
	// Impatient is the same forge, seen through a transport with a very short timeout.
	Impatient forge.Forge // required
	// Stranger is the same forge, seen with a token that it does not know.
	Stranger forge.Forge // required
	// Secrets are what the credential of [Harness.Forge] consists of, which no error may contain.
	Secrets []string // required
}

// suite is what a rule works with.
type suite struct {
	*testing.T
	Harness
	ctx  context.Context
	url  string
	repo forge.Repository
}

func newSuite(t *testing.T, h Harness) *suite {
	s := &suite{T: t, Harness: h, ctx: t.Context(), url: h.NewRepository(t)}
	s.repo = s.as(h.Forge)
	return s
}

// as returns the repository as another credential sees it.
func (s *suite) as(f forge.Forge) forge.Repository {
	s.Helper()
	r, err := f.Repository(s.url)
	s.must(err)
	return r
}

func (s *suite) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// wantKind checks an error's kind, and that it is one of package forge.
func (s *suite) wantKind(err, kind error) *forge.Error {
	s.Helper()
	var known *forge.Error
	if !errors.Is(err, kind) || !errors.As(err, &known) {
		s.Fatalf("got %v, want a *forge.Error that is %q", err, kind)
	}
	if known.Op == "" {
		s.Errorf("%v does not say what was attempted", err)
	}
	return known
}

// eventually tries until done, where the forge does things in the background.
func (s *suite) eventually(what string, done func() bool) {
	s.Helper()
	if s.Eventually != nil {
		s.Eventually(s.T, done)
		return
	}
	if !done() {
		s.Fatal(what)
	}
}

// open commits to a branch and opens a pull request from it to main.
func (s *suite) open(head string) forge.PullRequest {
	s.Helper()
	s.Commit(s.T, s.url, head)
	c, err := s.repo.OpenPullRequest(s.ctx, forge.NewPullRequest{Head: head, Base: "main", Title: "Change " + head, Body: "What " + head + " does."})
	s.must(err)
	return c
}

func (s *suite) change(number int) forge.PullRequest {
	s.Helper()
	c, err := s.repo.PullRequest(s.ctx, number)
	s.must(err)
	return c
}

func (s *suite) find(f forge.PullRequestFilter) []int {
	s.Helper()
	changes, err := s.repo.FindPullRequests(s.ctx, f)
	s.must(err)
	numbers := []int{}
	for _, c := range changes {
		numbers = append(numbers, c.Number)
	}
	return numbers
}

// merge merges a pull request, as soon as a forge that thinks in the background is ready for it.
func (s *suite) merge(r forge.Repository, c forge.PullRequest) string {
	s.Helper()
	var commit string
	var err error
	s.eventually("the change cannot be merged", func() bool {
		commit, err = r.MergePullRequest(s.ctx, c.Number, forge.Merge{Head: c.Head.Commit})
		return err == nil || !errors.Is(err, forge.ErrConflict)
	})
	s.must(err)
	return commit
}

// can finds an optional ability, or skips the rule.
func can[A any](s *suite, of any) A {
	s.Helper()
	ability, ok := of.(A)
	if !ok {
		s.Skipf("%T does not have this ability", of)
	}
	return ability
}
