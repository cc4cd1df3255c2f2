package wiring

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

const westConfig = "cluster-types/west-us/west-us-config.yaml"

func TestRoundOpensOneChangeAndKeepsItUpToDate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.round("dev")
	if first.PullRequest == nil || first.PullRequest.Title != "dev: 10 added" {
		t.Fatalf("the first round: %v, change %+v", first.Did, first.PullRequest)
	}
	if again := w.round("dev"); len(again.Did) > 0 {
		t.Errorf("a round without changes did %v", again.Did)
	}
	w.Edit("dev", westConfig, "mysql://west:", "mysql://west-2:")
	second := w.round("dev")
	if second.PullRequest.Number != first.PullRequest.Number {
		t.Errorf("change %d, want %d updated in place", second.PullRequest.Number, first.PullRequest.Number)
	}
	config := w.Files(fleettest.GitOps, "kalypso/dev")["large/hello-world-app-performance-test/platform-config.yaml"]
	if !strings.Contains(config, "mysql://west-2:8806/db") {
		t.Errorf("the branch has\n%s", config)
	}
	w.Merge()
	if after := w.round("dev"); after.PullRequest != nil || len(w.PullRequests()) != 1 {
		t.Errorf("after the merge: change %+v, did %v", after.PullRequest, after.Did)
	}
	if diff := cmp.Diff(10, strings.Count(strings.Join(keys(w.Files(fleettest.GitOps, "dev")), "\n"), "/namespace.yaml")); diff != "" {
		t.Errorf("namespaces merged (-want +got):\n%s", diff)
	}
}

func keys(files map[string]string) []string {
	var names []string
	for name := range files {
		names = append(names, name)
	}
	return names
}

// TestRoundEndsTheSameWhereverItWasInterrupted ends a round after each of its writes, like a crash, and runs it again.
func TestRoundEndsTheSameWhereverItWasInterrupted(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(w *world){
		"proposing": func(w *world) {
			w.Push(fleettest.ControlPlane, "dev", map[string]string{"broken.yaml": "apiVersion: v1\nkind: ["})
			w.Edit("dev", "base-repo.yaml", "path: .", "path: .\n  commit: "+w.Head(fleettest.ControlPlane, "main"))
		},
		"withdrawing": func(w *world) {
			w.round("dev")
			w.Push(fleettest.GitOps, "dev", w.Files(fleettest.GitOps, "kalypso/dev"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := newWorld(t)
			prepare(whole)
			var writes []string
			if err := whole.interrupted(t.Context(), func(write string) error { writes = append(writes, write); return nil }); err != nil {
				t.Fatal(err)
			}
			whole.Sync()
			if len(writes) < 4 {
				t.Fatalf("only %d writes: %v", len(writes), writes)
			}
			want := whole.Describe()
			for n := range writes { // few: all of them
				t.Run(fmt.Sprintf("%d %s", n, writes[n]), func(t *testing.T) {
					t.Parallel()
					w := newWorld(t)
					prepare(w)
					if err := w.crashAfter(n); !errors.Is(err, errCrash) {
						t.Fatalf("the round was not interrupted: %v", err)
					}
					w.round("dev")
					if diff := cmp.Diff(want, w.Describe()); diff != "" {
						t.Errorf("another state than without interruption (-want +got):\n%s", diff)
					}
				})
			}
		})
	}
}

// crashAfter runs a round, and ends it after n+1 writes.
func (w *world) crashAfter(n int) error {
	return w.interrupted(w.Context(), func(string) error {
		if n--; n < 0 {
			return errCrash
		}
		return nil
	})
}

// TestWithdrawnPullRequestIsOpenedAgain checks that a withdrawn pull request does not count as refused.
func TestWithdrawnPullRequestIsOpenedAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.round("dev")
	w.Merge()
	w.Edit("dev", westConfig, "mysql://west:", "mysql://west-2:")
	w.round("dev")
	w.OpenPullRequest()
	w.Edit("dev", westConfig, "mysql://west-2:", "mysql://west:")
	if o := w.round("dev"); o.PullRequest != nil {
		t.Fatalf("not withdrawn: %v", o.Did)
	}
	w.Edit("dev", westConfig, "mysql://west:", "mysql://west-2:")
	if o := w.round("dev"); o.PullRequest == nil {
		t.Fatalf("not proposed again, waits: %q", o.Waits)
	}
	w.OpenPullRequest()
}

