package gitlab_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/gitlab"
	"github.com/kalypso-io/kalypso/internal/forge/gitlab/gitlabtest"
)

// world is a project on a fake, with what the tests need.
type world struct {
	*testing.T
	*gitlabtest.Server
	forgetest.Harness
	url  string
	repo *gitlab.Repository
}

func newWorld(t *testing.T) *world {
	t.Helper()
	s, h := gitlabtest.Start(t)
	w := &world{T: t, Server: s, Harness: h, url: h.NewRepository(t)}
	r, err := h.Forge.Repository(w.url)
	w.must(err)
	w.repo = r.(*gitlab.Repository)
	return w
}

func (w *world) must(err error) {
	w.T.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) open(head string) forge.PullRequest {
	w.T.Helper()
	w.Server.Commit(w.url, head)
	c, err := w.repo.OpenPullRequest(w.Context(), forge.NewPullRequest{Head: head, Base: "main", Title: "Change " + head})
	w.must(err)
	return c
}

func (w *world) set(commit string, s forge.Status) {
	w.T.Helper()
	w.must(w.repo.SetStatus(w.Context(), commit, s))
}

func (w *world) state(number int) forge.State {
	w.T.Helper()
	c, err := w.repo.PullRequest(w.Context(), number)
	w.must(err)
	return c.State
}

func TestProtectionIsReadAsItWasSet(t *testing.T) {
	w := newWorld(t)
	for _, tc := range []struct{ set, want forge.Protection }{
		{forge.Protection{}, forge.Protection{}},
		{forge.Protection{PullRequestsOnly: true}, forge.Protection{PullRequestsOnly: true}},
		{forge.Protection{CodeOwners: true}, forge.Protection{CodeOwners: true}},
		{forge.Protection{PullRequestsOnly: true, CodeOwners: true}, forge.Protection{PullRequestsOnly: true, CodeOwners: true}},
		{forge.Protection{}, forge.Protection{}},
		{forge.Protection{Approvals: 1}, forge.Protection{Approvals: 1}},
		{forge.Protection{Approvals: 2, Checks: []string{"ci"}}, forge.Protection{Approvals: 2, Checks: []string{gitlab.AllChecks}}},
		// Project settings are never relaxed.
		{forge.Protection{Approvals: 1}, forge.Protection{Approvals: 2, Checks: []string{gitlab.AllChecks}}},
		{forge.Protection{}, forge.Protection{Approvals: 2, Checks: []string{gitlab.AllChecks}}},
	} {
		w.must(w.repo.Protect(w.Context(), "main", tc.set))
		got, err := w.repo.Protection(w.Context(), "main")
		w.must(err)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%+v: %s", tc.set, diff)
		}
	}
}

func TestProtectingTwiceWritesOnce(t *testing.T) {
	w := newWorld(t)
	p := forge.Protection{PullRequestsOnly: true, Approvals: 1, Checks: []string{"ci"}}
	w.must(w.repo.Protect(w.Context(), "main", p))
	w.Faults.Clear()
	w.must(w.repo.Protect(w.Context(), "main", p))
	for _, r := range w.Faults.Requests("") {
		if !strings.HasPrefix(r, "GET ") {
			t.Errorf("wrote %s", r)
		}
	}
}

func TestUserSettingsAreKept(t *testing.T) {
	w := newWorld(t)
	w.ProtectByHand(w.url, "main", 40, 40)
	w.must(w.repo.Protect(w.Context(), "main", forge.Protection{}))
	if got, want := w.Protected(w.url, "main"), "push 40, merge 40"; got != want {
		t.Errorf("nothing required: got %s, want %s", got, want)
	}
	w.must(w.repo.Protect(w.Context(), "main", forge.Protection{PullRequestsOnly: true}))
	if got, want := w.Protected(w.url, "main"), "push 0, merge 40"; got != want {
		t.Errorf("only pull requests required: got %s, want %s", got, want)
	}
}

