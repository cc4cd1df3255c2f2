package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/scheduling"
)

func TestRelativeURLs(t *testing.T) {
	for _, tt := range []struct{ repository, url, want string }{
		{"/fleet/control-plane", ".", "/fleet/control-plane"},
		{"/fleet/control-plane", "../gitops", "/fleet/gitops"},
		{"https://example.com/org/cp", "../gitops", "https://example.com/org/gitops"},
		{"https://example.com/org/cp.git", "./sub", "https://example.com/org/cp.git/sub"},
		{"git@example.com:org/cp", "../gitops", "git@example.com:org/gitops"},
		{"https://example.com/cp", ".", "https://example.com/cp"},
	} {
		got, err := joinURL(tt.repository, tt.url)
		if err != nil || got != tt.want {
			t.Errorf("%q of %q: got %q and error %v, want %q", tt.url, tt.repository, got, err, tt.want)
		}
	}
	for _, tt := range []struct{ repository, url string }{
		{"https://example.com/org/cp", "../../.."},
		{"https://example.com/org/cp", "../../../other.com/x"},
		{"git@example.com:cp", "../../x"},
	} {
		if got, err := joinURL(tt.repository, tt.url); err == nil {
			t.Errorf("%q of %q: got %q, want an error: it leads to another host", tt.url, tt.repository, got)
		}
	}
}

func TestRepositoriesElsewhereCannotPointToThisMachine(t *testing.T) {
	const elsewhere = "https://example.com/org/cp"
	r := newRepositories(&git.Client{
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

func TestIsLocal(t *testing.T) {
	for location, want := range map[string]bool{
		"/a": true, "a/b": true, "file:///a": true, "./a:b": true,
		"https://h/a": false, "h:a": false, "git@h:a/b": false, "ssh://h/a": false,
	} {
		if got := isLocal(location); got != want {
			t.Errorf("%q: got %v", location, got)
		}
	}
}
