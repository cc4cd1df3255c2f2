package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	hellofleet "github.com/kalypso-io/kalypso/examples/hello-fleet"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/gitea/giteatest"
	"github.com/kalypso-io/kalypso/internal/forge/local"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve"
)

// world is the hello fleet on a forge, and the flows of the server on it.
type world struct {
	testing.TB
	flows *flows
	host  forge.Forge
	url   string
	// dir holds the bare repositories, look tells the forge to look at what was pushed behind its back.
	dir  string
	look func() error
}

// The paths of its repositories.
const (
	controlPlaneRepo = "platform/control-plane"
	gitOpsRepo       = "platform/gitops"
)

// exampleRepositories are those of the example, below "platform".
var exampleRepositories = []string{"control-plane", "gitops", "hello-world-app", "platform-services"}

// newWorld is a world on the local forge.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := newEmptyWorld(t)
	for _, name := range exampleRepositories {
		w.create(name)
	}
	w.pushExample()
	return w
}

// newEmptyWorld is a world on the local forge without repositories.
func newEmptyWorld(t testing.TB) *world {
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
	w := &world{TB: t, host: host, url: server.URL, dir: filepath.Join(dir, "repos"), flows: newFlows(t)}
	w.look = func() error { return host.Sync(t.Context()) }
	w.flows.serveLocally(host, git.Mapping{From: server.URL, To: w.dir})
	return w
}

// create creates a repository below "platform".
func (w *world) create(name string) {
	w.Helper()
	if _, err := w.host.(forge.Creator).CreateRepository(w.Context(), forge.NewRepository{Owner: "platform", Name: name}); err != nil {
		w.Fatal(err)
	}
}

// newFlows are flows that know no forge yet.
func newFlows(t testing.TB) *flows {
	client := &git.Client{CacheDir: t.TempDir(), Env: func(string) string { return "" }}
	t.Cleanup(func() { _ = client.Close() })
	return &flows{
		board: &serve.Board{}, client: client, cache: &fleet.Cache{}, memory: &schedule.Memory{},
		commits: repository.Committer{Client: client, Author: git.Person{Name: "Kalypso", Email: "kalypso@localhost"}},
	}
}

// newGiteaWorld is a world on a Gitea. Git reads its repositories in place; only the API goes over HTTP.
func newGiteaWorld(t *testing.T) (*world, *realGitea) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range exampleRepositories {
		out, err := gitCommand("init", "-q", "--bare", "-b", "main", filepath.Join(dir, "platform", name+".git")).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	gitea := newRealGitea(t, dir)
	w := &world{TB: t, url: gitea.URL, dir: dir, flows: newFlows(t), look: func() error { return nil }}
	w.flows.client.Map = []git.Mapping{{From: gitea.URL, To: dir}}
	w.as(gitea, giteatest.Token)
	w.pushExample()
	return w, gitea
}

// gitCommand is the git program, without anybody's configuration.
func gitCommand(args ...string) *exec.Cmd {
	cmd := exec.Command("git", args...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	return cmd
}

// as makes the flows use another token. Who waits for the forge does so on a clock of its own.
func (w *world) as(g *realGitea, token string) {
	w.host = g.Connect(g.t, token, transport.Config{Clock: forgetest.NewClock(worldTime), Timeout: time.Minute})
	w.flows.forges = forges{w.host}
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
// Like somebody whose push is refused since a server pushed meanwhile, it starts over.
func (w *world) push(repo, branch string, files map[string]string) string {
	w.Helper()
	r, err := w.flows.client.Open(w.Context(), w.url+"/"+repo)
	if err != nil {
		w.Fatal(err)
	}
	for {
		commit, err := pushOnto(w.Context(), r, branch, files)
		if errors.Is(err, git.ErrMoved) {
			continue
		}
		if err != nil {
			w.Fatal(err)
		}
		w.sync()
		return commit
	}
}

func pushOnto(ctx context.Context, r *git.Repository, branch string, files map[string]string) (string, error) {
	head, err := r.Resolve(ctx, branch, "")
	if err != nil && !errors.Is(err, git.ErrEmpty) && !errors.Is(err, git.ErrBranchNotFound) {
		return "", err
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
	commit, err := r.Commit(ctx, request)
	if err != nil {
		return "", err
	}
	return commit.Hash, r.Push(ctx, branch, head.Hash, commit)
}

func (w *world) sync() {
	if err := w.look(); err != nil {
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

func (w *world) round(environment string) *schedule.Outcome {
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

func (w *world) changes() []forge.PullRequest {
	w.Helper()
	changes, err := w.repo(gitOpsRepo).FindPullRequests(w.Context(), forge.PullRequestFilter{})
	if err != nil {
		w.Fatal(err)
	}
	return changes
}

// living returns the one open change.
func (w *world) living() forge.PullRequest {
	w.Helper()
	var open []forge.PullRequest
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
	if _, err := w.repo(gitOpsRepo).MergePullRequest(w.Context(), c.Number, forge.Merge{Head: c.Head.Commit}); err != nil {
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
		fmt.Fprintf(&b, "%s %s\n", pullrequest.StatusDeletions, w.status(c.Head.Commit, pullrequest.StatusDeletions))
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

func (w *world) change(number int, edit forge.PullRequestEdit) {
	w.Helper()
	if err := w.repo(gitOpsRepo).EditPullRequest(w.Context(), number, edit); err != nil {
		w.Fatal(err)
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
