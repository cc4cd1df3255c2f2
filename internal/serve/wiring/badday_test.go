package wiring

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/gitea/giteatest"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// try runs a round that may fail.
func (w *world) try(environment string) (*schedule.Outcome, error) {
	return w.flows.Round(w.Context(), w.URL+"/"+fleettest.ControlPlane, environment)
}

// TestRoundEndsTheSameWhicheverRequestFails fails each request of a round in turn, in ways that outlast the retries,
// and runs the round again when the forge works.
func TestRoundEndsTheSameWhicheverRequestFails(t *testing.T) {
	t.Parallel()
	whole, gitea := newGiteaWorld(t)
	whole.Push(fleettest.GitOps, "dev", map[string]string{"README.md": "started\n"})
	gitea.Faults.Clear()
	whole.round("dev")
	requests := gitea.Faults.Requests("")
	want := whole.Describe()
	if len(requests) < 4 {
		t.Fatalf("only %d requests: %v", len(requests), requests)
	}
	lost := forgetest.Fault{Times: 4, After: true, Answer: forgetest.Drop}
	others := []forgetest.Fault{
		{Times: 4, Answer: forgetest.Answer(http.StatusServiceUnavailable, "")},
		{Answer: forgetest.Answer(http.StatusTooManyRequests, "", "Retry-After", "3600")},
		{Answer: forgetest.Answer(http.StatusUnauthorized, `{"message":"token expired"}`)},
	}
	for n := range requests { // few: all of them
		for _, fault := range []forgetest.Fault{lost, others[n%len(others)]} {
			t.Run(fmt.Sprintf("%d %s", n, requests[n]), func(t *testing.T) {
				t.Parallel()
				w, gitea := newGiteaWorld(t)
				w.Push(fleettest.GitOps, "dev", map[string]string{"README.md": "started\n"})
				gitea.FailAfter(n, fault)
				_, err := w.try("dev")
				if err == nil && !fault.After { // a write whose response was lost may be detected
					t.Error("it failed unnoticed")
				}
				if err != nil && strings.Contains(err.Error(), giteatest.Token) {
					t.Errorf("the error tells the token: %v", err)
				}
				gitea.Faults.Clear()
				w.as(gitea, giteatest.Token) // a new process, which does not know that it should wait
				w.round("dev")
				if diff := cmp.Diff(want, w.Describe()); diff != "" {
					t.Errorf("another state than without the failure (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestATokenWithoutARight checks that the error names the right, and that an environment on another forge is not affected.
func TestATokenWithoutARight(t *testing.T) {
	t.Parallel()
	w, gitea := newGiteaWorld(t)
	w.as(gitea, giteatest.Weak)
	_, err := w.try("dev")
	var denied *forge.Error
	if !errors.As(err, &denied) || !errors.Is(err, forge.ErrDenied) || denied.Right == "" || denied.Hint == "" {
		t.Fatalf("error: %v", err)
	}
	if strings.Contains(err.Error(), giteatest.Weak) {
		t.Errorf("the error tells the token: %v", err)
	}
	w.as(gitea, giteatest.Token)
	w.round("dev")
	w.OpenPullRequest()
}

// interrupted runs a round, and calls after with the name of each write.
func (w *world) interrupted(ctx context.Context, after func(write string) error) error {
	kill := &interruption{after: after}
	p := &schedule.Proposer{
		Drafter: w.flows.plane("").Drafter(), Committer: interruptedCommitter{w.flows.Commits, kill}, Forges: interruptedForges{w.flows.Forges, kill},
	}
	_, err := p.Round(ctx, schedule.Request{ControlPlane: w.URL + "/" + fleettest.ControlPlane, Environment: "dev"})
	return err
}

func TestABranchThatMovesMeanwhileIsReadAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Push(fleettest.GitOps, "dev", map[string]string{"README.md": "started\n"})
	err := w.interrupted(t.Context(), func(write string) error {
		if write == "committed" {
			w.Push(fleettest.GitOps, "kalypso/dev", map[string]string{"mine.txt": "mine"})
		}
		return nil
	})
	if !errors.Is(err, pullrequest.ErrMoved) {
		t.Fatalf("error: %v", err)
	}
	if w.round("dev"); w.Files(fleettest.GitOps, "kalypso/dev")["mine.txt"] != "" {
		t.Error("the branch still has what another user pushed to it")
	}
	w.OpenPullRequest()
}

func TestTheBaseBranch(t *testing.T) {
	t.Parallel()
	tests := map[string]func(w *world){
		"force-pushed": func(w *world) { w.restart(fleettest.GitOps, "dev", map[string]string{"other.md": "other\n"}) },
		"emptied":      func(w *world) { w.Push(fleettest.GitOps, "dev", map[string]string{"README.md": ""}) },
		"deleted":      func(w *world) { w.deleteBranch(fleettest.GitOps, "dev") },
		"deleted and started": func(w *world) {
			w.deleteBranch(fleettest.GitOps, "dev")
			w.Push(fleettest.GitOps, "dev", map[string]string{"README.md": "again\n"})
		},
		"unborn": func(w *world) {
			w.deleteBranch(fleettest.GitOps, "dev")
			w.deleteBranch(fleettest.GitOps, "kalypso/dev")
		},
	}
	for name, happens := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.Push(fleettest.GitOps, "dev", map[string]string{"README.md": "started\n"})
			w.round("dev")
			happens(w)
			w.round("dev")
			c := w.OpenPullRequest()
			if got := w.Files(fleettest.GitOps, "kalypso/dev"); got["drone/nginx-dev/namespace.yaml"] == "" {
				t.Errorf("the branch has %v", keys(got))
			}
			if again := w.round("dev"); len(again.Did) > 0 {
				t.Errorf("a second round did %v", again.Did)
			}
			w.Merge()
			if w.Files(fleettest.GitOps, "dev")["drone/nginx-dev/namespace.yaml"] == "" {
				t.Errorf("change %d merged nothing", c.Number)
			}
		})
	}
}

// TestPullRequestClosedByTheForge checks that a pull request is opened again if the forge closed it because its base was deleted:
// no user refused it.
func TestPullRequestClosedByTheForge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Push(fleettest.GitOps, "dev", map[string]string{"README.md": "started\n"})
	first, closed := w.round("dev").PullRequest, forge.Closed
	w.deleteBranch(fleettest.GitOps, "dev")
	w.EditPullRequest(first.Number, forge.PullRequestEdit{State: &closed})
	w.Push(fleettest.GitOps, "dev", map[string]string{"README.md": "again\n"})
	w.round("dev")
	if again := w.OpenPullRequest(); again.Number == first.Number {
		t.Error("the closed change was opened again, rather than a new one")
	}
}

// restart replaces a branch with one without history.
func (w *world) restart(repo, branch string, files map[string]string) {
	w.Helper()
	old := w.Head(repo, branch)
	r, err := w.flows.Client.Open(w.Context(), w.URL+"/"+repo)
	if err != nil {
		w.Fatal(err)
	}
	put := map[string][]byte{}
	for path, content := range files {
		put[path] = []byte(content)
	}
	commit, err := r.Commit(w.Context(), git.CommitRequest{Put: put, Message: "start over", When: fleettest.Time, Author: git.Person{Name: "s", Email: "s@localhost"}})
	if err != nil {
		w.Fatal(err)
	}
	if err := r.Push(w.Context(), branch, old, commit); err != nil {
		w.Fatal(err)
	}
	w.Sync()
}

func (w *world) deleteBranch(repo, branch string) {
	w.Helper()
	if err := w.Repo(repo).(forge.Brancher).DeleteBranch(w.Context(), branch); err != nil {
		w.Fatal(err)
	}
}

// TestAFolderThatCannotBeWritten simulates a full disk: the error names the folder, and nothing is lost.
func TestAFolderThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	w, gitea := newGiteaWorld(t)
	cache := filepath.Join(t.TempDir(), "cache")
	if err := os.WriteFile(cache, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	access := strings.Replace(gitea.URL, "://", "://bot:"+giteatest.Token+"@", 1)
	remote := &git.Client{CacheDir: cache, Env: func(string) string { return "" }, Map: []git.Mapping{{From: gitea.URL, To: access}}}
	t.Cleanup(func() { _ = remote.Close() })
	inPlace := w.flows.Client
	w.flows.Client, w.flows.Commits.Client = remote, remote
	_, err := w.try("dev")
	if err == nil || !strings.Contains(err.Error(), cache) || !strings.Contains(err.Error(), "space on its disk") {
		t.Fatalf("error: %v", err)
	}
	if strings.Contains(err.Error(), giteatest.Token) {
		t.Errorf("the error tells the token: %v", err)
	}
	if err := os.Remove(cache); err != nil {
		t.Fatal(err)
	}
	w.round("dev")
	w.flows.Client = inPlace
	w.OpenPullRequest()
}

func TestAWorkloadThatCannotBeReadHoldsItsAssignmentsOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.round("dev")
	w.Merge()
	if err := os.Rename(filepath.Join(w.Dir, "platform/hello-world-app.git"), filepath.Join(w.Dir, "platform/gone.git")); err != nil {
		t.Fatal(err)
	}
	w.flows.Client = reopened(t, w.flows.Client)
	w.flows.Commits.Client = w.flows.Client
	w.Edit("dev", "cluster-types/west-us/west-us-config.yaml", "mysql://west:", "mysql://west-2:")
	o := w.round("dev")
	if c := o.Plan.Counts; c.Held != 2 || c.Removed != 0 || c.Changed == 0 {
		t.Errorf("counts: %+v", c)
	}
	published, proposed := w.Files(fleettest.GitOps, "dev"), w.Files(fleettest.GitOps, "kalypso/dev")
	for path := range published {
		if strings.Contains(path, "hello-world-app") && published[path] != proposed[path] {
			t.Errorf("%s was held and changed", path)
		}
	}
	if got := w.Issues(forge.Open); len(got) != 1 {
		t.Errorf("%d issues are open, want one for the workload: %+v", len(got), got)
	}
}

// reopened returns a client with empty caches.
func reopened(t *testing.T, old *git.Client) *git.Client {
	client := &git.Client{CacheDir: old.CacheDir, Map: old.Map, Env: old.Env}
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func TestAbandonedRoundDoesNotBlock(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := w.interrupted(ctx, func(write string) error {
		if write == "pushed" {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error: %v", err)
	}
	w.round("dev")
	w.OpenPullRequest()
}
