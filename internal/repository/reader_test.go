package repository

import (
	"errors"
	"os"
	"os/exec"
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
