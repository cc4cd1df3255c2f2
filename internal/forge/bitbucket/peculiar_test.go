package bitbucket_test

import (
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/bitbucket"
	"github.com/kalypso-io/kalypso/internal/forge/bitbucket/bitbuckettest"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
)

// world is a repository on a fake.
type world struct {
	*testing.T
	*bitbuckettest.Server
	forgetest.Harness
	url  string
	repo *bitbucket.Repository
}

func newWorld(t *testing.T) *world {
	s, h := bitbuckettest.Start(t)
	w := &world{T: t, Server: s, Harness: h, url: h.NewRepository(t)}
	r, err := h.Forge.Repository(w.url)
	w.must(err)
	w.repo = r.(*bitbucket.Repository)
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) open(head string) forge.PullRequest {
	w.Helper()
	w.Harness.Commit(w.T, w.url, head)
	c, err := w.repo.OpenPullRequest(w.Context(), forge.NewPullRequest{Head: head, Base: "main", Title: "Change " + head, Body: "What changes"})
	w.must(err)
	return c
}

// An API token needs the account that it belongs to; an access token has none.
func TestCredentials(t *testing.T) {
	w := newWorld(t)
	var sent []string
	for _, user := range []string{"", "ada@example.com"} {
		f := w.Connect(t, user, forgetest.Token, transport.Config{Clock: w.Fake.Clock})
		w.Fake.Faults.Inject(forgetest.Fault{Answer: func(out http.ResponseWriter, r *http.Request) {
			sent = append(sent, r.Header.Get("Authorization"))
			forgetest.Answer(http.StatusUnauthorized, `{"type":"error","error":{"message":"bad `+r.Header.Get("Authorization")+`"}}`)(out, r)
		}})
		_, err := f.Viewer(t.Context())
		if !errors.Is(err, forge.ErrDenied) || strings.Contains(err.Error(), sent[len(sent)-1]) || strings.Contains(err.Error(), forgetest.Token) {
			t.Errorf("got %v", err)
		}
	}
	want := []string{"Bearer " + forgetest.Token, "Basic " + base64.StdEncoding.EncodeToString([]byte("ada@example.com:"+forgetest.Token))}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Error(diff)
	}
}

// The token of a repository has no account that may be read.
func TestATokenWithoutAccount(t *testing.T) {
	w := newWorld(t)
	for _, status := range []int{http.StatusForbidden, http.StatusNotFound} {
		f := w.Connect(t, "", forgetest.Token, transport.Config{Clock: w.Fake.Clock})
		w.Fake.Faults.Inject(forgetest.Fault{Path: "/user", Answer: forgetest.Answer(status, `{}`)})
		if who, err := f.Viewer(t.Context()); who != "" || err != nil {
			t.Errorf("got %q, %v", who, err)
		}
	}
}

// The API abbreviates commits. Another commit with the same beginning must not pass for the one that was checked.
func TestCommitsAreWhole(t *testing.T) {
	w := newWorld(t)
	c := w.open("whole")
	if len(c.Head.Commit) != 40 {
		t.Errorf("got %q", c.Head.Commit)
	}
	alike := c.Head.Commit[:12] + strings.Repeat("0", 28)
	if _, err := w.repo.MergePullRequest(t.Context(), c.Number, forge.Merge{Head: alike}); !errors.Is(err, forge.ErrConflict) {
		t.Errorf("got %v", err)
	}
	for body, want := range map[string]error{`{"hash":"ffffffffffffffffffffffffffffffffffffffff"}`: forge.ErrUnavailable, `{}`: forge.ErrUnavailable} {
		other := w.Connect(t, "", forgetest.Token, transport.Config{Clock: w.Fake.Clock})
		r, err := other.Repository(w.url)
		w.must(err)
		w.Fake.Faults.Inject(forgetest.Fault{Path: "/commit/", Answer: forgetest.Answer(http.StatusOK, body)})
		if _, err := r.PullRequest(t.Context(), c.Number); !errors.Is(err, want) {
			t.Errorf("%s: got %v", body, err)
		}
	}
}

// The head of a fork that is hidden is not that of any commit that was checked.
func TestAHiddenForkHasNoWholeCommit(t *testing.T) {
	w := newWorld(t)
	number := w.Fork(t, w.url, "theirs")
	w.Fake.Faults.Inject(forgetest.Fault{Path: "/commit/", Times: -1, Answer: forgetest.Answer(http.StatusNotFound, `{}`)})
	c, err := w.repo.PullRequest(t.Context(), number)
	w.must(err)
	if len(c.Head.Commit) != 12 || c.Head.Fork == "" || c.Fetch != "" {
		t.Errorf("got %+v", c)
	}
}