func TestAllowedFailuresDoNotBlock(t *testing.T) {
	w := newWorld(t)
	commit := w.Server.Commit(w.url, "main")
	for shape, want := range map[string]forge.StatusState{
		`{"name":"j","status":"failed","allow_failure":true}`:  forge.Success,
		`{"name":"j","status":"manual","allow_failure":true}`:  forge.Success,
		`{"name":"j","status":"skipped"}`:                      forge.Success,
		`{"name":"j","status":"failed"}`:                       forge.Failure,
		`{"name":"j","status":"manual"}`:                       forge.Pending,
		`{"name":"j","status":"running","allow_failure":true}`: forge.Pending,
		`{"name":"j","status":"waiting_for_resource"}`:         forge.Pending,
	} {
		w.Faults.Inject(forgetest.Fault{Answer: forgetest.Answer(http.StatusOK, "["+shape+"]")})
		got, err := w.repo.Statuses(w.Context(), commit)
		w.must(err)
		if len(got) != 1 || got[0].State != want {
			t.Errorf("%s: got %+v, want %s", shape, got, want)
		}
	}
}

func TestPremiumFeatures(t *testing.T) {
	w := newWorld(t)
	w.Premium = false
	w.must(w.repo.Protect(w.Context(), "main", forge.Protection{PullRequestsOnly: true}))
	for _, p := range []forge.Protection{{Approvals: 1}, {CodeOwners: true}} {
		if err := w.repo.Protect(w.Context(), "main", p); !errors.Is(err, forge.ErrInvalid) || !strings.Contains(err.Error(), "Premium") {
			t.Errorf("%+v: got %v", p, err)
		}
	}
}

func TestPipelinesMustSucceed(t *testing.T) {
	w := newWorld(t)
	w.must(w.repo.Protect(w.Context(), "main", forge.Protection{Checks: []string{"kalypso/deletions"}}))
	c := w.open("checked")
	merge := forge.Merge{Head: c.Head.Commit}
	for _, state := range []forge.StatusState{"", forge.Pending, forge.Failure, forge.Errored} {
		if state != "" {
			w.set(c.Head.Commit, forge.Status{Context: "kalypso/deletions", State: state})
		}
		if _, err := w.repo.MergePullRequest(w.Context(), c.Number, merge); !errors.Is(err, forge.ErrConflict) {
			t.Errorf("%s: got %v, want a conflict", state, err)
		}
	}
	w.set(c.Head.Commit, forge.Status{Context: "kalypso/deletions", State: forge.Success})
	_, err := w.repo.MergePullRequest(w.Context(), c.Number, merge)
	w.must(err)
}

func TestAutoMerge(t *testing.T) {
	w := newWorld(t)
	waiting := w.open("waiting")
	w.set(waiting.Head.Commit, forge.Status{Context: "ci", State: forge.Pending})
	if err := w.repo.AutoMerge(w.Context(), waiting.Number, forge.Merge{Head: strings.Repeat("0", 40)}); !errors.Is(err, forge.ErrConflict) {
		t.Errorf("another head: got %v", err)
	}
	w.must(w.repo.AutoMerge(w.Context(), waiting.Number, forge.Merge{Head: waiting.Head.Commit}))
	if got := w.state(waiting.Number); got != forge.Open {
		t.Errorf("merged without its pipeline: %s", got)
	}
	w.set(waiting.Head.Commit, forge.Status{Context: "ci", State: forge.Success})
	if got := w.state(waiting.Number); got != forge.Merged {
		t.Errorf("after the pipeline: %s", got)
	}

	unchecked := w.open("unchecked")
	w.must(w.repo.AutoMerge(w.Context(), unchecked.Number, forge.Merge{Head: unchecked.Head.Commit}))
	if got := w.state(unchecked.Number); got != forge.Merged {
		t.Errorf("with nothing to wait for: %s", got)
	}

	w.must(w.repo.Protect(w.Context(), "main", forge.Protection{Checks: []string{"ci"}}))
	required := w.open("required")
	if err := w.repo.AutoMerge(w.Context(), required.Number, forge.Merge{Head: required.Head.Commit}); !errors.Is(err, forge.ErrConflict) {
		t.Errorf("required, but not there: got %v", err)
	}
}