var errCrash = errors.New("crash")

func TestTwoServersAtOnceOpenOneChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Push(fleettest.GitOps, "dev", map[string]string{"README.md": "started\n"})
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 5 { // each server retries until no other one is in its way
				if _, err := w.flows.Round(t.Context(), w.URL+"/"+fleettest.ControlPlane, "dev"); err == nil {
					return
				}
			}
		})
	}
	wait.Wait()
	w.OpenPullRequest()
	if again := w.round("dev"); len(again.Did) > 0 {
		t.Errorf("afterwards a round did %v", again.Did)
	}
}

func TestManualEditsOfAPullRequest(t *testing.T) {
	t.Parallel()
	closed, title := forge.Closed, "my own words"
	tests := map[string]struct {
		person func(w *world, c forge.PullRequest)
		check  func(w *world, c forge.PullRequest)
	}{
		"retitled: it says what it does again": {
			func(w *world, c forge.PullRequest) { w.EditPullRequest(c.Number, forge.PullRequestEdit{Title: &title}) },
			func(w *world, c forge.PullRequest) {
				w.round("dev")
				if got := w.OpenPullRequest().Title; got != c.Title {
					w.Errorf("title %q", got)
				}
			},
		},
		"branch deleted: it is there again": {
			func(w *world, _ forge.PullRequest) {
				if err := w.Repo(fleettest.GitOps).(forge.Brancher).DeleteBranch(w.Context(), "kalypso/dev"); err != nil {
					w.Fatal(err)
				}
			},
			func(w *world, c forge.PullRequest) {
				w.round("dev")
				if got := w.Head(fleettest.GitOps, "kalypso/dev"); got != c.Head.Commit {
					w.Errorf("the branch is at %q", got)
				}
			},
		},
		"pushed to: the branch has what is wanted again": {
			func(w *world, _ forge.PullRequest) {
				w.Push(fleettest.GitOps, "kalypso/dev", map[string]string{"mine.txt": "mine"})
			},
			func(w *world, c forge.PullRequest) {
				w.round("dev")
				if got := w.OpenPullRequest().Head.Commit; got != c.Head.Commit {
					w.Errorf("the branch is at %q", got)
				}
			},
		},
		"closed: it stays closed until something else is wanted": {
			func(w *world, c forge.PullRequest) {
				w.EditPullRequest(c.Number, forge.PullRequestEdit{State: &closed})
			},
			func(w *world, _ forge.PullRequest) {
				if o := w.round("dev"); o.PullRequest != nil || o.Waits == "" {
					w.Errorf("opened again: %v", o.Did)
				}
				w.Edit("dev", westConfig, "mysql://west:", "mysql://west-2:")
				w.round("dev")
				w.OpenPullRequest()
			},
		},
		"the base moves: the change is made anew on top": {
			func(w *world, _ forge.PullRequest) {
				w.Push(fleettest.GitOps, "dev", map[string]string{"notes.md": "mine\n"})
			},
			func(w *world, c forge.PullRequest) {
				w.round("dev")
				if got := w.OpenPullRequest(); got.Number != c.Number || got.Head.Commit == c.Head.Commit || w.Files(fleettest.GitOps, "kalypso/dev")["notes.md"] == "" {
					w.Errorf("the change is still %+v", got)
				}
			},
		},
		"a user does it by hand: the change has nothing to do and is closed": {
			func(w *world, _ forge.PullRequest) {
				files := w.Files(fleettest.GitOps, "kalypso/dev")
				w.Push(fleettest.GitOps, "dev", files)
			},
			func(w *world, c forge.PullRequest) {
				w.round("dev")
				for _, got := range w.PullRequests() {
					if got.Number == c.Number && got.State == forge.Open {
						w.Errorf("still open")
					}
				}
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			c := w.round("dev").PullRequest
			test.person(w, *c)
			test.check(w, *c)
		})
	}
}

