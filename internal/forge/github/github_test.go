package github_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/github"
	"github.com/kalypso-io/kalypso/internal/forge/github/githubtest"
)

// The abilities of this forge.
var (
	_ forge.Forge           = (*github.Forge)(nil)
	_ forge.Viewer          = (*github.Forge)(nil)
	_ forge.Creator         = (*github.Forge)(nil)
	_ forge.Remover         = (*github.Repository)(nil)
	_ forge.WebhookVerifier = (*github.Forge)(nil)
	_ forge.Brancher        = (*github.Repository)(nil)
	_ forge.Annotator       = (*github.Repository)(nil)
	_ forge.Reviewer        = (*github.Repository)(nil)
	_ forge.LabelHistorian  = (*github.Repository)(nil)
	_ forge.Checker         = (*github.Repository)(nil)
	_ forge.AutoMerger      = (*github.Repository)(nil)
	_ forge.Protector       = (*github.Repository)(nil)
	_ forge.CodeOwned       = (*github.Repository)(nil)
	_ forge.Hooker          = (*github.Repository)(nil)
)

func TestRules(t *testing.T) {
	forgetest.Run(t, githubtest.Harness)
}

func TestChecks(t *testing.T) {
	fake := githubtest.New(t)
	url := fake.AddRepository("acme/gitops")
	commit := fake.Commit(url, "dev")
	repo, err := fake.Forge(t, github.Options{Token: forge.NewSecret(githubtest.Token)}).Repository(url)
	if err != nil {
		t.Fatal(err)
	}
	if err := repo.SetStatus(t.Context(), commit, forge.Status{Context: "kalypso/plan", State: forge.Success}); err != nil {
		t.Fatal(err)
	}
	want := []forge.Status{}
	for i, run := range []struct {
		status, conclusion string
		state              forge.StatusState
	}{
		{"queued", "", forge.Pending},
		{"in_progress", "", forge.Pending},
		{"completed", "success", forge.Success},
		{"completed", "skipped", forge.Success},
		{"completed", "failure", forge.Failure},
		{"completed", "action_required", forge.Failure},
		{"completed", "timed_out", forge.Errored},
		{"completed", "", forge.Failure},
	} {
		name := fmt.Sprint("ci ", i)
		want = append(want, forge.Status{Context: name, State: run.state})
		if fake.CheckRuns == nil {
			fake.CheckRuns = map[string][]map[string]any{}
		}
		conclusion := any(run.conclusion)
		if run.conclusion == "" {
			conclusion = nil
		}
		fake.CheckRuns[commit] = append(fake.CheckRuns[commit], map[string]any{
			"name": name, "status": run.status, "conclusion": conclusion,
		})
	}
	want = append(want, forge.Status{Context: "kalypso/plan", State: forge.Success})
	got, err := repo.(forge.Checker).Checks(t.Context(), commit)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(forge.Status{}, "Time")); diff != "" {
		t.Error(diff)
	}
}