func TestPendingStatusIsUpdated(t *testing.T) {
	w := newWorld(t)
	commit := w.Server.Commit(w.url, "main")
	for _, tc := range []struct{ description, want string }{{"queued", "queued"}, {"planning", "planning"}, {"rendering", "planning"}} {
		w.set(commit, forge.Status{Context: "plan", State: forge.Pending, Description: tc.description})
		got, err := w.repo.Statuses(w.Context(), commit)
		w.must(err)
		if len(got) != 1 || got[0].State != forge.Pending || got[0].Description != tc.want {
			t.Errorf("after %q: %+v", tc.description, got)
		}
	}
}

func TestMergeWithLostResponse(t *testing.T) {
	w := newWorld(t)
	c := w.open("lost")
	w.Faults.Inject(forgetest.Fault{Method: "PUT", Path: "/merge", After: true, Answer: forgetest.Answer(http.StatusBadGateway, "")})
	commit, err := w.repo.MergePullRequest(w.Context(), c.Number, forge.Merge{Head: c.Head.Commit})
	w.must(err)
	if after, err := w.repo.PullRequest(w.Context(), c.Number); err != nil || after.MergeCommit != commit || commit == "" {
		t.Errorf("merged as %q, but %+v, %v", commit, after, err)
	}
}

func TestMergeWithoutPermission(t *testing.T) {
	w := newWorld(t)
	c := w.open("forbidden")
	w.Faults.Inject(forgetest.Fault{Method: "PUT", Path: "/merge", Answer: forgetest.Answer(http.StatusUnauthorized, `{"message":"401 Unauthorized"}`)})
	_, err := w.repo.MergePullRequest(w.Context(), c.Number, forge.Merge{Head: c.Head.Commit})
	var e *forge.Error
	if !errors.As(err, &e) || !errors.Is(err, forge.ErrDenied) || !strings.Contains(e.Right, "merge to the branch") {
		t.Errorf("got %v", err)
	}
}

func TestConflictingBranchesAreAConflict(t *testing.T) {
	for _, status := range []int{http.StatusNotAcceptable, http.StatusUnprocessableEntity, http.StatusMethodNotAllowed} {
		w := newWorld(t)
		c := w.open("conflicting")
		w.Faults.Inject(forgetest.Fault{Method: "PUT", Path: "/merge", Answer: forgetest.Answer(status, `{"message":"Branch cannot be merged"}`)})
		if _, err := w.repo.MergePullRequest(w.Context(), c.Number, forge.Merge{Head: c.Head.Commit}); !errors.Is(err, forge.ErrConflict) {
			t.Errorf("%d: got %v", status, err)
		}
	}
}

func TestDraftIsKept(t *testing.T) {
	w := newWorld(t)
	w.Server.Commit(w.url, "draft")
	c, err := w.repo.OpenPullRequest(w.Context(), forge.NewPullRequest{Head: "draft", Base: "main", Title: "Unfinished", Draft: true})
	w.must(err)
	w.must(w.repo.EditPullRequest(w.Context(), c.Number, forge.PullRequestEdit{Title: new("Nearly finished")}))
	after, err := w.repo.PullRequest(w.Context(), c.Number)
	w.must(err)
	if !after.Draft || after.Title != "Nearly finished" {
		t.Errorf("got %+v", after)
	}
}

func TestAForkIsNamed(t *testing.T) {
	w := newWorld(t)
	c := w.open("forked")
	w.AddRepository("a-person/fork")
	for fork, want := range map[string]string{"a-person/fork": "a-person/fork", "a-person/gone": "unknown"} {
		w.Server.World.Lock()
		w.World.Repo("platform/teams/gitops-1").PullRequest(c.Number).Head.Fork = fork
		w.Server.World.Unlock()
		got, err := w.repo.PullRequest(w.Context(), c.Number)
		w.must(err)
		if got.Head.Fork != want {
			t.Errorf("got %q, want %q", got.Head.Fork, want)
		}
		ours, err := w.repo.FindPullRequests(w.Context(), forge.PullRequestFilter{Head: "forked"})
		w.must(err)
		if len(ours) != 0 {
			t.Errorf("the fork's branch is taken for ours: %+v", ours)
		}
	}
}