func TestRemovalsOverTheBudgetWaitForALabel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Edit("dev", "gitops-repo.yaml", "branch: dev", "branch: dev\n  autoMerge: true")
	if o := w.round("dev"); o.PullRequest.State != forge.Merged {
		t.Fatalf("not merged automatically: %v, waits: %s", o.Did, o.Waits)
	}
	w.Push(fleettest.ControlPlane, "dev", map[string]string{"scheduling/platform/platform-services-policy.yaml": ""})
	o := w.round("dev")
	c := w.OpenPullRequest()
	if o.Waits == "" || w.Status(c.Head.Commit, pullrequest.StatusDeletions) != forge.Failure {
		t.Fatalf("it does not wait: %v, %+v", o.Did, o)
	}
	repo := w.Repo(fleettest.GitOps)
	_, err := repo.MergePullRequest(t.Context(), c.Number, forge.Merge{Head: c.Head.Commit})
	if !errors.Is(err, forge.ErrConflict) || !strings.Contains(err.Error(), "the label kalypso/allow-deletions approves them") {
		t.Errorf("merged by a user though too much is removed: %v", err)
	}
	if err := repo.AddLabels(t.Context(), c.Number, pullrequest.LabelAllowDeletions); err != nil {
		t.Fatal(err)
	}
	if o := w.round("dev"); o.PullRequest.State != forge.Merged || w.Status(c.Head.Commit, pullrequest.StatusDeletions) != forge.Success {
		t.Errorf("not merged though agreed to: %v, waits: %s", o.Did, o.Waits)
	}
}

func TestProblemsBecomeIssuesAndAreClosedWhenMended(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Push(fleettest.ControlPlane, "dev", map[string]string{"broken.yaml": "apiVersion: v1\nkind: ["})
	w.round("dev")
	w.round("dev")
	if got := w.Issues(forge.Open); len(got) != 1 || !strings.Contains(got[0].Title, "broken.yaml") {
		t.Fatalf("open issues: %+v", got)
	}
	w.Push(fleettest.ControlPlane, "dev", map[string]string{"broken.yaml": ""})
	w.round("dev")
	if got := w.Issues(forge.Open); len(got) != 0 {
		t.Errorf("still open: %+v", got)
	}
}

func TestOnlyOurOwnBranchesAndFilesChange(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mine := map[string]string{"README.md": "mine\n", "drone/notes.md": "mine\n", "apps/app.yaml": "a: b\n"}
	w.Push(fleettest.GitOps, "dev", mine)
	w.Push(fleettest.GitOps, "feature", mine)
	feature, stage := w.Head(fleettest.GitOps, "feature"), w.Head(fleettest.ControlPlane, "stage")
	w.round("dev")
	w.Merge()
	w.Push(fleettest.ControlPlane, "dev", map[string]string{"cluster-types/east-us/drone/drone-cluster-type.yaml": ""})
	w.round("dev")
	w.Merge()
	files := w.Files(fleettest.GitOps, "dev")
	for path, content := range mine {
		if files[path] != content {
			t.Errorf("%s is %q now", path, files[path])
		}
	}
	if w.Head(fleettest.GitOps, "feature") != feature || w.Head(fleettest.ControlPlane, "stage") != stage {
		t.Error("a branch of another user moved")
	}
	branches := w.Branches(fleettest.GitOps)
	if diff := cmp.Diff([]string{"dev", "feature", "kalypso/dev"}, branches); diff != "" {
		t.Errorf("branches (-want +got):\n%s", diff)
	}
}

