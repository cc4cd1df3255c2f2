// Package fleettest has the hello fleet on a forge, for tests.
package fleettest

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
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/gitea/giteatest"
	"github.com/kalypso-io/kalypso/internal/forge/local"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
)

// Fleet is the hello fleet on a forge, for one test.
type Fleet struct {
	testing.TB
	Host forge.Forge
	URL  string
	// Dir holds the bare repositories.
	Dir string
	// Notify tells the forge that repositories were changed directly.
	Notify func() error
	// Client reads and writes the repositories.
	Client *git.Client
}

// NewLocal returns an empty fleet on a local forge.
func NewLocal(t testing.TB) (*Fleet, *local.Forge) {
	t.Helper()
	var handler http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	host, err := local.Open(t.Context(), local.Options{Dir: dir, URL: server.URL, PublicRead: func(*http.Request) bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = host.Close() })
	handler = host.Handler()
	f := New(t, server.URL, filepath.Join(dir, "repos"))
	f.Host, f.Notify = host, func() error { return host.Sync(t.Context()) }
	return f, host
}

// NewGiteaFleet returns the fleet on a Gitea. Git reads its repositories in place; only the API goes over HTTP.
func NewGiteaFleet(t *testing.T) (*Fleet, *Gitea) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range Repositories {
		out, err := Git("init", "-q", "--bare", "-b", "main", filepath.Join(dir, "platform", name+".git")).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	gitea := NewGitea(t, dir)
	f := New(t, gitea.URL, dir)
	f.Host = gitea.As(giteatest.Token)
	f.PushExample()
	return f, gitea
}

// New returns a fleet on a forge at a URL, whose repositories are read and written in a folder.
func New(t testing.TB, url, dir string) *Fleet {
	client := &git.Client{CacheDir: t.TempDir(), Env: func(string) string { return "" }, Map: []git.Mapping{{From: url, To: dir}}}
	t.Cleanup(func() { _ = client.Close() })
	return &Fleet{TB: t, URL: url, Dir: dir, Client: client, Notify: func() error { return nil }}
}

// The paths of two of the repositories.
const (
	ControlPlane = "platform/control-plane"
	GitOps       = "platform/gitops"
)

// Repositories are those of the example, below "platform".
var Repositories = []string{"control-plane", "gitops", "hello-world-app", "platform-services"}

// Create creates a repository below "platform".
func (f *Fleet) Create(name string) {
	f.Helper()
	if _, err := f.Host.(forge.Creator).CreateRepository(f.Context(), forge.NewRepository{Owner: "platform", Name: name}); err != nil {
		f.Fatal(err)
	}
}

// Git is the git program, without the configuration of the machine.
func Git(args ...string) *exec.Cmd {
	cmd := exec.Command("git", args...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	return cmd
}

// PushExample pushes the branches of the example. The folder of an example's path is its repository, then comes the branch.
func (f *Fleet) PushExample() {
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
		f.Fatal(err)
	}
	for key, files := range branches {
		f.Push(key[0], key[1], files)
	}
}

// Time is when everything in the world is committed, so that runs can be compared.
var Time = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// Push commits files to a branch, from whatever it is at. Empty content deletes a file. It returns the commit.
// If the push is refused, because a server pushed meanwhile, it starts over.
func (f *Fleet) Push(repo, branch string, files map[string]string) string {
	f.Helper()
	r, err := f.Client.Open(f.Context(), f.URL+"/"+repo)
	if err != nil {
		f.Fatal(err)
	}
	for {
		commit, err := pushOnto(f.Context(), r, branch, files)
		if errors.Is(err, git.ErrMoved) {
			continue
		}
		if err != nil {
			f.Fatal(err)
		}
		f.Sync()
		return commit
	}
}

