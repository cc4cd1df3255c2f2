package repository

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

func TestRepositoriesElsewhereCannotPointToThisMachine(t *testing.T) {
	const elsewhere = "https://example.com/org/cp"
	r := NewReader(&git.Client{
		Map: []git.Mapping{{From: "https://example.com/mapped", To: "/clones"}},
		Env: func(string) string { return "" },
	})
	for _, url := range []string{"/etc", "file:///etc", ""} {
		if got, err := r.Resolve(elsewhere, url); err == nil {
			t.Errorf("%q: got %q, want an error", url, got)
		}
	}
	for repository, url := range map[string]string{
		elsewhere:                     "https://example.com/mapped/app",
		"/fleet/control-plane":        "/fleet/gitops",
		"https://example.com/mapped/": "/fleet/gitops",
	} {
		if got, err := r.Resolve(repository, url); err != nil || got != url {
			t.Errorf("%q of %q: got %q and error %v", url, repository, got, err)
		}
	}
}

func TestMissingBranchIsReportedOnce(t *testing.T) {
	err := noBranch(&git.Error{Kind: git.ErrBranchNotFound, Op: "read"}, git.ErrBranchNotFound)
	if !errors.Is(err, schedule.ErrNoBranch) || !errors.Is(err, git.ErrBranchNotFound) {
		t.Errorf("%v is not of both kinds", err)
	}
	if strings.Contains(err.Error(), schedule.ErrNoBranch.Error()) {
		t.Errorf("got %q, which says the same twice", err)
	}
	if err := noBranch(errors.New("other"), git.ErrBranchNotFound); errors.Is(err, schedule.ErrNoBranch) {
		t.Errorf("another error became %v", err)
	}
}

func TestNoCommitIsTold(t *testing.T) {
	r := NewReader(&git.Client{Env: func(string) string { return "" }})
	repository := t.TempDir()
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"commit", "-q", "--allow-empty", "-m", "one"}} {
		command := exec.Command("git", append([]string{"-C", repository, "-c", "user.name=n", "-c", "user.email=e@localhost"}, args...)...)
		command.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	_, err := r.Source(t.Context(), schedule.Location{Repo: repository, Branch: "main", Commit: "0123456"})
	if !errors.Is(err, schedule.ErrNoCommit) || !errors.Is(err, git.ErrCommitNotFound) || errors.Is(err, schedule.ErrNoBranch) {
		t.Errorf("got %v", err)
	}
	_, err = r.Source(t.Context(), schedule.Location{Repo: repository, Branch: "topic", Commit: "0123456"})
	if !errors.Is(err, schedule.ErrNoBranch) || errors.Is(err, schedule.ErrNoCommit) {
		t.Errorf("got %v", err)
	}
}

// A state that is not committed yet is read where the head of its branch would be, and nowhere else.
func TestStandIn(t *testing.T) {
	repository := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		command := exec.Command("git", append([]string{"-C", repository, "-c", "user.name=n", "-c", "user.email=e@localhost"}, args...)...)
		command.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull)
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(repository, "a.yaml"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run("init", "-q", "-b", "main")
	write("committed")
	run("add", "-A")
	run("commit", "-q", "-m", "one")
	run("branch", "dev")
	write("staged")
	run("add", "-A")

	client := &git.Client{Env: func(string) string { return "" }}
	work, err := client.WorkTree(t.Context(), repository, "")
	if err != nil {
		t.Fatal(err)
	}
	staged, err := work.Staged(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r := NewReader(client)
	r.StandIn(repository, "main", work.Repository(), staged)
	for at, want := range map[schedule.Location]string{
		{Repo: repository, Branch: "main"}:                               "staged",
		{Repo: repository}:                                               "staged",
		{Repo: repository + "/", Branch: "main"}:                         "staged",
		{Repo: repository, Branch: "main", Commit: schedule.Uncommitted}: "staged",
		{Repo: repository, Branch: "main", Commit: "HEAD"}:               "committed",
		{Repo: repository, Branch: "dev"}:                                "committed",
		{Repo: repository + ".git", Branch: "dev", Folder: repository}:   "staged",
	} {
		source, err := r.Source(t.Context(), at)
		if err != nil {
			t.Fatal(err)
		}
		content, err := source.Files[0].Read()
		if string(content) != want || err != nil || want == "committed" != (source.Commit != "") {
			t.Errorf("%+v: got %q of commit %q and error %v, want %q", at, content, source.Commit, err, want)
		}
	}
	if _, err := r.Source(t.Context(), schedule.Location{Repo: repository, Branch: "dev", Commit: schedule.Uncommitted}); err == nil {
		t.Error("another branch has the uncommitted state")
	}
}