func TestControlPlanePullRequestsArePreviewed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	content := w.Files(fleettest.ControlPlane, "dev")[westConfig]
	repo := w.Repo(fleettest.ControlPlane)
	if err := repo.(forge.Brancher).CreateBranch(t.Context(), "topic", w.Head(fleettest.ControlPlane, "dev")); err != nil {
		t.Fatal(err)
	}
	w.Push(fleettest.ControlPlane, "topic", map[string]string{westConfig: strings.ReplaceAll(content, "mysql://west:", "mysql://west-2:")})
	w.Push(fleettest.ControlPlane, "dev", map[string]string{"notes.md": "the base moves on\n"})
	opened, err := repo.OpenPullRequest(t.Context(), forge.NewPullRequest{Head: "topic", Base: "dev", Title: "another database"})
	if err != nil {
		t.Fatal(err)
	}
	preview := func() []forge.Comment {
		t.Helper()
		if _, err := w.flows.Preview(t.Context(), w.URL+"/"+fleettest.ControlPlane, opened); err != nil {
			t.Fatal(err)
		}
		comments, err := repo.Comments(t.Context(), opened.Number)
		if err != nil {
			t.Fatal(err)
		}
		return comments
	}
	comments := preview()
	if len(comments) != 1 || !strings.Contains(comments[0].Body, "mysql://west-2:8806/db") {
		t.Fatalf("comments: %+v", comments)
	}
	statuses, err := repo.Statuses(t.Context(), opened.Head.Commit)
	if err != nil || len(statuses) != 1 || statuses[0].State != forge.Success || statuses[0].Description != "dev: 5 changed" {
		t.Errorf("statuses %+v, %v", statuses, err)
	}
	if again := preview(); len(again) != 1 || again[0].Body != comments[0].Body {
		t.Errorf("a second preview left %d comments", len(again))
	}
}

// TestPullRequestsOfOthersValuesFail when the schema names other editors than the author.
func TestPullRequestsOfOthersValuesFail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	main := w.Files(fleettest.ControlPlane, "main")
	const schema = "schemas/hello-world-app-schema.yaml"
	w.Push(fleettest.ControlPlane, "main", map[string]string{schema: strings.ReplaceAll(main[schema], "pattern: ^mysql://", "pattern: ^mysql://\n        editableBy: [dba]")})
	content := w.Files(fleettest.ControlPlane, "dev")[westConfig]
	repo := w.Repo(fleettest.ControlPlane)
	if err := repo.(forge.Brancher).CreateBranch(t.Context(), "topic", w.Head(fleettest.ControlPlane, "dev")); err != nil {
		t.Fatal(err)
	}
	w.Push(fleettest.ControlPlane, "topic", map[string]string{westConfig: strings.ReplaceAll(content, "mysql://west:", "mysql://west-2:")})
	opened, err := repo.OpenPullRequest(t.Context(), forge.NewPullRequest{Head: "topic", Base: "dev", Title: "another database"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		groups []string
		want   forge.StatusState
	}{{[]string{"web"}, forge.Failure}, {[]string{"dba"}, forge.Success}} {
		w.flows.people = &forge.People{
			All:   []forge.Person{{User: "ann", Groups: c.groups, Logins: map[string]string{"here": opened.Author}, Accounts: map[string]string{"here": opened.AuthorAccount}}},
			Names: map[forge.Forge]string{w.flows.Forges[0]: "here"},
		}
		preview, err := w.flows.Preview(t.Context(), w.URL+"/"+fleettest.ControlPlane, opened)
		if err != nil {
			t.Fatal(err)
		}
		statuses, err := repo.Statuses(t.Context(), opened.Head.Commit)
		if err != nil || len(statuses) != 1 || statuses[0].State != c.want {
			t.Errorf("%v: statuses %+v, %v", c.groups, statuses, err)
		}
		comments, err := repo.Comments(t.Context(), opened.Number)
		listed := strings.Contains(comments[0].Body, "DATABASE\\_URL is changed here, but is editable by dba only") && strings.Contains(comments[0].Body, westConfig+":11")
		if err != nil || listed != (len(preview.Edits) == 1) || listed != (c.want == forge.Failure) {
			t.Errorf("%v: %v, %v\n%s", c.groups, preview.Edits, err, comments[0].Body)
		}
	}
}

func TestRoundOfAnEnvironmentWhoseForgeIsNotConfigured(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.flows.Forges = nil
	_, err := w.flows.Round(context.Background(), w.URL+"/"+fleettest.ControlPlane, "dev")
	if !errors.Is(err, forge.ErrInvalid) {
		t.Errorf("error: %v", err)
	}
}
