package azuredevops_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/azuredevops"
	"github.com/kalypso-io/kalypso/internal/forge/azuredevops/azuredevopstest"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

// world is a repository on a fake, with what the tests need.
type world struct {
	*testing.T
	*azuredevopstest.Server
	forgetest.Harness
	url  string
	repo *azuredevops.Repository
}

func newWorld(t *testing.T) *world {
	t.Helper()
	s, h := azuredevopstest.Start(t)
	w := &world{T: t, Server: s, Harness: h, url: h.NewRepository(t)}
	w.repo = w.as(h.Forge)
	return w
}

func (w *world) as(f forge.Forge) *azuredevops.Repository {
	w.T.Helper()
	r, err := f.Repository(w.url)
	w.must(err)
	return r.(*azuredevops.Repository)
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

func (w *world) wantKind(err, kind error, words ...string) {
	w.T.Helper()
	var e *forge.Error
	if !errors.Is(err, kind) || !errors.As(err, &e) {
		w.Fatalf("got %v, want %v", err, kind)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			w.Errorf("%v does not say %q", err, word)
		}
	}
}

func TestReadOnlyToken(t *testing.T) {
	w := newWorld(t)
	c, weak := w.open("readable"), w.as(w.Weak)
	if _, err := weak.PullRequest(t.Context(), c.Number); err != nil {
		t.Errorf("read: %v", err)
	}
	_, opened := weak.OpenPullRequest(t.Context(), forge.NewPullRequest{Head: "readable", Base: "main", Title: "T"})
	_, commented := weak.UpsertComment(t.Context(), c.Number, "m", "text")
	_, merged := weak.MergePullRequest(t.Context(), c.Number, forge.Merge{Head: c.Head.Commit})
	for _, err := range []error{
		opened, commented, merged,
		weak.EditPullRequest(t.Context(), c.Number, forge.PullRequestEdit{Title: new("T")}),
		weak.AddLabels(t.Context(), c.Number, "promoted"),
		weak.SetStatus(t.Context(), c.Head.Commit, forge.Status{Context: "ci", State: forge.Success}),
		weak.CreateBranch(t.Context(), "b", c.Head.Commit),
	} {
		w.wantKind(err, forge.ErrDenied, "needs scope Code (")
	}
	w.wantKind(weak.EditIssue(t.Context(), 1, forge.IssueEdit{Title: new("T")}), forge.ErrDenied, "needs scope Work Items (read & write)")
}

func TestASignInPageMeansDenied(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"203":         forgetest.Answer(http.StatusNonAuthoritativeInfo, "<html>", "Content-Type", "text/html"),
		"redirection": forgetest.Answer(http.StatusFound, "", "Location", "https://spsprodweu1.vssps.visualstudio.com/_signin?realm=dev.azure.com"),
	} {
		w := newWorld(t)
		w.Faults.Inject(forgetest.Fault{Times: -1, Answer: answer})
		_, found := w.repo.FindPullRequests(t.Context(), forge.PullRequestFilter{})
		set := w.repo.SetStatus(t.Context(), "c", forge.Status{Context: "ci", State: forge.Success})
		for _, err := range []error{found, set} {
			w.wantKind(err, forge.ErrDenied, "a valid token", "configure a new one")
		}
		t.Log(name, found)
	}
}

func TestProtectionIsReadAsItWasSet(t *testing.T) {
	w := newWorld(t)
	for _, tc := range []struct{ set, want forge.Protection }{
		{forge.Protection{}, forge.Protection{}},
		{forge.Protection{PullRequestsOnly: true}, forge.Protection{PullRequestsOnly: true}},
		{
			forge.Protection{PullRequestsOnly: true, Checks: []string{"ci", "kalypso/deletions", "kalypso/plan"}},
			forge.Protection{PullRequestsOnly: true, Checks: []string{"ci", "kalypso/deletions", "kalypso/plan"}},
		},
		// Any policy forbids pushing, whatever else it requires.
		{forge.Protection{Approvals: 2}, forge.Protection{PullRequestsOnly: true, Approvals: 2}},
		{forge.Protection{Checks: []string{"ci"}}, forge.Protection{PullRequestsOnly: true, Checks: []string{"ci"}}},
		{forge.Protection{}, forge.Protection{}},
	} {
		for range 2 {
			w.must(w.repo.Protect(t.Context(), "main", tc.set))
		}
		got, err := w.repo.Protection(t.Context(), "main")
		w.must(err)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%+v: %s", tc.set, diff)
		}
		other, err := w.repo.Protection(t.Context(), "other")
		w.must(err)
		if other.Protected() {
			t.Errorf("another branch requires %+v", other)
		}
	}
	w.wantKind(w.repo.Protect(t.Context(), "main", forge.Protection{CodeOwners: true}), forge.ErrInvalid, "code owners")
}

