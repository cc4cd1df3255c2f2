package bitbucketserver_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/bitbucketserver"
	"github.com/kalypso-io/kalypso/internal/forge/bitbucketserver/bitbucketservertest"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
)

// world is a repository on a fake.
type world struct {
	*testing.T
	*bitbucketservertest.Server
	forgetest.Harness
	url  string
	repo *bitbucketserver.Repository
}

func newWorld(t *testing.T) *world {
	s, h := bitbucketservertest.Start(t)
	w := &world{T: t, Server: s, Harness: h, url: h.NewRepository(t)}
	r, err := h.Forge.Repository(w.url)
	w.must(err)
	w.repo = r.(*bitbucketserver.Repository)
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

func TestAddressesOfARepository(t *testing.T) {
	f, err := bitbucketserver.New(bitbucketserver.Options{URL: "https://bitbucket.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{
		"https://bitbucket.example.com/scm/PLAT/GitOps.git":                 "scm/plat/gitops",
		"https://bitbucket.example.com/projects/PLAT/repos/gitops":          "scm/plat/gitops",
		"https://bitbucket.example.com/projects/PLAT/repos/gitops/browse/x": "scm/plat/gitops",
		"ssh://git@bitbucket.example.com:7999/plat/gitops.git":              "scm/plat/gitops",
		"https://bitbucket.example.com/scm/~ada/mine.git":                   "scm/~ada/mine",
		"https://bitbucket.example.com/users/ada/repos/mine":                "scm/~ada/mine",
	} {
		r, err := f.Repository(url)
		if err != nil || r.ID().Path != want {
			t.Errorf("%s: got %v, %v", url, r, err)
		}
	}
	for _, url := range []string{"https://bitbucket.example.com/gitops", "https://bitbucket.example.com/a/b/c/d", "https://other.example.com/scm/plat/gitops"} {
		if _, err := f.Repository(url); !errors.Is(err, forge.ErrInvalid) {
			t.Errorf("%s: got %v", url, err)
		}
	}
}

// Both are 401: the account in the header tells them apart.
func TestAMissingPermissionIsNotAWrongToken(t *testing.T) {
	w := newWorld(t)
	for body, want := range map[bool]string{true: "REPO_READ", false: "a valid token"} {
		answer := []string{}
		if body {
			answer = []string{"X-AUSERNAME", "kalypso-bot"}
		}
		w.Fake.Faults.Inject(forgetest.Fault{Answer: forgetest.Answer(http.StatusUnauthorized, `{"errors":[{"message":"no"}]}`, answer...)})
		_, err := w.repo.FindPullRequests(t.Context(), forge.PullRequestFilter{})
		var e *forge.Error
		if !errors.As(err, &e) || !errors.Is(err, forge.ErrDenied) || e.Right != want {
			t.Errorf("got %v, want the right %q", err, want)
		}
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

func TestADescriptionEditedByAUserLabels(t *testing.T) {
	w := newWorld(t)
	c := w.open("labeled")
	w.World.Do(func() { w.Repo(w.url).PullRequest(c.Number).Body = "labels: kalypso/allow-deletions\n\nWhat changes" })
	got, err := w.repo.PullRequest(t.Context(), c.Number)
	w.must(err)
	if !got.HasLabel("kalypso/allow-deletions") || got.Body != "What changes" {
		t.Errorf("got %q, %q", got.Labels, got.Body)
	}
}

// A user changed the pull request after it was read: their change must not be lost.
func TestAnEditOfAnOlderVersionIsAConflict(t *testing.T) {
	w := newWorld(t)
	c := w.open("raced")
	w.Fake.Faults.Inject(forgetest.Fault{Method: "PUT", Answer: func(out http.ResponseWriter, r *http.Request) {
		forgetest.Answer(http.StatusConflict, `{"errors":[{"message":"out-of-date information","exceptionName":"PullRequestOutOfDateException"}]}`)(out, r)
	}})
	err := w.repo.EditPullRequest(t.Context(), c.Number, forge.PullRequestEdit{Title: new("Other")})
	if !errors.Is(err, forge.ErrConflict) {
		t.Errorf("got %v", err)
	}
}

// A push between reading and merging is merged, as Bitbucket has no expected head. It is told.
func TestAnotherMergedHeadIsAConflict(t *testing.T) {
	w := newWorld(t)
	c := w.open("pushed")
	w.Moved = func(r *forgetest.Repo, p *forgetest.PullRequest) { p.Head.Commit = strings.Repeat("e", 40) }
	_, err := w.repo.MergePullRequest(t.Context(), c.Number, forge.Merge{Head: c.Head.Commit})
	if !errors.Is(err, forge.ErrConflict) || !strings.Contains(err.Error(), "another head was merged") {
		t.Errorf("got %v", err)
	}
}

func TestTheAllowedStrategyIsUsed(t *testing.T) {
	w := newWorld(t)
	w.Strategies = []string{"rebase-no-ff"}
	c := w.open("rebased")
	if _, err := w.repo.MergePullRequest(t.Context(), c.Number, forge.Merge{Head: c.Head.Commit}); err != nil {
		t.Error(err)
	}
}

func TestALostAnswerOfAMergeIsNoError(t *testing.T) {
	w := newWorld(t)
	c := w.open("lost")
	w.Fake.Faults.Inject(forgetest.Fault{Method: "POST", Path: "/merge", After: true, Answer: forgetest.Answer(http.StatusBadGateway, "")})
	if commit, err := w.repo.MergePullRequest(t.Context(), c.Number, forge.Merge{Head: c.Head.Commit}); err != nil || commit == "" {
		t.Errorf("got %q, %v", commit, err)
	}
}

// The list of builds has those of the same commit in other repositories, where others may post them.
func TestStatusesOfOtherRepositoriesDoNotCount(t *testing.T) {
	w := newWorld(t)
	other := w.AddRepository("scm/strangers/fork")
	commit := w.Harness.Commit(t, w.url, "main")
	w.World.Push("scm/strangers/fork", "main", commit, "a-stranger")
	r, err := w.Forge.Repository(other)
	w.must(err)
	w.must(r.SetStatus(t.Context(), commit, forge.Status{Context: "kalypso/checks", State: forge.Success}))
	if got, err := w.repo.Statuses(t.Context(), commit); err != nil || len(got) != 0 {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestMarkersAreNotShown(t *testing.T) {
	w := newWorld(t)
	c := w.open("marked")
	_, err := w.repo.UpsertComment(t.Context(), c.Number, "kalypso/plan", "The plan")
	w.must(err)
	w.World.Do(func() {
		if text := w.Repo(w.url).PullRequest(c.Number).Comments[0].Body; strings.Contains(text, "<!--") {
			t.Errorf("pages show %q", text)
		}
	})
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

// A list that says that it goes on, but not where, ends instead of repeating its first page.
func TestHostilePagesEnd(t *testing.T) {
	w := newWorld(t)
	for body, want := range map[string]error{
		`{"values":[],"isLastPage":false,"nextPageStart":null}`: nil,
		`{"values":[],"isLastPage":"no","nextPageStart":7}`:     nil,
		`{"values":{"id":1},"isLastPage":true}`:                 forge.ErrUnavailable,
		`{"values":[{"id":"x"}]}`:                               forge.ErrUnavailable,
		`{"values":[],"isLastPage":false,"nextPageStart":0}`:    forge.ErrUnavailable, // for ever
	} {
		w.Fake.Faults.Clear()
		w.Fake.Faults.Inject(forgetest.Fault{Times: -1, Answer: forgetest.Answer(http.StatusOK, body)})
		if _, err := w.repo.FindPullRequests(t.Context(), forge.PullRequestFilter{}); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", body, err, want)
		}
	}
}

func TestPlainHTTPToOthersIsRefused(t *testing.T) {
	f, err := bitbucketserver.New(bitbucketserver.Options{URL: "http://bitbucket.example.com", Token: forge.NewSecret("t"), Transport: transport.Config{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Viewer(t.Context()); !errors.Is(err, forge.ErrDenied) {
		t.Errorf("got %v", err)
	}
}