func pushOnto(ctx context.Context, r *git.Repository, branch string, files map[string]string) (string, error) {
	head, err := r.Resolve(ctx, branch, "")
	if err != nil && !errors.Is(err, git.ErrEmpty) && !errors.Is(err, git.ErrBranchNotFound) {
		return "", err
	}
	request := git.CommitRequest{
		Parent: head, Put: map[string][]byte{}, Message: "change", When: Time, Author: git.Person{Name: "somebody", Email: "s@localhost"},
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

// Sync tells the forge that repositories were changed directly.
func (f *Fleet) Sync() {
	if err := f.Notify(); err != nil {
		f.Fatal(err)
	}
}

// Edit replaces a text in a file of a branch of the control plane.
func (f *Fleet) Edit(branch, path, old, replacement string) {
	f.Helper()
	content := f.Files(ControlPlane, branch)[path]
	if !strings.Contains(content, old) {
		f.Fatalf("%s of %s does not contain %q", path, branch, old)
	}
	f.Push(ControlPlane, branch, map[string]string{path: strings.ReplaceAll(content, old, replacement)})
}

// Files returns the files of a branch; nil when there is no such branch.
func (f *Fleet) Files(repo, branch string) map[string]string {
	f.Helper()
	r, err := f.Client.Open(f.Context(), f.URL+"/"+repo)
	if err != nil {
		f.Fatal(err)
	}
	head, err := r.Resolve(f.Context(), branch, "")
	if err != nil {
		return nil
	}
	entries, err := r.Tree(head).Files(f.Context(), "")
	if err != nil {
		f.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		content, err := r.Tree(head).Read(f.Context(), e, 1<<20)
		if err != nil {
			f.Fatal(err)
		}
		files[e.Path] = string(content)
	}
	return files
}

// Repo returns a repository of the forge by its path.
func (f *Fleet) Repo(path string) forge.Repository {
	f.Helper()
	r, err := f.Host.Repository(f.URL + "/" + path)
	if err != nil {
		f.Fatal(err)
	}
	return r
}

// PullRequests returns all pull requests of the GitOps repository.
func (f *Fleet) PullRequests() []forge.PullRequest {
	f.Helper()
	changes, err := f.Repo(GitOps).FindPullRequests(f.Context(), forge.PullRequestFilter{})
	if err != nil {
		f.Fatal(err)
	}
	return changes
}

// OpenPullRequest returns the one open pull request of the GitOps repository.
func (f *Fleet) OpenPullRequest() forge.PullRequest {
	f.Helper()
	var open []forge.PullRequest
	for _, c := range f.PullRequests() {
		if c.State == forge.Open {
			open = append(open, c)
		}
	}
	if len(open) != 1 {
		f.Fatalf("%d changes are open, want one", len(open))
	}
	return open[0]
}

// Merge merges the open pull request of the GitOps repository.
func (f *Fleet) Merge() {
	f.Helper()
	c := f.OpenPullRequest()
	if _, err := f.Repo(GitOps).MergePullRequest(f.Context(), c.Number, forge.Merge{Head: c.Head.Commit}); err != nil {
		f.Fatal(err)
	}
}

// Status returns the state of a status of a commit of the GitOps repository; empty if it has none.
func (f *Fleet) Status(commit, context string) forge.StatusState {
	f.Helper()
	statuses, err := f.Repo(GitOps).Statuses(f.Context(), commit)
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range statuses {
		if s.Context == context {
			return s.State
		}
	}
	return ""
}

// Head returns the commit of a branch; empty if it does not exist.
func (f *Fleet) Head(repo, branch string) string {
	f.Helper()
	r, err := f.Client.Open(f.Context(), f.URL+"/"+repo)
	if err != nil {
		f.Fatal(err)
	}
	head, err := r.Resolve(f.Context(), branch, "")
	if err != nil && !errors.Is(err, git.ErrBranchNotFound) && !errors.Is(err, git.ErrEmpty) {
		f.Fatal(err)
	}
	return head.Hash
}

// Describe says everything about the GitOps repository that a round is responsible for, the same in every world.
func (f *Fleet) Describe() string {
	f.Helper()
	var b strings.Builder
	for _, branch := range []string{"dev", "kalypso/dev"} {
		fmt.Fprintf(&b, "%s at %s\n", branch, f.Head(GitOps, branch))
	}
	for _, c := range f.PullRequests() {
		fmt.Fprintf(&b, "change %d %s %q %v head %s\n%s\n", c.Number, c.State, c.Title, c.Labels, c.Head.Commit, c.Body)
		fmt.Fprintf(&b, "%s %s\n", pullrequest.StatusDeletions, f.Status(c.Head.Commit, pullrequest.StatusDeletions))
	}
	issues, err := f.Repo(GitOps).FindIssues(f.Context(), forge.IssueFilter{})
	if err != nil {
		f.Fatal(err)
	}
	for _, i := range issues {
		fmt.Fprintf(&b, "issue %d %s %q\n", i.Number, i.State, i.Title)
	}
	return strings.ReplaceAll(b.String(), f.URL, "URL")
}

// EditPullRequest edits a pull request of the GitOps repository.
func (f *Fleet) EditPullRequest(number int, edit forge.PullRequestEdit) {
	f.Helper()
	if err := f.Repo(GitOps).EditPullRequest(f.Context(), number, edit); err != nil {
		f.Fatal(err)
	}
}

// Issues returns the issues of the GitOps repository in a state.
func (f *Fleet) Issues(state forge.State) []forge.Issue {
	f.Helper()
	issues, err := f.Repo(GitOps).FindIssues(f.Context(), forge.IssueFilter{State: state})
	if err != nil {
		f.Fatal(err)
	}
	return issues
}

// Branches returns the names of the branches of a repository, sorted.
func (f *Fleet) Branches(repo string) []string {
	f.Helper()
	r, err := f.Client.Open(f.Context(), f.URL+"/"+repo)
	if err != nil {
		f.Fatal(err)
	}
	names, err := r.Branches(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// Shop returns the source of an application.
func Shop() map[string]string {
	return map[string]string{
		"workload.yaml": `apiVersion: scheduler.kalypso.io/v1alpha1
kind: Workload
metadata:
  name: shop
spec:
  deploymentTargets:
    - name: functional-test
      environment: dev
      manifests: {repo: ../shop-gitops, branch: dev, path: ./functional-test}
    - name: uat-test
      environment: stage
      manifests: {repo: ../shop-gitops, branch: stage, path: ./uat-test}
`,
		"delivery.yaml": `apiVersion: app.kalypso.io/v1alpha1
kind: Delivery
metadata:
  name: shop
spec:
  environments:
    - {name: dev, autoMerge: true}
    - {name: stage, promotion: {after: [dev]}}
`,
		"helm/Chart.yaml":  "apiVersion: v2\nname: shop\nversion: 0.1.0\n",
		"helm/values.yaml": "image: {repository: registry.example/shop, tag: none}\nreplicas: 1\ngreeting: hello\n",
		"helm/templates/deployment.yaml": `apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec:
      containers:
        - name: shop
          image: {{ .Values.image.repository }}:{{ .Values.image.tag }}
          env: [{name: GREETING, value: {{ .Values.greeting | quote }}}]
          resources: {limits: {cpu: 100m, memory: 64Mi}}
`,
		"main.go": "package main\n",
	}
}