func TestTokensGoWhereTheyBelong(t *testing.T) {
	var got http.Header
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		forgetest.Answer(http.StatusOK, `{"username":"me"}`)(w, r)
	}))
	defer server.Close()
	for auth, want := range map[gitlab.Auth][2]string{
		gitlab.PrivateToken: {"Private-Token", "secret"}, gitlab.OAuthToken: {"Authorization", "Bearer secret"}, gitlab.JobToken: {"Job-Token", "secret"},
	} {
		f, err := gitlab.New(gitlab.Options{URL: server.URL, Token: forge.NewSecret("secret"), Auth: auth})
		if err != nil {
			t.Fatal(err)
		}
		r, err := f.Repository(server.URL + "/group/sub/name")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = r.PullRequest(t.Context(), 1)
		if got.Get(want[0]) != want[1] {
			t.Errorf("%q: got %v", auth, got)
		}
		if who, err := f.Viewer(t.Context()); err != nil || (who == "") != (auth == gitlab.JobToken) {
			t.Errorf("%q: viewer %q, %v", auth, who, err)
		}
	}
}

func TestRepositoriesLieInAnyDepth(t *testing.T) {
	f, err := gitlab.New(gitlab.Options{URL: "https://example.com/gitlab"})
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{
		"https://example.com/gitlab/a/b/c/d.git": "example.com/a/b/c/d",
		"git@example.com:a/b.git":                "example.com/a/b",
		"https://example.com/other/a/b":          "",
	} {
		r, err := f.Repository(url)
		if got := ""; err == nil {
			got = r.ID().String()
			if got != want {
				t.Errorf("%s: got %q, want %q", url, got, want)
			}
		} else if want != "" {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestLabelCreatedByAnotherClient(t *testing.T) {
	w := newWorld(t)
	l := forge.Label{Name: "kalypso/allow-deletions"}
	w.must(w.repo.EnsureLabel(w.Context(), l))
	w.Faults.Inject(forgetest.Fault{Path: "/labels/", Answer: forgetest.Answer(http.StatusNotFound, `{"message":"404 Label Not Found"}`)})
	w.must(w.repo.EnsureLabel(w.Context(), l))
}

// A pipeline exists seconds after the push, and its jobs come later: until it ends, the commit is not checked.
func TestChecksIncludePipelines(t *testing.T) {
	w := newWorld(t)
	c := w.open("dev")
	w.set(c.Head.Commit, forge.Status{Context: "kalypso/checks", State: forge.Success})
	checks := func() map[string]forge.StatusState {
		t.Helper()
		all, err := w.repo.Checks(t.Context(), c.Head.Commit)
		w.must(err)
		states := map[string]forge.StatusState{}
		for _, s := range all {
			states[s.Context] = s.State
		}
		return states
	}
	run := func(id int, source, state string) map[string]any {
		return map[string]any{"id": id, "sha": c.Head.Commit, "ref": "dev", "source": source, "status": state}
	}
	if got := checks(); len(got) != 1 {
		t.Errorf("before CI: %v", got)
	}
	for state, want := range map[string]forge.StatusState{
		"created": forge.Pending, "waiting_for_resource": forge.Pending, "manual": forge.Pending, "running": forge.Pending,
		"success": forge.Success, "skipped": forge.Success, "failed": forge.Failure, "canceled": forge.Errored,
	} {
		w.Pipelines = map[string][]map[string]any{c.Head.Commit: {
			run(9, "external", "failed"), run(8, "push", state), run(7, "push", "failed"), run(6, "merge_request_event", "success"),
		}}
		got := checks()
		if got["pipeline push"] != want || got["pipeline merge_request_event"] != forge.Success || len(got) != 3 {
			t.Errorf("%s: %v", state, got)
		}
	}
	// CI is off.
	w.Server.Faults.Inject(forgetest.Fault{Path: "/pipelines", Answer: forgetest.Answer(403, `{"message":"403 Forbidden"}`)})
	if got := checks(); len(got) != 1 {
		t.Errorf("without CI: %v", got)
	}
}

// Without its place, a status makes a pipeline of its own, which can hide that of CI.
func TestStatusesBelongToThePipelineOfCI(t *testing.T) {
	w := newWorld(t)
	c := w.open("dev")
	w.set(c.Head.Commit, forge.Status{Context: "a", State: forge.Success})
	w.Pipelines = map[string][]map[string]any{c.Head.Commit: {
		{"id": 9, "ref": "dev", "source": "external"}, {"id": 8, "ref": "refs/merge-requests/1/head", "source": "merge_request_event"}, {"id": 7, "ref": "dev", "source": "push"},
	}}
	w.set(c.Head.Commit, forge.Status{Context: "b", State: forge.Success})
	if want := []string{"0 dev", "8 refs/merge-requests/1/head"}; !slices.Equal(w.Placed, want) {
		t.Errorf("placed in %q, want %q", w.Placed, want)
	}
}

// Older servers list closed merge requests as well. Their branch may be gone.
func TestStatusesDoNotBelongToClosedMergeRequests(t *testing.T) {
	w := newWorld(t)
	c := w.open("dev")
	if err := w.repo.EditPullRequest(t.Context(), c.Number, forge.PullRequestEdit{State: new(forge.Closed)}); err != nil {
		t.Fatal(err)
	}
	w.set(c.Head.Commit, forge.Status{Context: "a", State: forge.Success})
	if want := []string{"0 "}; !slices.Equal(w.Placed, want) {
		t.Errorf("placed in %q, want %q", w.Placed, want)
	}
}

// GitLab denies writes to an archived project, and does not say why.
func TestArchivedProjectSaysSo(t *testing.T) {
	w := newWorld(t)
	c := w.open("dev")
	w.Server.Faults.Inject(forgetest.Fault{Method: "POST", Times: -1, Answer: forgetest.Answer(403, `{"message":"403 Forbidden"}`)})
	for archived, want := range map[string]string{"true": "the repository is archived; unarchive it", "false": "give the token this right"} {
		w.Server.Faults.Inject(forgetest.Fault{Method: "GET", Path: "/gitops-1", Answer: forgetest.Answer(200, `[]`)}) // pipelines
		w.Server.Faults.Inject(forgetest.Fault{Method: "GET", Path: "/merge_requests", Answer: forgetest.Answer(200, `[]`)})
		w.Server.Faults.Inject(forgetest.Fault{Method: "GET", Answer: forgetest.Answer(200, `{"archived":`+archived+`}`)})
		err := w.repo.SetStatus(t.Context(), c.Head.Commit, forge.Status{Context: "a", State: forge.Success})
		if !errors.Is(err, forge.ErrDenied) || !strings.Contains(err.Error(), want) {
			t.Errorf("archived %s: %v", archived, err)
		}
	}
}

func TestMovedProjectSaysSo(t *testing.T) {
	w := newWorld(t)
	w.Server.Commit(w.url, "dev")
	w.Server.Faults.Inject(forgetest.Fault{Method: "POST", Answer: forgetest.Answer(405, `{"message":"Non GET methods are not allowed for moved projects"}`)})
	_, err := w.repo.OpenPullRequest(t.Context(), forge.NewPullRequest{Head: "dev", Base: "main", Title: "T"})
	if !errors.Is(err, forge.ErrNotFound) || !strings.Contains(err.Error(), "the project moved; update its URL") {
		t.Errorf("got %v", err)
	}
}

func TestLongAddressOfAStatusIsLeftOut(t *testing.T) {
	w := newWorld(t)
	c := w.open("dev")
	w.set(c.Head.Commit, forge.Status{Context: "ci", State: forge.Success, URL: "https://kalypso.example.com/" + strings.Repeat("x", 300)})
	if all, err := w.repo.Statuses(t.Context(), c.Head.Commit); err != nil || len(all) != 1 || all[0].URL != "" {
		t.Errorf("got %+v, %v", all, err)
	}
}