func TestProtectingTwiceWritesOnce(t *testing.T) {
	w := newWorld(t)
	p := forge.Protection{PullRequestsOnly: true, Approvals: 1, Checks: []string{"a", "b/c", "b/d"}}
	w.must(w.repo.Protect(t.Context(), "main", p))
	w.Faults.Clear()
	w.must(w.repo.Protect(t.Context(), "main", p))
	for _, r := range w.Faults.Requests("") {
		if !strings.HasPrefix(r, "GET ") {
			t.Errorf("wrote %s", r)
		}
	}
}

// Policies only check pull requests, at the head that the status was posted for.
func TestAStatusReachesPullRequests(t *testing.T) {
	w := newWorld(t)
	w.must(w.repo.Protect(t.Context(), "main", forge.Protection{Checks: []string{"kalypso/plan"}}))
	good := forge.Status{Context: "kalypso/plan", State: forge.Success}

	before := w.Server.Commit(w.url, "with-statuses")
	w.must(w.repo.SetStatus(t.Context(), before, good))
	c, err := w.repo.OpenPullRequest(t.Context(), forge.NewPullRequest{Head: "with-statuses", Base: "main", Title: "T"})
	w.must(err)
	_, err = w.repo.MergePullRequest(t.Context(), c.Number, forge.Merge{Head: before})
	w.must(err)

	c = w.open("pushed-again")
	w.must(w.repo.SetStatus(t.Context(), c.Head.Commit, good))
	next := w.Server.Commit(w.url, "pushed-again")
	_, err = w.repo.MergePullRequest(t.Context(), c.Number, forge.Merge{Head: next})
	w.wantKind(err, forge.ErrConflict, "policy")
	w.must(w.repo.SetStatus(t.Context(), next, good))
	_, err = w.repo.MergePullRequest(t.Context(), c.Number, forge.Merge{Head: next})
	w.must(err)
}

func TestAStatusThatDidNotReachPullRequestsIsNotSet(t *testing.T) {
	w := newWorld(t)
	c := w.open("unlucky")
	w.Faults.Inject(forgetest.Fault{Method: "POST", Path: "/iterations/", Times: -1, Answer: forgetest.Answer(http.StatusBadGateway, "")})
	err := w.repo.SetStatus(t.Context(), c.Head.Commit, forge.Status{Context: "ci", State: forge.Success})
	w.wantKind(err, forge.ErrUnavailable)
	got, err := w.repo.Statuses(t.Context(), c.Head.Commit)
	w.must(err)
	if len(got) != 0 {
		t.Errorf("got %+v", got)
	}
}

func TestMergeWaits(t *testing.T) {
	w := newWorld(t)
	c := w.open("slow")
	w.Fake.Clock.Slept()
	_, err := w.repo.MergePullRequest(t.Context(), c.Number, forge.Merge{Head: c.Head.Commit})
	w.must(err)
	if slept := w.Fake.Clock.Slept(); len(slept) != 1 {
		t.Errorf("waited %v", slept)
	}
}

func TestMergedByAnotherClient(t *testing.T) {
	w := newWorld(t)
	c := w.open("raced")
	w.Faults.Inject(forgetest.Fault{Method: "PATCH", Answer: func(out http.ResponseWriter, r *http.Request) {
		w.World.Lock()
		repo := w.World.Repo("fabrikam/Fleet/gitops-1")
		err := repo.Merge("a-person", repo.PullRequest(c.Number), forge.Merge{})
		w.World.Unlock()
		if err != nil {
			t.Error(err)
		}
		forgetest.Answer(http.StatusConflict, `{"message":"TF401181: The pull request cannot be edited due to its state."}`)(out, r)
	}})
	commit, err := w.repo.MergePullRequest(t.Context(), c.Number, forge.Merge{Head: c.Head.Commit})
	w.must(err)
	if got, err := w.repo.PullRequest(t.Context(), c.Number); err != nil || got.MergeCommit != commit || got.EndedBy != "a-person@example.com" {
		t.Errorf("got %q, %+v, %v", commit, got, err)
	}
}

// A status can be posted before the forge knows the head. Merging repeats it.
func TestMergeRepeatsMissedStatuses(t *testing.T) {
	w := newWorld(t)
	w.must(w.repo.Protect(t.Context(), "main", forge.Protection{Checks: []string{"ci"}}))
	head := w.Server.Commit(w.url, "missed")
	w.must(w.repo.SetStatus(t.Context(), head, forge.Status{Context: "ci", State: forge.Success}))
	w.Faults.Inject(forgetest.Fault{Path: "/iterations", Answer: forgetest.Answer(http.StatusOK, `{"value":[]}`)})
	_, err := w.repo.OpenPullRequest(t.Context(), forge.NewPullRequest{Head: "missed", Base: "main", Title: "T"})
	w.wantKind(err, forge.ErrConflict, "does not know")
	found, err := w.repo.FindPullRequests(t.Context(), forge.PullRequestFilter{Head: "missed"})
	w.must(err)
	_, err = w.repo.MergePullRequest(t.Context(), found[0].Number, forge.Merge{Head: head})
	w.must(err)
}

