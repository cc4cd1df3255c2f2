package pullrequest_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/github"
	"github.com/kalypso-io/kalypso/internal/forge/github/githubtest"
	"github.com/kalypso-io/kalypso/internal/forge/gitlab/gitlabtest"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
)

// committer commits to the branch of a fake. A commit with the same files is the same commit.
type committer struct {
	fake   *forgetest.Server
	url    string
	branch string
	made   string
}

func (c *committer) Commit(context.Context, pullrequest.Commit) (string, error) {
	if c.made == "" {
		c.made = c.fake.Commit(c.url, c.branch)
	}
	return c.made, nil
}

func (c *committer) Head(context.Context, string, string) (string, error)       { return c.made, nil }
func (c *committer) Push(context.Context, string, string, string, string) error { return nil }

// merging is an automatic merge on a GitHub whose clock does not move, and a clock of ours.
type merging struct {
	*githubtest.Fake
	t      *testing.T
	repo   forge.Repository
	commit *committer
	now    time.Time
	manual bool // a user merges
}

func newMerging(t *testing.T) *merging {
	t.Helper()
	fake := githubtest.New(t)
	url := fake.AddRepository("acme/gitops")
	fake.Commit(url, "dev")
	repo, err := fake.Forge(t, github.Options{Token: forge.NewSecret(githubtest.Token)}).Repository(url)
	if err != nil {
		t.Fatal(err)
	}
	m := &merging{Fake: fake, t: t, repo: repo, commit: &committer{fake: fake.Server, url: url, branch: "kalypso/dev"}}
	m.round() // pushes and opens
	m.now = m.Fake.World.Repo("acme/gitops").PullRequest(1).CreatedAt
	return m
}

