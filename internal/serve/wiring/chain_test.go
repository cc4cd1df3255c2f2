package wiring

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/hub/record"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// gitRun runs the git program in a repository.
func gitRun(t *testing.T, dir string, args ...string) {
	t.Helper()
	if out, err := fleettest.Git(append([]string{"-C", dir, "-c", "user.name=Ann", "-c", "user.email=ann@example.com"}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// TestRecordingReadsFilesOnly records a repository with a descriptor, a link to one, and a branch that is merged.
func TestRecordingReadsFilesOnly(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("the git program is not installed")
	}
	dir := t.TempDir()
	const descriptor = `apiVersion: hub.kalypso.io/v1alpha1
kind: DeploymentDescriptor
spec:
  workload: {name: shop}
  deploymentTarget: {name: east, environment: dev, manifests: {path: east}}
  workloadVersion: {version: 1.4.0}
`
	if err := os.WriteFile(filepath.Join(dir, "east.yaml"), []byte(descriptor), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("east.yaml", filepath.Join(dir, "link.yaml")); err != nil {
		t.Fatal(err)
	}
	gitRun(t, dir, "init", "-q", "-b", "main")
	gitRun(t, dir, "add", "-A")
	gitRun(t, dir, "commit", "-q", "-m", "first")
	gitRun(t, dir, "checkout", "-q", "-b", "topic")
	gitRun(t, dir, "commit", "-q", "--allow-empty", "-m", "topic")
	gitRun(t, dir, "checkout", "-q", "main")
	gitRun(t, dir, "merge", "-q", "--no-ff", "-m", "merge", "topic")

	client := &git.Client{Env: func(string) string { return "" }}
	defer client.Close()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	recorder := &record.Recorder{Repositories: repository.GitOpsBranches{Client: client}, Ledger: store, Now: time.Now}
	o, err := recorder.Branch(t.Context(), record.Branch{Repository: dir, Branch: "main", Kind: ledger.BranchApplication})
	if err != nil || len(o.Recorded) != 2 || len(o.Problems) > 0 {
		t.Fatalf("got %+v (%v), want two commits, without the one that was merged", o, err)
	}
	c, err := store.Commit(t.Context(), ledger.CleanRepository(dir), "main", "")
	if err != nil || len(c.Versions) != 1 || c.Versions[0].Version != "1.4.0" {
		t.Errorf("got %+v (%v)", c, err)
	}
}

func TestRecordingNeedsCommits(t *testing.T) {
	t.Parallel()
	client := &git.Client{Env: func(string) string { return "" }}
	defer client.Close()
	branches := repository.GitOpsBranches{Client: client}
	if _, err := branches.Head(t.Context(), t.TempDir(), "main"); err == nil || !strings.Contains(err.Error(), "plain folder") {
		t.Errorf("a plain folder: %v", err)
	}
	dir := filepath.Join(t.TempDir(), "repo")
	err := git.Create(t.Context(), dir, git.CreateRequest{
		Branches: []git.NewBranch{{Name: "main", Message: "first", Files: map[string][]byte{"large": make([]byte, 100)}}},
		Author:   git.Person{Name: "Ann", Email: "ann@example.com"}, When: time.Unix(0, 0), Bare: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := branches.Head(t.Context(), dir, "dev"); !errors.Is(err, record.ErrNoBranch) || !strings.Contains(err.Error(), "it has main") {
		t.Errorf("a branch that is not there: %v", err)
	}
	head, err := branches.Head(t.Context(), dir, "")
	if err != nil || head.Branch != "main" {
		t.Fatalf("the default branch: %+v (%v)", head, err)
	}
	files, err := head.Tree.List(t.Context(), record.Entry{})
	if err != nil || len(files) != 1 {
		t.Fatalf("got %+v (%v)", files, err)
	}
	if _, err := head.Tree.Read(t.Context(), files[0], 99); !errors.Is(err, record.ErrTooLarge) {
		t.Errorf("a large file: %v", err)
	}
}
