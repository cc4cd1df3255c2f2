package forgetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
)

// Harness is a forge to run the rules against.
type Harness struct {
	// Forge is the forge under test, with a credential that has all permissions.
	Forge forge.Forge // required
	// NewRepository creates a repository whose branch main has a commit, and returns its URL.
	// No other client uses it.
	NewRepository func(t *testing.T) string // required
	// Commit adds a commit to a branch and returns it. A branch that does not exist starts at main.
	Commit func(t *testing.T, url, branch string) string // required

	// Fork opens a pull request to main from a branch of another account's fork, and returns its number. Optional.
	Fork func(t *testing.T, url, branch string) int

	// Notes returns the comments at lines of a pull request. Nil skips the rules about annotations.
	Notes func(t *testing.T, url string, number int) []Note
	// Put adds a commit with a file to a branch. Nil for forges that do not read files.
	Put func(t *testing.T, url, branch, file, text string)

	// Review decides about a pull request at its head, as the account of Person. An empty decision is a comment. It returns false if
	// the forge has no such decision. Nil skips the rules about reviews.
	Review func(t *testing.T, url string, number int, d forge.ReviewDecision) bool

	// Queue makes a repository merge through a queue, and returns a function that lets the queue merge what it has tested. Statuses do that
	// too. Nil for forges without a queue.
	Queue func(t *testing.T, url string) (finish func())

	// Person is the same forge with another user's credential, which can write everywhere. Optional.
	Person forge.Forge
	// Weak is the same forge with a read-only credential. Optional.
	Weak forge.Forge
	// Owner is where repositories can be created. If empty, that rule is skipped.
	Owner string
	// Unsigned means that deliveries carry the secret itself, without a signature of the body.
	Unsigned bool
	// Undelivered are the kinds of events that the forge does not deliver.
	Undelivered []forge.EventKind
	// MostStatuses is how many contexts of a commit the forge lists at most; 0 means no limit.
	MostStatuses int
	// Remote means that the forge cannot send deliveries to this machine.
	Remote bool
	// Eventually retries until done, for forges that work in the background. Nil tries once.
	Eventually func(t *testing.T, done func() bool)
	// Fake makes the forge fail. Nil for a real forge.
	Fake *Fake
}

// Fake controls a forge that fails on demand.
type Fake struct {
	Faults *Faults // required
	// Clock is the clock of the adapter's transport.
	Clock *Clock // required
	// RateLimits are the forge's ways to signal a rate limit, by name, each with a time to wait.
	RateLimits map[string]func(wait time.Duration) Fault // required
	// Impatient is the same forge through a transport with a very short timeout.
	Impatient forge.Forge // required
	// Unknown is the same forge with an unknown token.
	Unknown forge.Forge // required
	// Secrets are the parts of [Harness.Forge]'s credential. No error may contain them.
	Secrets []string // required
}

// suite is the environment of a rule.
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

// wantKind checks that an error is a *forge.Error of a kind.
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

// eventually retries until done, for forges that work in the background.
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

// reopen opens a closed pull request again, or skips the rest of the rule if the forge cannot.
func (s *suite) reopen(number int) {
	s.Helper()
	err := s.repo.EditPullRequest(s.ctx, number, forge.PullRequestEdit{State: new(forge.Open)})
	if errors.Is(err, forge.ErrUnsupported) {
		s.Skip(err)
	}
	s.must(err)
}

func (s *suite) pullRequest(number int) forge.PullRequest {
	s.Helper()
	c, err := s.repo.PullRequest(s.ctx, number)
	s.must(err)
	return c
}

func (s *suite) find(f forge.PullRequestFilter) []int {
	s.Helper()
	found, err := s.repo.FindPullRequests(s.ctx, f)
	s.must(err)
	numbers := []int{}
	for _, c := range found {
		numbers = append(numbers, c.Number)
	}
	return numbers
}

// merge merges a pull request, as soon as the forge is ready for it.
func (s *suite) merge(r forge.Repository, c forge.PullRequest) string {
	s.Helper()
	var commit string
	var err error
	s.eventually("the pull request cannot be merged", func() bool {
		commit, err = r.MergePullRequest(s.ctx, c.Number, forge.Merge{Head: c.Head.Commit})
		return err == nil || !errors.Is(err, forge.ErrConflict)
	})
	s.must(err)
	return commit
}

// can returns an optional ability, or skips the rule.
func can[A any](s *suite, of any) A {
	s.Helper()
	ability, ok := of.(A)
	if !ok {
		s.Skipf("%T does not have this ability", of)
	}
	return ability
}

// Eventually retries, since a real forge works in the background.
func Eventually(t *testing.T, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for !done() {
		if (transport.SystemClock{}).Sleep(ctx, 100*time.Millisecond) != nil {
			t.Fatal("not done in time")
		}
	}
}