func TestForges(t *testing.T) {
	var all forge.Forges
	for _, url := range []string{"https://github.com", "https://github.example.com"} {
		f, err := github.New(github.Options{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, f)
	}
	for url, want := range map[string]string{
		"git@github.com:acme/shop.git":           "github.com/acme/shop",
		"ssh://git@ssh.github.com:443/acme/shop": "github.com/acme/shop",
		"https://github.example.com/acme/shop":   "github.example.com/acme/shop",
	} {
		f, err := all.Forge(url)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		if r, err := f.Repository(url); err != nil || r.ID().String() != want {
			t.Errorf("%s: got %v, %v, want %s", url, r, err, want)
		}
	}
}

// A server that always names a next page must not keep a round forever.
func TestListsEnd(t *testing.T) {
	fake := githubtest.New(t)
	url := fake.AddRepository("acme/gitops")
	repo, err := fake.Forge(t, github.Options{Token: forge.NewSecret(githubtest.Token)}).Repository(url)
	if err != nil {
		t.Fatal(err)
	}
	fake.Faults.Inject(forgetest.Fault{
		Path: "/pulls", Times: -1, Answer: forgetest.Answer(200, `[]`, "Link", `<`+fake.URL+`/api/v3/x?page=2>; rel="next"`),
	})
	if _, err := repo.FindPullRequests(t.Context(), forge.PullRequestFilter{}); !errors.Is(err, forge.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

// Rulesets protect branches like classic protection, also where the token cannot read that.
func TestRulesetsProtectBranches(t *testing.T) {
	fake := githubtest.New(t)
	url := fake.AddRepository("acme/gitops")
	repo, err := fake.Forge(t, github.Options{Token: forge.NewSecret(githubtest.Token)}).Repository(url)
	if err != nil {
		t.Fatal(err)
	}
	protector := repo.(forge.Protector)
	if err := protector.Protect(t.Context(), "main", forge.Protection{Checks: []string{"build", "ci"}, Approvals: 2, PullRequestsOnly: true}); err != nil {
		t.Fatal(err)
	}
	fake.Rules = map[string][]map[string]any{"main": {
		{"type": "pull_request", "parameters": map[string]any{"required_approving_review_count": 1, "require_code_owner_review": true}},
		{"type": "required_status_checks", "parameters": map[string]any{"required_status_checks": []map[string]any{{"context": "ci"}, {"context": "kalypso/checks"}}}},
		{"type": "deletion"},
	}, "queue": {{"type": "merge_queue"}}, "free": {{"type": "deletion"}}}
	check := func(branch string, want forge.Protection) {
		t.Helper()
		got, err := protector.Protection(t.Context(), branch)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", branch, err, diff)
		}
	}
	check("main", forge.Protection{PullRequestsOnly: true, Approvals: 2, CodeOwners: true, Checks: []string{"build", "ci", "kalypso/checks"}})
	check("queue", forge.Protection{PullRequestsOnly: true})
	check("free", forge.Protection{})
	fake.Faults.Inject(forgetest.Fault{Path: "/protection", Times: -1, Answer: forgetest.Answer(403, `{"message":"Resource not accessible by integration"}`)})
	check("main", forge.Protection{PullRequestsOnly: true, Approvals: 1, CodeOwners: true, Checks: []string{"ci", "kalypso/checks"}})
	if _, err := protector.Protection(t.Context(), "free"); !errors.Is(err, forge.ErrDenied) {
		t.Errorf("nothing is known of it: %v", err)
	}
}

func TestMergesAsTheRepositoryAllows(t *testing.T) {
	for _, allowed := range []string{"merge", "squash", "rebase"} {
		fake := githubtest.New(t)
		url := fake.AddRepository("acme/gitops")
		repo, err := fake.Forge(t, github.Options{Token: forge.NewSecret(githubtest.Token)}).Repository(url)
		if err != nil {
			t.Fatal(err)
		}
		fake.Methods = []string{allowed}
		open := func(branch string) forge.PullRequest {
			t.Helper()
			fake.Commit(url, branch)
			c, err := repo.OpenPullRequest(t.Context(), forge.NewPullRequest{Head: branch, Base: "main", Title: "T"})
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		now := open("now")
		if _, err := repo.MergePullRequest(t.Context(), now.Number, forge.Merge{Head: now.Head.Commit}); err != nil {
			t.Errorf("%s: %v", allowed, err)
		}
		if err := repo.(forge.Protector).Protect(t.Context(), "main", forge.Protection{Checks: []string{"ci"}}); err != nil {
			t.Fatal(err)
		}
		later := open("later")
		if err := repo.(forge.AutoMerger).AutoMerge(t.Context(), later.Number, forge.Merge{Head: later.Head.Commit}); err != nil {
			t.Errorf("%s, later: %v", allowed, err)
		}
		wanted := forge.Merge{Head: later.Head.Commit, Method: forge.MergeCommits}
		if _, err := repo.MergePullRequest(t.Context(), later.Number, wanted); allowed != "merge" && !errors.Is(err, forge.ErrConflict) {
			t.Errorf("%s, but a merge commit was requested: %v", allowed, err)
		}
	}
}

func TestMovedRepositorySaysSo(t *testing.T) {
	fake := githubtest.New(t)
	url := fake.AddRepository("acme/gitops")
	repo, err := fake.Forge(t, github.Options{Token: forge.NewSecret(githubtest.Token)}).Repository(url)
	if err != nil {
		t.Fatal(err)
	}
	fake.Faults.Inject(forgetest.Fault{Method: "POST", Answer: forgetest.Answer(422,
		`{"message":"Validation Failed","errors":[{"resource":"PullRequest","field":"head","code":"invalid"}]}`)})
	fake.Faults.Inject(forgetest.Fault{Method: "GET", Answer: forgetest.Answer(200, `{"full_name":"other/gitops"}`)})
	_, err = repo.OpenPullRequest(t.Context(), forge.NewPullRequest{Head: "dev", Base: "main", Title: "T"})
	if err == nil || !strings.Contains(err.Error(), "the repository moved to other/gitops; update its URL") {
		t.Errorf("got %v", err)
	}
}

// Fine-grained tokens cannot read check runs. The workflow runs of GitHub Actions say the same.
func TestChecksWithoutTheRightToReadThem(t *testing.T) {
	fake := githubtest.New(t)
	url := fake.AddRepository("acme/gitops")
	commit := fake.Commit(url, "dev")
	repo, err := fake.Forge(t, github.Options{Token: forge.NewSecret(githubtest.Token)}).Repository(url)
	if err != nil {
		t.Fatal(err)
	}
	denied := forgetest.Answer(403, `{"message":"Resource not accessible by personal access token"}`)
	fake.Faults.Inject(forgetest.Fault{Path: "/check-runs", Times: -1, Answer: denied})
	fake.Faults.Inject(forgetest.Fault{Path: "/actions/runs", Answer: forgetest.Answer(200, `{"total_count":4,"workflow_runs":[
		{"name":"build","workflow_id":1,"event":"pull_request","status":"in_progress"},
		{"name":"build","workflow_id":1,"event":"pull_request","status":"completed","conclusion":"success"},
		{"name":"build","workflow_id":1,"event":"push","status":"completed","conclusion":"success"},
		{"name":"lint","workflow_id":2,"event":"push","status":"completed","conclusion":"failure"}]}`)})
	got, err := repo.(forge.Checker).Checks(t.Context(), commit)
	want := []forge.Status{
		{Context: "build (pull_request)", State: forge.Pending},
		{Context: "build (push)", State: forge.Success},
		{Context: "lint (push)", State: forge.Failure},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	fake.Faults.Inject(forgetest.Fault{Path: "/actions/runs", Answer: denied})
	if _, err := repo.(forge.Checker).Checks(t.Context(), commit); !errors.Is(err, forge.ErrDenied) || !strings.Contains(err.Error(), "actions=read") {
		t.Errorf("without any right: %v", err)
	}
}

// GitHub answers 422 both if it does not have a commit and if it stores no more statuses of one.
func TestTooManyStatusesAreNoMissingCommit(t *testing.T) {
	fake := githubtest.New(t)
	url := fake.AddRepository("acme/gitops")
	commit := fake.Commit(url, "dev")
	repo, err := fake.Forge(t, github.Options{Token: forge.NewSecret(githubtest.Token)}).Repository(url)
	if err != nil {
		t.Fatal(err)
	}
	status := forge.Status{Context: "dev", State: forge.Pending, Description: "Applying 12/37"}
	for err == nil {
		err = repo.SetStatus(t.Context(), commit, status)
	}
	if !errors.Is(err, forge.ErrTooMany) {
		t.Error(err)
	}
	status.Context = "prod"
	if err := repo.SetStatus(t.Context(), commit, status); err != nil {
		t.Error(err)
	}
	if err := repo.SetStatus(t.Context(), strings.Repeat("d", 40), status); !errors.Is(err, forge.ErrNotFound) {
		t.Error(err)
	}
}

// TestNothingNewCostsNothing reads the same again, as each round does: GitHub says that nothing has changed, which
// it does not count.
func TestNothingNewCostsNothing(t *testing.T) {
	fake := githubtest.New(t)
	url := fake.AddRepository("acme/gitops")
	repo, err := fake.Forge(t, github.Options{Token: forge.NewSecret(githubtest.Token)}).Repository(url)
	if err != nil {
		t.Fatal(err)
	}
	fake.Commit(url, "dev")
	fake.Commit(url, "kalypso/dev")
	read := func() []forge.PullRequest {
		t.Helper()
		all, err := repo.FindPullRequests(t.Context(), forge.PullRequestFilter{Head: "kalypso/dev"})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	read()
	fake.Faults.Clear()
	if all := read(); len(all) != 0 {
		t.Errorf("got %v", all)
	}
	if sent := len(fake.Faults.Requests("")); sent == 0 || fake.Unchanged() != sent {
		t.Errorf("%d of %d requests were not counted", fake.Unchanged(), sent)
	}
	if _, err := repo.OpenPullRequest(t.Context(), forge.NewPullRequest{Head: "kalypso/dev", Base: "dev", Title: "dev: 1 added"}); err != nil {
		t.Fatal(err)
	}
	if all := read(); len(all) != 1 {
		t.Errorf("a new pull request is not seen: %v", all)
	}
}