func TestViewer(t *testing.T) {
	w := newWorld(t)
	nameless, err := azuredevops.New(azuredevops.Options{URL: w.Server.URL, Token: forge.NewSecret(azuredevopstest.Token)})
	w.must(err)
	if who, err := nameless.Viewer(t.Context()); who != "" || err != nil {
		t.Errorf("without an organization: %q, %v", who, err)
	}
	w.Faults.Inject(forgetest.Fault{Path: "/connectionData", Answer: forgetest.Answer(http.StatusOK,
		`{"authenticatedUser":{"id":"aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa","providerDisplayName":"Anonymous"}}`)})
	_, err = w.Forge.(forge.Viewer).Viewer(t.Context())
	w.wantKind(err, forge.ErrDenied, "a valid token")
}

func TestAnUnauthorizedTokenMayLackAScope(t *testing.T) {
	w := newWorld(t)
	w.Faults.Inject(forgetest.Fault{Method: "POST", Answer: forgetest.Answer(http.StatusUnauthorized, "")})
	_, err := w.repo.OpenPullRequest(t.Context(), forge.NewPullRequest{Head: "h", Base: "main", Title: "T"})
	w.wantKind(err, forge.ErrDenied, "a valid token with scope Code (read & write)")
}

func TestABearerIsSentAsOne(t *testing.T) {
	w := newWorld(t)
	f, err := azuredevops.New(azuredevops.Options{URL: w.Server.URL, Token: forge.NewSecret(azuredevopstest.Token), Auth: azuredevops.BearerToken, APIVersion: "7.0-preview"})
	w.must(err)
	if _, err := w.as(f).FindPullRequests(t.Context(), forge.PullRequestFilter{}); err != nil {
		t.Error(err)
	}
}

func TestMergeThatNeverEnds(t *testing.T) {
	w := newWorld(t)
	c := w.open("endless")
	shape := `{"pullRequestId":1,"status":"active","mergeStatus":"queued","lastMergeSourceCommit":{"commitId":"` + c.Head.Commit + `"}}`
	w.Faults.Inject(forgetest.Fault{Method: "GET", Path: "/pullrequests/", Times: -1, Answer: forgetest.Answer(http.StatusOK, shape)})
	_, err := w.repo.MergePullRequest(t.Context(), c.Number, forge.Merge{Head: c.Head.Commit})
	w.wantKind(err, forge.ErrConflict, "has not finished merging")
}

func TestListedTextsAreComplete(t *testing.T) {
	w := newWorld(t)
	body := forge.Mark(strings.Repeat("Zeile 🚀\n", 1000), "kalypso digest 1", w.Forge.Limits().Body)
	w.Server.Commit(w.url, "long")
	c, err := w.repo.OpenPullRequest(t.Context(), forge.NewPullRequest{Head: "long", Base: "main", Title: "Long", Body: body})
	w.must(err)
	found, err := w.repo.FindPullRequests(t.Context(), forge.PullRequestFilter{State: forge.Open})
	w.must(err)
	if len(found) != 1 || found[0].Number != c.Number || !forge.Marked(found[0].Body, "kalypso digest 1") {
		t.Errorf("got %+v", found)
	}
}

func TestIssuesBelongToTheirRepository(t *testing.T) {
	w := newWorld(t)
	_, err := w.repo.OpenIssue(t.Context(), forge.NewIssue{Title: "Ours", Body: "<b>&'\"\n\ntwo"})
	w.must(err)
	other, err := w.Forge.Repository(w.NewRepository(t))
	w.must(err)
	theirs, err := other.FindIssues(t.Context(), forge.IssueFilter{})
	w.must(err)
	ours, err := w.repo.FindIssues(t.Context(), forge.IssueFilter{})
	w.must(err)
	if len(theirs) != 0 || len(ours) != 1 || ours[0].Body != "<b>&'\"\n\ntwo" || len(ours[0].Labels) != 0 {
		t.Errorf("ours %+v, theirs %+v", ours, theirs)
	}
}

func TestMissingWorkItemType(t *testing.T) {
	w := newWorld(t)
	f, err := azuredevops.New(azuredevops.Options{URL: w.Server.URL, Token: forge.NewSecret(azuredevopstest.Token), WorkItemType: "Bug"})
	w.must(err)
	_, err = w.as(f).OpenIssue(t.Context(), forge.NewIssue{Title: "T"})
	w.wantKind(err, forge.ErrNotFound, `"Bug"`, "configure the type")
}