// round returns the pull request after a round.
func (m *merging) round() *pullrequest.PullRequest {
	m.t.Helper()
	p := &pullrequest.PullRequest{
		Repository: m.repo, Committer: m.commit, URL: m.commit.url, Base: "dev", Commit: "base", Head: "kalypso/dev", Name: "dev",
		Settle: time.Minute, Now: func() time.Time { return m.now },
		Fork: func(context.Context, string, string) (string, error) { return "", errors.New("not needed") },
	}
	if err := p.Find(m.t.Context()); err != nil {
		m.t.Fatal(err)
	}
	err := p.Propose(m.t.Context(), pullrequest.Proposal{
		Title: "dev: 1 added", Body: func(int) string { return "the plan" }, Digest: "d",
		Statuses:       []forge.Status{{Context: "kalypso/checks", State: forge.Success}},
		RequiredChecks: []string{"kalypso/checks"}, AutoMerge: !m.manual,
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return p
}

// runs sets the state of the CI run of the head; empty if CI has not started.
func (m *merging) runs(status, conclusion string) {
	run := map[string]any{"id": 1, "name": "build", "status": status, "conclusion": nil}
	if conclusion != "" {
		run["conclusion"] = conclusion
	}
	m.CheckRuns = map[string][]map[string]any{m.commit.made: {run}}
}

func (m *merging) wantOpen(p *pullrequest.PullRequest, waits string) {
	m.t.Helper()
	if p.Open.State != forge.Open || !strings.HasPrefix(p.Waits, waits) {
		m.t.Fatalf("%s, waits %q, want %q; did %v", p.Open.State, p.Waits, waits, p.Did)
	}
}

func (m *merging) wantMerged(p *pullrequest.PullRequest) {
	m.t.Helper()
	if p.Open.State != forge.Merged || !p.Next.IsZero() {
		m.t.Fatalf("%s, waits %q until %v; did %v", p.Open.State, p.Waits, p.Next, p.Did)
	}
}

// CI starts some time after a push. Until then, a commit without checks is not one whose checks have succeeded.
func TestMergeWaitsForChecksThatAppearLate(t *testing.T) {
	m := newMerging(t)
	m.now = m.now.Add(5 * time.Second)
	p := m.round()
	m.wantOpen(p, "checks of the commit may still appear, until ")
	if wait := p.Next.Sub(m.now); wait <= 0 || wait > time.Minute {
		t.Errorf("the next round is in %v", wait)
	}
	m.runs("queued", "")
	m.now = m.now.Add(time.Hour)
	m.wantOpen(m.round(), "status build is pending")
	m.runs("completed", "failure")
	m.wantOpen(m.round(), "status build is failure")
	m.runs("completed", "success")
	m.wantMerged(m.round())
}

// A check that was seen ends the wait: CI has started.
func TestMergeDoesNotWaitLongerOnceAChecksWasSeen(t *testing.T) {
	m := newMerging(t)
	m.runs("completed", "success")
	m.wantMerged(m.round())
}

func TestMergeWithoutCIWaitsOnce(t *testing.T) {
	m := newMerging(t)
	m.wantOpen(m.round(), "checks of the commit may still appear")
	m.now = m.now.Add(2 * time.Minute)
	m.wantMerged(m.round())
}

// The wait starts over when the head moves, since CI starts over.
func TestMergeWaitsAgainAfterAPush(t *testing.T) {
	m := newMerging(t)
	m.now = m.now.Add(2 * time.Minute)
	m.commit.made = ""
	m.World.Do(func() { m.World.Wait(2 * time.Minute) })
	m.Commit(m.commit.url, "dev")
	m.wantOpen(m.round(), "checks of the commit may still appear")
}

// A forge whose clock is ahead, or whose lists are late, makes the wait start now.
func TestMergeWaitsWhileTheForgeIsLate(t *testing.T) {
	m := newMerging(t)
	m.now = m.now.Add(2 * time.Minute)
	m.Faults.Inject(forgetest.Fault{Path: "/status", Answer: forgetest.Answer(200, `{"statuses":[]}`)})
	m.wantOpen(m.round(), "checks of the commit may still appear")
	m.wantMerged(m.round())
}

// GitHub refuses automatic merges by default, and where it sees nothing to wait for. Then Kalypso merges when everything succeeded.
func TestMergeWhereTheForgeCannotMergeLater(t *testing.T) {
	for _, refusal := range []string{
		"Pull request Auto merge is not allowed for this repository",
		"Pull request Protected branch rules not configured for this branch",
		"Pull request is in unstable status",
	} {
		m := newMerging(t)
		if err := m.repo.(forge.Protector).Protect(t.Context(), "dev", forge.Protection{Checks: []string{"build", "kalypso/checks"}}); err != nil {
			t.Fatal(err)
		}
		m.Faults.Inject(forgetest.Fault{Path: "/graphql", Times: -1, Answer: forgetest.Answer(200,
			`{"data":{"enablePullRequestAutoMerge":null},"errors":[{"type":"UNPROCESSABLE","message":"`+refusal+`"}]}`)})
		m.runs("in_progress", "")
		m.wantOpen(m.round(), "status build is pending")
		m.runs("completed", "success")
		if err := m.repo.SetStatus(t.Context(), m.commit.made, forge.Status{Context: "build", State: forge.Success}); err != nil {
			t.Fatal(err)
		}
		m.wantMerged(m.round())
		if requests := m.Faults.Requests("PUT"); !slices.ContainsFunc(requests, func(r string) bool { return strings.HasSuffix(r, "/merge") }) {
			t.Errorf("%s: requests %v", refusal, requests)
		}
	}
}

// A branch with a merge queue refuses merges. The pull request is added to the queue, which merges it later.
func TestMergeQueue(t *testing.T) {
	for answer, waits := range map[string]string{
		`{"data":{"enqueuePullRequest":{"clientMutationId":null}}}`:                                             "it is in the merge queue",
		`{"errors":[{"type":"UNPROCESSABLE","message":"Pull request is already in the merge queue"}]}`:          "it is in the merge queue",
		`{"errors":[{"type":"UNPROCESSABLE","message":"Pull request is not mergeable: a review is required"}]}`: "it cannot be added to the merge queue: Pull request is not mergeable",
	} {
		m := newMerging(t)
		m.Faults.Inject(forgetest.Fault{Method: "PUT", Times: -1, Answer: forgetest.Answer(405, `{"message":"Changes must be made through the merge queue"}`)})
		m.Faults.Inject(forgetest.Fault{Path: "/graphql", Times: -1, Answer: forgetest.Answer(200, answer)})
		_, err := m.repo.MergePullRequest(t.Context(), 1, forge.Merge{Head: m.commit.made})
		if !errors.Is(err, forge.ErrConflict) || !strings.Contains(err.Error(), waits) {
			t.Errorf("got %v, want %q", err, waits)
		}
	}
}

// A check that the branch does not require is not the forge's to wait for.
func TestTheForgeIsNotAskedWhileAnotherCheckRuns(t *testing.T) {
	m := newMerging(t)
	if err := m.repo.(forge.Protector).Protect(t.Context(), "dev", forge.Protection{Checks: []string{"kalypso/checks"}}); err != nil {
		t.Fatal(err)
	}
	m.runs("in_progress", "")
	m.wantOpen(m.round(), "status build is pending")
	m.runs("completed", "success")
	m.round()
	if state := m.World.Repo("acme/gitops").PullRequest(1).State; state != forge.Merged {
		t.Errorf("the pull request is %s", state)
	}
}

// A rate limit of GraphQL comes with status 200. It is not a conflict that lasts.
func TestRateLimitOfLaterMergesIsNoConflict(t *testing.T) {
	m := newMerging(t)
	m.Faults.Inject(forgetest.Fault{Path: "/graphql", Answer: forgetest.Answer(200, `{"errors":[{"type":"RATE_LIMITED","message":"API rate limit exceeded"}]}`)})
	err := m.repo.(forge.AutoMerger).AutoMerge(t.Context(), 1, forge.Merge{Head: m.commit.made})
	var limited *forge.Error
	if !errors.As(err, &limited) || !errors.Is(err, forge.ErrRateLimited) || limited.RetryAfter == 0 {
		t.Errorf("got %v", err)
	}
}

// A forge may not know a branch that was pushed just now, or list a pull request that was opened just now. Both pass.
func TestPullRequestThatCannotBeOpenedYet(t *testing.T) {
	for name, refusal := range map[string]string{
		"the branch is not known": `{"message":"Validation Failed","errors":[{"resource":"PullRequest","code":"custom","message":"No commits between dev and kalypso/dev"}]}`,
		"the list is late":        `{"message":"Validation Failed","errors":[{"resource":"PullRequest","code":"custom","message":"A pull request already exists for acme:kalypso/dev."}]}`,
	} {
		fake := githubtest.New(t)
		url := fake.AddRepository("acme/gitops")
		fake.Commit(url, "dev")
		repo, err := fake.Forge(t, github.Options{Token: forge.NewSecret(githubtest.Token)}).Repository(url)
		if err != nil {
			t.Fatal(err)
		}
		fake.Faults.Inject(forgetest.Fault{Method: "POST", Path: "/pulls", Answer: forgetest.Answer(422, refusal)})
		c := &committer{fake: fake.Server, url: url, branch: "kalypso/dev"}
		propose := func() error {
			p := &pullrequest.PullRequest{Repository: repo, Committer: c, URL: url, Base: "dev", Commit: "base", Head: "kalypso/dev", Name: "dev"}
			if err := p.Find(t.Context()); err != nil {
				t.Fatal(err)
			}
			return p.Propose(t.Context(), pullrequest.Proposal{Title: "T", Digest: "d", Body: func(int) string { return "text" }})
		}
		if err := propose(); !errors.Is(err, pullrequest.ErrMoved) {
			t.Errorf("%s: got %v, want that the next round tries again", name, err)
		}
		if err := propose(); err != nil {
			t.Errorf("%s: the next round: %v", name, err)
		}
	}
}

// Some roles of GitLab may not set statuses on protected branches. Rounds say so once, and go on.
func TestDeniedStatuses(t *testing.T) {
	fake := gitlabtest.New(t)
	url := fake.AddRepository("platform/gitops")
	fake.Commit(url, "dev")
	repo, err := fake.Connect(t, forgetest.Token, transport.Config{}).Repository(url)
	if err != nil {
		t.Fatal(err)
	}
	c := &committer{fake: fake.Server, url: url, branch: "kalypso/dev"}
	round := func(state forge.StatusState) (*pullrequest.PullRequest, error) {
		p := &pullrequest.PullRequest{Repository: repo, Committer: c, URL: url, Base: "dev", Commit: "base", Head: "kalypso/dev", Name: "dev"}
		if err := p.Find(t.Context()); err != nil {
			t.Fatal(err)
		}
		return p, p.Propose(t.Context(), pullrequest.Proposal{
			Title: "T", Digest: "d", Body: func(int) string { return "text" },
			Statuses: []forge.Status{{Context: "kalypso/checks", State: state}, {Context: "kalypso/deletions", State: forge.Success}},
		})
	}
	fake.Faults.Inject(forgetest.Fault{Method: "POST", Path: "/statuses/", Times: -1, Answer: forgetest.Answer(403, `{"message":"403 Forbidden"}`)})
	if p, err := round(forge.Failure); !errors.Is(err, forge.ErrDenied) || p.Open != nil {
		t.Errorf("a status that prevents a merge: got %v, open %v", err, p.Open)
	}
	fake.Faults.Clear()
	fake.Faults.Inject(forgetest.Fault{Method: "POST", Path: "/statuses/", Times: -1, Answer: forgetest.Answer(403, `{"message":"403 Forbidden"}`)})
	p, err := round(forge.Success)
	if err != nil {
		t.Fatal(err)
	}
	comments, err := repo.Comments(t.Context(), p.Open.Number)
	if err != nil || len(comments) != 1 || !strings.Contains(comments[0].Body, "the right to push or merge") || !strings.Contains(comments[0].Body, "kalypso/deletions") {
		t.Errorf("got %+v, %v", comments, err)
	}
	if posts := fake.Faults.Requests("POST /api/v4/projects/platform/gitops/statuses"); len(posts) != 1 {
		t.Errorf("sent %q", posts)
	}
	if p, err := round(forge.Success); err != nil || len(p.Did) != 0 {
		t.Errorf("the next round: %v, did %q", err, p.Did)
	}
}
