package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	hellofleet "github.com/kalypso-io/kalypso/examples/hello-fleet"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/local"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/scheduling"
)

// world is the hello fleet on a local forge, and the flows of the server on it.
type world struct {
	*testing.T
	flows *flows
	host  *local.Forge
	url   string
}

// The paths of its repositories.
const (
	controlPlaneRepo = "platform/control-plane"
	gitOpsRepo       = "platform/gitops"
)

func newWorld(t *testing.T) *world {
	t.Helper()
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	host, err := local.Open(t.Context(), local.Options{Dir: dir, URL: server.URL, PublicRead: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = host.Close() })
	handler = host.Handler()
	client := &git.Client{Env: func(string) string { return "" }}
	t.Cleanup(func() { _ = client.Close() })
	w := &world{T: t, host: host, url: server.URL, flows: &flows{
		client: client, cache: &fleet.Cache{}, memory: &scheduling.Memory{},
		commits: committer{client: client, author: git.Person{Name: "Kalypso", Email: "kalypso@localhost"}},
	}}
	w.flows.serveLocally(host, git.Mapping{From: server.URL, To: filepath.Join(dir, "repos")})
	for _, name := range []string{"control-plane", "gitops", "hello-world-app", "platform-services"} {
		if _, err := host.CreateRepository(t.Context(), forge.NewRepository{Owner: "platform", Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	w.pushExample()
	return w
}

// pushExample pushes the branches of the example. The folder of an example's path is its repository, then comes the branch.
func (w *world) pushExample() {
	branches := map[[2]string]map[string]string{}
	err := fs.WalkDir(hellofleet.Files(), ".", func(path string, d fs.DirEntry, err error) error {
		parts := strings.SplitN(path, "/", 3)
		if err != nil || d.IsDir() || len(parts) < 3 {
			return err
		}
		content, err := fs.ReadFile(hellofleet.Files(), path)
		key := [2]string{"platform/" + parts[0], parts[1]}
		if branches[key] == nil {
			branches[key] = map[string]string{}
		}
		branches[key][parts[2]] = string(content)
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	for key, files := range branches {
		w.push(key[0], key[1], files)
	}
}

// worldTime is when everything in the world is committed, so that runs can be compared.
var worldTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// push commits files to a branch, from whatever it is at. Empty content deletes a file. It returns the commit.
func (w *world) push(repo, branch string, files map[string]string) string {
	w.Helper()
	r, err := w.flows.client.Open(w.Context(), w.url+"/"+repo)
	if err != nil {
		w.Fatal(err)
	}
	head, err := r.Resolve(w.Context(), branch, "")
	if err != nil && !errors.Is(err, git.ErrEmpty) && !errors.Is(err, git.ErrBranchNotFound) {
		w.Fatal(err)
	}
	request := git.CommitRequest{
		Parent: head, Put: map[string][]byte{}, Message: "change", When: worldTime, Author: git.Person{Name: "somebody", Email: "s@localhost"},
	}
	for path, content := range files {
		if content == "" {
			request.Delete = append(request.Delete, path)
			continue
		}
		request.Put[path] = []byte(content)
	}
	commit, err := r.Commit(w.Context(), request)
	if err != nil {
		w.Fatal(err)
	}
	if err := r.Push(w.Context(), branch, head.Hash, commit); err != nil {
		w.Fatal(err)
	}
	w.sync()
	return commit.Hash
}

func (w *world) sync() {
	if err := w.host.Sync(w.Context()); err != nil {
		w.Fatal(err)
	}
}

// edit replaces a text in a file of a branch of the control plane.
func (w *world) edit(branch, path, old, replacement string) {
	w.Helper()
	content := w.files(controlPlaneRepo, branch)[path]
	if !strings.Contains(content, old) {
		w.Fatalf("%s of %s does not contain %q", path, branch, old)
	}
	w.push(controlPlaneRepo, branch, map[string]string{path: strings.ReplaceAll(content, old, replacement)})
}

// files returns the files of a branch; nil when there is no such branch.
func (w *world) files(repo, branch string) map[string]string {
	w.Helper()
	r, err := w.flows.client.Open(w.Context(), w.url+"/"+repo)
	if err != nil {
		w.Fatal(err)
	}
	head, err := r.Resolve(w.Context(), branch, "")
	if err != nil {
		return nil
	}
	entries, err := r.Tree(head).Files(w.Context(), "")
	if err != nil {
		w.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		content, err := r.Tree(head).Read(w.Context(), e, 1<<20)
		if err != nil {
			w.Fatal(err)
		}
		files[e.Path] = string(content)
	}
	return files
}

func (w *world) round(environment string) *scheduling.Outcome {
	w.Helper()
	outcome, err := w.flows.Round(w.Context(), w.url+"/"+controlPlaneRepo, environment)
	if err != nil {
		w.Fatal(err)
	}
	return outcome
}

func (w *world) repo(path string) forge.Repository {
	w.Helper()
	r, err := w.host.Repository(w.url + "/" + path)
	if err != nil {
		w.Fatal(err)
	}
	return r
}

func (w *world) changes() []forge.Change {
	w.Helper()
	changes, err := w.repo(gitOpsRepo).FindChanges(w.Context(), forge.ChangeFilter{})
	if err != nil {
		w.Fatal(err)
	}
	return changes
}

// living returns the one open change.
func (w *world) living() forge.Change {
	w.Helper()
	var open []forge.Change
	for _, c := range w.changes() {
		if c.State == forge.Open {
			open = append(open, c)
		}
	}
	if len(open) != 1 {
		w.Fatalf("%d changes are open, want one", len(open))
	}
	return open[0]
}

func (w *world) merge() {
	w.Helper()
	c := w.living()
	if _, err := w.repo(gitOpsRepo).MergeChange(w.Context(), c.Number, forge.Merge{Head: c.Head.Commit}); err != nil {
		w.Fatal(err)
	}
}

func (w *world) status(commit, context string) forge.StatusState {
	w.Helper()
	statuses, err := w.repo(gitOpsRepo).Statuses(w.Context(), commit)
	if err != nil {
		w.Fatal(err)
	}
	for _, s := range statuses {
		if s.Context == context {
			return s.State
		}
	}
	return ""
}

const westConfig = "cluster-types/west-us/west-us-config.yaml"

func TestRoundOpensOneChangeAndKeepsItUpToDate(t *testing.T) {
	w := newWorld(t)
	first := w.round("dev")
	if first.Change == nil || first.Change.Title != "dev: 10 added" {
		t.Fatalf("the first round: %v, change %+v", first.Did, first.Change)
	}
	if again := w.round("dev"); len(again.Did) > 0 {
		t.Errorf("a round without changes did %v", again.Did)
	}
	w.edit("dev", westConfig, "mysql://west:", "mysql://west-2:")
	second := w.round("dev")
	if second.Change.Number != first.Change.Number {
		t.Errorf("change %d, want %d updated in place", second.Change.Number, first.Change.Number)
	}
	config := w.files(gitOpsRepo, "kalypso/dev")["large/hello-world-app-performance-test/platform-config.yaml"]
	if !strings.Contains(config, "mysql://west-2:8806/db") {
		t.Errorf("the branch has\n%s", config)
	}
	w.merge()
	if after := w.round("dev"); after.Change != nil || len(w.changes()) != 1 {
		t.Errorf("after the merge: change %+v, did %v", after.Change, after.Did)
	}
	if diff := cmp.Diff(10, strings.Count(strings.Join(keys(w.files(gitOpsRepo, "dev")), "\n"), "/namespace.yaml")); diff != "" {
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

// TestRoundEndsTheSameWhereverItWasInterrupted ends a round after each of its steps, as a crash would, and runs it again.
func TestRoundEndsTheSameWhereverItWasInterrupted(t *testing.T) {
	whole := newWorld(t)
	prepare := func(w *world) {
		w.push(controlPlaneRepo, "dev", map[string]string{"broken.yaml": "apiVersion: v1\nkind: ["})
		w.edit("dev", "base-repo.yaml", "path: .", "path: .\n  commit: "+w.head(controlPlaneRepo, "main"))
	}
	prepare(whole)
	steps := whole.round("dev").Did
	if len(steps) < 6 {
		t.Fatalf("only %d steps: %v", len(steps), steps)
	}
	want := whole.describe()
	for n := range steps {
		t.Run(fmt.Sprint(n, " ", strings.Fields(steps[n])[0]), func(t *testing.T) {
			w := newWorld(t)
			prepare(w)
			left := n
			proposer := &scheduling.Proposer{
				Loader: w.flows.loader(), Committer: w.flows.commits, Forges: w.flows.forges,
				Step: func(string) error {
					if left--; left < 0 {
						return errCrash
					}
					return nil
				},
			}
			_, err := proposer.Round(t.Context(), scheduling.Request{ControlPlane: w.url + "/" + controlPlaneRepo, Environment: "dev"})
			if !errors.Is(err, errCrash) {
				t.Fatalf("the round was not interrupted: %v", err)
			}
			w.round("dev")
			if diff := cmp.Diff(want, w.describe()); diff != "" {
				t.Errorf("another state than without interruption (-want +got):\n%s", diff)
			}
		})
	}
}

var errCrash = errors.New("crash")

func (w *world) head(repo, branch string) string {
	w.Helper()
	head, err := w.flows.commits.Head(w.Context(), w.url+"/"+repo, branch)
	if err != nil {
		w.Fatal(err)
	}
	return head
}

// describe says everything about the GitOps repository that a round is responsible for, the same in every world.
func (w *world) describe() string {
	w.Helper()
	var b strings.Builder
	for _, branch := range []string{"dev", "kalypso/dev"} {
		fmt.Fprintf(&b, "%s at %s\n", branch, w.head(gitOpsRepo, branch))
	}
	for _, c := range w.changes() {
		fmt.Fprintf(&b, "change %d %s %q %v head %s\n%s\n", c.Number, c.State, c.Title, c.Labels, c.Head.Commit, c.Body)
		fmt.Fprintf(&b, "%s %s\n", scheduling.StatusDeletions, w.status(c.Head.Commit, scheduling.StatusDeletions))
	}
	issues, err := w.repo(gitOpsRepo).FindIssues(w.Context(), forge.IssueFilter{})
	if err != nil {
		w.Fatal(err)
	}
	for _, i := range issues {
		fmt.Fprintf(&b, "issue %d %s %q\n", i.Number, i.State, i.Title)
	}
	return strings.ReplaceAll(b.String(), w.url, "URL")
}

func TestTwoServersAtOnceOpenOneChange(t *testing.T) {
	w := newWorld(t)
	w.push(gitOpsRepo, "dev", map[string]string{"README.md": "started\n"})
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 5 { // each server tries again until the others are out of its way
				if _, err := w.flows.Round(t.Context(), w.url+"/"+controlPlaneRepo, "dev"); err == nil {
					return
				}
			}
		})
	}
	wait.Wait()
	w.living()
	if again := w.round("dev"); len(again.Did) > 0 {
		t.Errorf("afterwards a round did %v", again.Did)
	}
}

func TestWhatPeopleDoToAChangeIsRespectedOrMended(t *testing.T) {
	closed, title := forge.Closed, "my own words"
	tests := map[string]struct {
		person func(w *world, c forge.Change)
		check  func(w *world, c forge.Change)
	}{
		"retitled: it says what it does again": {
			func(w *world, c forge.Change) { w.change(c.Number, forge.ChangeEdit{Title: &title}) },
			func(w *world, c forge.Change) {
				w.round("dev")
				if got := w.living().Title; got != c.Title {
					w.Errorf("title %q", got)
				}
			},
		},
		"branch deleted: it is there again": {
			func(w *world, _ forge.Change) {
				if err := w.repo(gitOpsRepo).(forge.Brancher).DeleteBranch(w.Context(), "kalypso/dev"); err != nil {
					w.Fatal(err)
				}
			},
			func(w *world, c forge.Change) {
				w.round("dev")
				if got := w.head(gitOpsRepo, "kalypso/dev"); got != c.Head.Commit {
					w.Errorf("the branch is at %q", got)
				}
			},
		},
		"pushed to: the branch has what is wanted again": {
			func(w *world, _ forge.Change) {
				w.push(gitOpsRepo, "kalypso/dev", map[string]string{"mine.txt": "mine"})
			},
			func(w *world, c forge.Change) {
				w.round("dev")
				if got := w.living().Head.Commit; got != c.Head.Commit {
					w.Errorf("the branch is at %q", got)
				}
			},
		},
		"closed: it stays closed until something else is wanted": {
			func(w *world, c forge.Change) { w.change(c.Number, forge.ChangeEdit{State: &closed}) },
			func(w *world, _ forge.Change) {
				if o := w.round("dev"); o.Change != nil || o.Waits == "" {
					w.Errorf("opened again: %v", o.Did)
				}
				w.edit("dev", westConfig, "mysql://west:", "mysql://west-2:")
				w.round("dev")
				w.living()
			},
		},
		"the base moves: the change is made anew on top": {
			func(w *world, _ forge.Change) { w.push(gitOpsRepo, "dev", map[string]string{"notes.md": "mine\n"}) },
			func(w *world, c forge.Change) {
				w.round("dev")
				if got := w.living(); got.Number != c.Number || got.Head.Commit == c.Head.Commit || w.files(gitOpsRepo, "kalypso/dev")["notes.md"] == "" {
					w.Errorf("the change is still %+v", got)
				}
			},
		},
		"somebody does it by hand: the change has nothing to do and is closed": {
			func(w *world, _ forge.Change) {
				files := w.files(gitOpsRepo, "kalypso/dev")
				w.push(gitOpsRepo, "dev", files)
			},
			func(w *world, c forge.Change) {
				w.round("dev")
				for _, got := range w.changes() {
					if got.Number == c.Number && got.State == forge.Open {
						w.Errorf("still open")
					}
				}
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c := w.round("dev").Change
			test.person(w, *c)
			test.check(w, *c)
		})
	}
}

func (w *world) change(number int, edit forge.ChangeEdit) {
	w.Helper()
	if err := w.repo(gitOpsRepo).EditChange(w.Context(), number, edit); err != nil {
		w.Fatal(err)
	}
}

func TestRemovalsOverTheBudgetWaitForALabel(t *testing.T) {
	w := newWorld(t)
	w.edit("dev", "gitops-repo.yaml", "branch: dev", "branch: dev\n  autoMerge: true")
	if o := w.round("dev"); o.Change.State != forge.Merged {
		t.Fatalf("not merged automatically: %v, waits: %s", o.Did, o.Waits)
	}
	w.push(controlPlaneRepo, "dev", map[string]string{"scheduling/platform/platform-services-policy.yaml": ""})
	o := w.round("dev")
	c := w.living()
	if o.Waits == "" || w.status(c.Head.Commit, scheduling.StatusDeletions) != forge.Failure {
		t.Fatalf("it does not wait: %v, %+v", o.Did, o)
	}
	repo := w.repo(gitOpsRepo)
	if err := repo.EnsureLabel(t.Context(), forge.Label{Name: scheduling.LabelAllowDeletions}); err != nil {
		t.Fatal(err)
	}
	if err := repo.AddLabels(t.Context(), c.Number, scheduling.LabelAllowDeletions); err != nil {
		t.Fatal(err)
	}
	if o := w.round("dev"); o.Change.State != forge.Merged || w.status(c.Head.Commit, scheduling.StatusDeletions) != forge.Success {
		t.Errorf("not merged though agreed to: %v, waits: %s", o.Did, o.Waits)
	}
}

func TestProblemsBecomeIssuesAndAreClosedWhenMended(t *testing.T) {
	w := newWorld(t)
	w.push(controlPlaneRepo, "dev", map[string]string{"broken.yaml": "apiVersion: v1\nkind: ["})
	w.round("dev")
	w.round("dev")
	if got := w.issues(forge.Open); len(got) != 1 || !strings.Contains(got[0].Title, "broken.yaml") {
		t.Fatalf("open issues: %+v", got)
	}
	w.push(controlPlaneRepo, "dev", map[string]string{"broken.yaml": ""})
	w.round("dev")
	if got := w.issues(forge.Open); len(got) != 0 {
		t.Errorf("still open: %+v", got)
	}
}

func (w *world) issues(state forge.State) []forge.Issue {
	w.Helper()
	issues, err := w.repo(gitOpsRepo).FindIssues(w.Context(), forge.IssueFilter{State: state})
	if err != nil {
		w.Fatal(err)
	}
	return issues
}

func TestOnlyOurOwnBranchesAndFilesChange(t *testing.T) {
	w := newWorld(t)
	mine := map[string]string{"README.md": "mine\n", "drone/notes.md": "mine\n", "apps/app.yaml": "a: b\n"}
	w.push(gitOpsRepo, "dev", mine)
	w.push(gitOpsRepo, "feature", mine)
	feature, stage := w.head(gitOpsRepo, "feature"), w.head(controlPlaneRepo, "stage")
	w.round("dev")
	w.merge()
	w.push(controlPlaneRepo, "dev", map[string]string{"cluster-types/east-us/drone/drone-cluster-type.yaml": ""})
	w.round("dev")
	w.merge()
	files := w.files(gitOpsRepo, "dev")
	for path, content := range mine {
		if files[path] != content {
			t.Errorf("%s is %q now", path, files[path])
		}
	}
	if w.head(gitOpsRepo, "feature") != feature || w.head(controlPlaneRepo, "stage") != stage {
		t.Error("a branch of somebody else moved")
	}
	branches := w.branches(gitOpsRepo)
	if diff := cmp.Diff([]string{"dev", "feature", "kalypso/dev"}, branches); diff != "" {
		t.Errorf("branches (-want +got):\n%s", diff)
	}
}

func (w *world) branches(repo string) []string {
	w.Helper()
	r, err := w.flows.client.Open(w.Context(), w.url+"/"+repo)
	if err != nil {
		w.Fatal(err)
	}
	names, err := r.Branches(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	slices.Sort(names)
	return names
}

func TestAChangeOfTheControlPlaneSaysWhatItWouldDo(t *testing.T) {
	w := newWorld(t)
	content := w.files(controlPlaneRepo, "dev")[westConfig]
	repo := w.repo(controlPlaneRepo)
	if err := repo.(forge.Brancher).CreateBranch(t.Context(), "topic", w.head(controlPlaneRepo, "dev")); err != nil {
		t.Fatal(err)
	}
	w.push(controlPlaneRepo, "topic", map[string]string{westConfig: strings.ReplaceAll(content, "mysql://west:", "mysql://west-2:")})
	w.push(controlPlaneRepo, "dev", map[string]string{"notes.md": "the base moves on\n"})
	opened, err := repo.OpenChange(t.Context(), forge.NewChange{Head: "topic", Base: "dev", Title: "another database"})
	if err != nil {
		t.Fatal(err)
	}
	preview := func() []forge.Comment {
		t.Helper()
		if _, err := w.flows.Preview(t.Context(), w.url+"/"+controlPlaneRepo, opened); err != nil {
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

func TestRoundOfAnEnvironmentWhoseForgeIsNotConfigured(t *testing.T) {
	w := newWorld(t)
	w.flows.forges = nil
	_, err := w.flows.Round(context.Background(), w.url+"/"+controlPlaneRepo, "dev")
	if !errors.Is(err, forge.ErrInvalid) {
		t.Errorf("error: %v", err)
	}
}