func TestAForkIsNamed(t *testing.T) {
	w := newWorld(t)
	c := w.open("forked")
	w.AddRepository("fabrikam/Fleet/fork")
	for fork, want := range map[string]string{"fabrikam/Fleet/fork": "fabrikam/Fleet/fork", "fabrikam/Fleet/gone": "unknown"} {
		w.World.Lock()
		w.World.Repo("fabrikam/Fleet/gitops-1").PullRequest(c.Number).Head.Fork = fork
		w.World.Unlock()
		got, err := w.repo.PullRequest(t.Context(), c.Number)
		w.must(err)
		if got.Head.Fork != want || got.Fetch != "refs/pull/1/merge" {
			t.Errorf("got %+v, want %q", got, want)
		}
	}
}

func TestRepositoriesAndTheirSpellings(t *testing.T) {
	for _, tc := range []struct{ site, url, want string }{
		{"https://dev.azure.com", "https://me@dev.azure.com/org/My%20Project/_git/repo", "dev.azure.com/org/My Project/repo"},
		{"https://dev.azure.com", "git@ssh.dev.azure.com:v3/org/project/repo", "dev.azure.com/org/project/repo"},
		{"https://dev.azure.com", "https://dev.azure.com/org/_git/repo", "dev.azure.com/org/repo/repo"},
		{"https://org.visualstudio.com", "https://org.visualstudio.com/DefaultCollection/project/_git/repo", "dev.azure.com/org/project/repo"},
		{"https://tfs.example.com/tfs", "https://tfs.example.com/tfs/Main/project/_git/repo", "tfs.example.com/Main/project/repo"},
		{"https://tfs.example.com/tfs", "https://tfs.example.com/tfs/Main/_git/repo", "tfs.example.com/Main/repo/repo"},
		{"https://dev.azure.com", "https://dev.azure.com/org/a/b/c/d", ""},
	} {
		f, err := azuredevops.New(azuredevops.Options{URL: tc.site})
		if err != nil {
			t.Fatal(err)
		}
		r, err := f.Repository(tc.url)
		switch {
		case err == nil && r.ID().String() != tc.want:
			t.Errorf("%s is %v, want %s", tc.url, r.ID(), tc.want)
		case err != nil && (tc.want != "" || !errors.Is(err, forge.ErrInvalid)):
			t.Errorf("%s: %v", tc.url, err)
		}
	}
}

// Several states have the same meaning. A user's choice among them is kept.
func TestEquivalentStateIsKept(t *testing.T) {
	w := newWorld(t)
	i, err := w.repo.OpenIssue(t.Context(), forge.NewIssue{Title: "T"})
	w.must(err)
	w.Faults.Clear()
	w.must(w.repo.EditIssue(t.Context(), i.Number, forge.IssueEdit{State: new(forge.Open)}))
	if wrote := w.Faults.Requests("PATCH"); len(wrote) > 0 {
		t.Errorf("wrote %q", wrote)
	}
}

// A policy limits the merge types of a branch. The web interface writes "Exact" where the API writes "exact".
func TestMergesAsPoliciesAllow(t *testing.T) {
	for _, tc := range []struct{ settings, want string }{
		{`"allowSquash": true`, "squash"},
		{`"allowRebase": true, "allowRebaseMerge": true`, "rebase"},
		{`"allowRebaseMerge": true`, "rebaseMerge"},
		{`"allowSquash": true, "allowNoFastForward": true`, "noFastForward"},
	} {
		w := newWorld(t)
		c := w.open("feature")
		w.Faults.Inject(forgetest.Fault{Method: "GET", Path: "/git/policy/configurations", Times: -1, Answer: forgetest.Answer(200,
			`{"value": [{"isEnabled": true, "isBlocking": true, "type": {"id": "fa4e907d-c16b-4a4c-9dfa-4916e5d171ab"},
			"settings": {"scope": [{"refName": "refs/heads/main", "matchKind": "Exact"}], `+tc.settings+`}}]}`)})
		var body struct {
			CompletionOptions struct{ MergeStrategy string }
		}
		w.Faults.Inject(forgetest.Fault{Method: "PATCH", Answer: func(out http.ResponseWriter, r *http.Request) {
			_ = json.NewDecoder(r.Body).Decode(&body)
			forgetest.Answer(409, `{"message": "not now"}`)(out, r)
		}})
		_, err := w.repo.MergePullRequest(t.Context(), c.Number, forge.Merge{Head: c.Head.Commit})
		w.wantKind(err, forge.ErrConflict)
		if got := body.CompletionOptions.MergeStrategy; got != tc.want {
			t.Errorf("%s: merged as %q, want %q (%v)", tc.settings, got, tc.want, err)
		}
	}
}