func TestADeclinedPullRequestStaysDeclined(t *testing.T) {
	w := newWorld(t)
	c := w.open("declined")
	w.must(w.repo.EditPullRequest(t.Context(), c.Number, forge.PullRequestEdit{State: new(forge.Closed)}))
	w.must(w.repo.EditPullRequest(t.Context(), c.Number, forge.PullRequestEdit{State: new(forge.Closed)}))
	err := w.repo.EditPullRequest(t.Context(), c.Number, forge.PullRequestEdit{State: new(forge.Open)})
	if !errors.Is(err, forge.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}

func TestEditsKeepReviewersAndLabels(t *testing.T) {
	w := newWorld(t)
	w.DefaultReviewers = []string{"kalypso-bot", "a-person"} // the author cannot review
	c := w.open("reviewed")
	w.must(w.repo.AddLabels(t.Context(), c.Number, "kalypso/allow-deletions"))
	w.must(w.repo.EditPullRequest(t.Context(), c.Number, forge.PullRequestEdit{Body: new("Labels: `forged`\n\nother")}))
	got, err := w.repo.PullRequest(t.Context(), c.Number)
	w.must(err)
	if got.Body != "Labels: `forged`\n\nother" || !cmp.Equal(got.Labels, []string{"kalypso/allow-deletions"}) {
		t.Errorf("got %q with %q", got.Body, got.Labels)
	}
	if diff := cmp.Diff([]string{"a-person"}, w.Reviewers(w.url, c.Number)); diff != "" {
		t.Error(diff)
	}
}

func TestBranchesAreQuotedInConditions(t *testing.T) {
	w := newWorld(t)
	w.open("plain")
	for _, head := range []string{`x" OR state = "OPEN`, `a\`, `b\" OR "`} {
		if got, err := w.repo.FindPullRequests(t.Context(), forge.PullRequestFilter{Head: head}); err != nil || len(got) != 0 {
			t.Errorf("%s: got %+v, %v", head, got, err)
		}
	}
}

// A push between reading and merging is merged, as Bitbucket has no expected head. It is told.
func TestAnotherMergedHeadIsAConflict(t *testing.T) {
	w := newWorld(t)
	c := w.open("pushed")
	w.Moved = func(r *forgetest.Repo, p *forgetest.PullRequest) {
		p.Head.Commit = strings.Repeat("e", 40)
		p.Heads = append(p.Heads, forgetest.Head{Commit: p.Head.Commit, At: p.CreatedAt})
	}
	_, err := w.repo.MergePullRequest(t.Context(), c.Number, forge.Merge{Head: c.Head.Commit})
	if !errors.Is(err, forge.ErrConflict) || !strings.Contains(err.Error(), "another head was merged") {
		t.Errorf("got %v", err)
	}
}

func TestTheAllowedStrategyIsUsed(t *testing.T) {
	w := newWorld(t)
	w.Strategies = []string{"squash"}
	c := w.open("squashed")
	if _, err := w.repo.MergePullRequest(t.Context(), c.Number, forge.Merge{Head: c.Head.Commit}); err != nil {
		t.Error(err)
	}
}

// Checks that are missing are a conflict, which the API answers with 400.
func TestARefusedMergeIsAConflict(t *testing.T) {
	w := newWorld(t)
	c := w.open("refused")
	w.Fake.Faults.Inject(forgetest.Fault{Method: "POST", Path: "/merge", Answer: forgetest.Answer(http.StatusBadRequest,
		`{"type":"error","error":{"message":"1 failed merge check"}}`)})
	if _, err := w.repo.MergePullRequest(t.Context(), c.Number, forge.Merge{Head: c.Head.Commit}); !errors.Is(err, forge.ErrConflict) {
		t.Errorf("got %v", err)
	}
}

func TestLongContextsAreKept(t *testing.T) {
	w := newWorld(t)
	commit := w.Harness.Commit(t, w.url, "main")
	names := []string{strings.Repeat("a", 60), strings.Repeat("a", 61), "short"}
	for _, name := range names {
		w.must(w.repo.SetStatus(t.Context(), commit, forge.Status{Context: name, State: forge.Success}))
	}
	got, err := w.repo.Statuses(t.Context(), commit)
	w.must(err)
	if len(got) != 3 || got[0].Context != names[0] || got[1].Context != names[1] || got[2].Context != "short" {
		t.Errorf("got %+v", got)
	}
}

func TestAnApprovalWithoutHistoryNamesNoCommit(t *testing.T) {
	w := newWorld(t)
	w.Forgetful = true
	c := w.open("forgotten")
	w.Review(t, w.url, c.Number, forge.Approved)
	got, err := w.repo.Reviews(t.Context(), c.Number)
	w.must(err)
	if len(got) != 1 || got[0].Commit != "" || got[0].Unknown == "" {
		t.Errorf("got %+v", got)
	}
}

func TestThereAreNoIssues(t *testing.T) {
	w := newWorld(t)
	_, found := w.repo.FindIssues(t.Context(), forge.IssueFilter{})
	_, opened := w.repo.OpenIssue(t.Context(), forge.NewIssue{Title: "T"})
	for _, err := range []error{found, opened, w.repo.EditIssue(t.Context(), 1, forge.IssueEdit{})} {
		if !errors.Is(err, forge.ErrUnsupported) {
			t.Errorf("got %v", err)
		}
	}
}

// A link to the next page cannot lead to another host, nor for ever.
func TestHostilePagesEnd(t *testing.T) {
	w := newWorld(t)
	for body, want := range map[string]error{
		`{"values":[],"next":"::"}`:                               nil,
		`{"values":[],"next":7}`:                                  nil,
		`{"values":{"id":1}}`:                                     forge.ErrUnavailable,
		`{"values":[],"next":"https://evil.example.com/?page=1"}`: forge.ErrUnavailable, // for ever
	} {
		w.Fake.Faults.Clear()
		w.Fake.Faults.Inject(forgetest.Fault{Times: -1, Answer: forgetest.Answer(http.StatusOK, body)})
		if _, err := w.repo.FindPullRequests(t.Context(), forge.PullRequestFilter{}); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", body, err, want)
		}
	}
}
