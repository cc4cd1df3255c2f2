package record_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/hub/record"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
)

// url is how documents name the repository, and clean is how the ledger does.
const (
	url   = "git@example.com:team/gitops.git"
	clean = "https://example.com/team/gitops"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// world is a GitOps repository, a ledger and a recorder.
type world struct {
	t      testing.TB
	client *git.Client
	git    *repositories
	ledger *sqlite.Ledger
	*record.Recorder
	commits int
}

// newWorld makes a repository whose branch "start" is not looked at.
func newWorld(t testing.TB) *world {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "gitops")
	err := git.Create(t.Context(), dir, git.CreateRequest{
		Branches: []git.NewBranch{{Name: "start", Message: "start", Files: map[string][]byte{"README.md": []byte("start")}}},
		Author:   git.Person{Name: "Ann", Email: "ann@example.com"}, When: noon, Bare: true,
	})
	must(t, err)
	client := &git.Client{Env: func(string) string { return "" }, Map: []git.Mapping{{From: clean, To: dir}}}
	t.Cleanup(func() { _ = client.Close() })
	w := &world{t: t, client: client, git: &repositories{client: client}, ledger: openLedger(t)}
	w.restart()
	return w
}

func openLedger(t testing.TB) *sqlite.Ledger {
	t.Helper()
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// restart is a new process on the same ledger.
func (w *world) restart() {
	w.Recorder = &record.Recorder{Repositories: w.git, Ledger: w.ledger, Now: func() time.Time { return noon }}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (w *world) repo() *git.Repository {
	w.t.Helper()
	r, err := w.client.Open(w.t.Context(), url)
	must(w.t, err)
	return r
}

// commit commits to a branch, which begins with it where it does not exist. An empty content deletes a file.
func (w *world) commit(branch string, files map[string]string) string {
	w.t.Helper()
	w.commits++
	parent, err := w.repo().Resolve(w.t.Context(), branch, "")
	if !errors.Is(err, git.ErrBranchNotFound) {
		must(w.t, err)
	}
	request := git.CommitRequest{
		Parent: parent, Put: map[string][]byte{"count": fmt.Append(nil, w.commits)}, Message: "change",
		Author: git.Person{Name: "Ann", Email: "ann@example.com"}, When: noon.Add(time.Duration(w.commits) * time.Minute),
	}
	for name, content := range files {
		if content == "" {
			request.Delete = append(request.Delete, name)
		} else {
			request.Put[name] = []byte(content)
		}
	}
	c, err := w.repo().Commit(w.t.Context(), request)
	must(w.t, err)
	must(w.t, w.repo().Push(w.t.Context(), branch, parent.Hash, c))
	return c.Hash
}

// move moves a branch by force.
func (w *world) move(branch, to string) {
	w.t.Helper()
	head, err := w.repo().Resolve(w.t.Context(), branch, "")
	must(w.t, err)
	c, err := w.repo().Resolve(w.t.Context(), branch, to)
	must(w.t, err)
	must(w.t, w.repo().Push(w.t.Context(), branch, head.Hash, c))
}

// record records a branch, which must succeed.
func (w *world) record(b record.Branch) *record.Outcome {
	w.t.Helper()
	o, err := w.Branch(w.t.Context(), b)
	must(w.t, err)
	return o
}

func platform(environment string) record.Branch {
	return record.Branch{Repository: url, Branch: "gitops", Kind: ledger.BranchPlatform, Environment: environment}
}

func application(environment string) record.Branch {
	return record.Branch{Repository: url, Branch: "gitops", Kind: ledger.BranchApplication, Environment: environment}
}

// recorded returns a commit of the branch as the ledger has it; an empty sha is the head.
func (w *world) recorded(sha string) ledger.Commit {
	w.t.Helper()
	c, err := w.ledger.Commit(w.t.Context(), clean, "gitops", sha)
	must(w.t, err)
	return c
}

// targets are the assignments of a commit, as <clusterType>/<target>.
func (w *world) targets(sha string) string {
	w.t.Helper()
	var names []string
	for _, a := range w.recorded(sha).Assignments {
		names = append(names, a.ClusterType+"/"+a.Target)
	}
	return strings.Join(names, " ")
}

// versions are those of a commit, as <environment>/<target>@<version>.
func (w *world) versions(sha string) string {
	w.t.Helper()
	var names []string
	for _, v := range w.recorded(sha).Versions {
		names = append(names, v.Environment+"/"+v.Target+"@"+v.Version)
	}
	return strings.Join(names, " ")
}

// problems are those of an outcome, as <kind> <file>:<line> <message>.
func problems(o *record.Outcome) string {
	var lines []string
	for _, p := range o.Problems {
		lines = append(lines, fmt.Sprintf("%s %s: %s", p.Kind, p.Position, p.Message))
	}
	return strings.Join(lines, "\n")
}

// inventory lists targets of the workload "shop".
func inventory(environment, clusterType string, targets ...string) string {
	var lines []string
	for _, target := range targets {
		lines = append(lines, fmt.Sprintf(`%q: {"workload": "shop", "workspace": "sales", "files": {}}`, target))
	}
	return fmt.Sprintf(`{"version": 1, "environment": %q, "clusterType": %q, "assignments": {%s}}`, environment, clusterType, strings.Join(lines, ", "))
}

// descriptor describes a target of the workload "shop", in a folder of that name.
func descriptor(environment, target, version string) string {
	return fmt.Sprintf(`apiVersion: hub.kalypso.io/v1alpha1
kind: DeploymentDescriptor
metadata: {name: shop-%[2]s}
spec:
  workload: {name: shop, application: {name: shop, workspace: {name: sales}}}
  deploymentTarget: {name: %[2]s, environment: %[1]s, manifests: {repo: %[4]s, branch: gitops, path: ./%[2]s}}
  workloadVersion: {version: %[3]s, build: 17, commit: 3b18e512, buildTime: "2026-11-20T10:00:00+01:00"}
`, environment, target, version, "https://example.com/team/gitops.git")
}

// merge makes a commit of its own the branch, which has the branch so far as its second parent.
func (w *world) merge(branch string) string {
	w.t.Helper()
	w.commit("topic", nil)
	dir := w.repo().Name
	w.run(dir, "update-ref", "refs/heads/merged", w.run(dir, "commit-tree", "-p", "topic", "-p", branch, "-m", "merge", "topic^{tree}"))
	head := w.run(dir, "rev-parse", "merged")
	w.run(dir, "update-ref", "refs/heads/"+branch, head)
	return head
}

func (w *world) delete(branch string) {
	w.t.Helper()
	w.run(w.repo().Name, "update-ref", "-d", "refs/heads/"+branch)
}

// run runs the git program.
func (w *world) run(dir string, args ...string) string {
	w.t.Helper()
	program, err := exec.LookPath("git")
	if err != nil {
		w.t.Skip("the git program is not installed")
	}
	cmd := exec.Command(program, append([]string{"-C", dir, "-c", "user.name=Ann", "-c", "user.email=ann@example.com"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

var errBroken = errors.New("broken")

// failing is a ledger that breaks after some commits.
type failing struct {
	record.Ledger
	after int
}

func (f *failing) RecordCommit(ctx context.Context, c ledger.Commit) error {
	if f.after == 0 {
		return errBroken
	}
	f.after--
	return f.Ledger.RecordCommit(ctx, c)
}
