package repository

import (
	"errors"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/scheduling"
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

func TestNoBranchSaysItsPieceOnce(t *testing.T) {
	err := noBranch(&git.Error{Kind: git.ErrBranchNotFound, Op: "read"}, git.ErrBranchNotFound)
	if !errors.Is(err, scheduling.ErrNoBranch) || !errors.Is(err, git.ErrBranchNotFound) {
		t.Errorf("%v is not of both kinds", err)
	}
	if strings.Contains(err.Error(), scheduling.ErrNoBranch.Error()) {
		t.Errorf("got %q, which says the same twice", err)
	}
	if err := noBranch(errors.New("other"), git.ErrBranchNotFound); errors.Is(err, scheduling.ErrNoBranch) {
		t.Errorf("another error became %v", err)
	}
}
