package sample

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/local"
	"github.com/kalypso-io/kalypso/internal/git"
)

// newPublisher publishes to a forge of its own, in place.
func newPublisher(t *testing.T) (*Publisher, []Repository) {
	t.Helper()
	at, dir := Site{URL: "http://127.0.0.1:8080"}, t.TempDir()
	host, err := local.Open(t.Context(), local.Options{Dir: dir, URL: at.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = host.Close() })
	client := &git.Client{CacheDir: t.TempDir(), Map: []git.Mapping{{From: at.URL, To: filepath.Join(dir, "repos")}}, Env: func(string) string { return "" }}
	t.Cleanup(func() { _ = client.Close() })
	all, err := Repositories(at)
	if err != nil {
		t.Fatal(err)
	}
	return &Publisher{Forge: host, Client: client, Author: git.Person{Name: "Ann", Email: "ann@example.com"}, When: time.Unix(1_800_000_000, 0)}, all
}

// heads are the commits of all branches.
func heads(t *testing.T, p *Publisher, all []Repository) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, r := range all {
		repo, err := p.Client.Open(t.Context(), r.URL)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range r.Branches {
			head, err := repo.Resolve(t.Context(), b.Name, "")
			if err != nil {
				t.Fatal(err)
			}
			found[r.Name+"/"+b.Name] = head.Hash
		}
	}
	return found
}

// TestPublishGoesOn: killed after any repository and begun again, it ends with the same commits as without.
func TestPublishGoesOn(t *testing.T) {
	p, all := newPublisher(t)
	if err := p.Publish(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	want := heads(t, p, all)
	again, _ := newPublisher(t)
	killed := errors.New("killed")
	for n := 1; n <= len(all); n++ {
		made := 0
		again.Made = func(string) error {
			if made++; made > n {
				return killed
			}
			return nil
		}
		if err := again.Publish(t.Context(), all); n < len(all) && !errors.Is(err, killed) || n == len(all) && err != nil {
			t.Fatalf("repository %d: %v", n, err)
		}
	}
	for name, head := range heads(t, again, all) {
		if head != want[name] {
			t.Errorf("%s is at %s, and without being killed at %s", name, head, want[name])
		}
	}
}

func TestPublishPinsTheFirstCommitAndProtects(t *testing.T) {
	p, all := newPublisher(t)
	if err := p.Publish(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	at := heads(t, p, all)
	repo, err := p.Client.Open(t.Context(), all[0].URL)
	if err != nil {
		t.Fatal(err)
	}
	head, err := repo.Resolve(t.Context(), "stage", "")
	if err != nil {
		t.Fatal(err)
	}
	if text := readFile(t, repo.Tree(head), "base-repo.yaml"); !strings.Contains(text, "commit: "+at["control-plane/main"]) {
		t.Errorf("stage begins with\n%s", text)
	}
	on, err := p.Forge.Repository(all[1].URL)
	if err != nil {
		t.Fatal(err)
	}
	got, err := on.(forge.Protector).Protection(t.Context(), "stage")
	if err != nil || !got.ChangesOnly || len(got.Checks) != 2 {
		t.Errorf("%s: got %+v, %v, want pull requests with checks only", all[1].Name, got, err)
	}
}

// TestPublishLeavesForeignRepositoriesAlone: one that has something in it, and was not made for the sample.
func TestPublishLeavesForeignRepositoriesAlone(t *testing.T) {
	p, all := newPublisher(t)
	if err := p.Publish(t.Context(), all[2:3]); err != nil {
		t.Fatal(err)
	}
	p.Ours = func(url string) bool { return url == all[0].URL }
	if err := p.Publish(t.Context(), all[2:3]); !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), all[2].URL) {
		t.Errorf("got %v", err)
	}
	p.Ours = func(url string) bool { return url == all[2].URL }
	if err := p.Publish(t.Context(), all[2:3]); err != nil {
		t.Errorf("its own: %v", err)
	}
	p.Forge = onlyForge{p.Forge}
	if err := p.Publish(t.Context(), all); err == nil || !strings.Contains(err.Error(), "cannot create repositories") {
		t.Errorf("got %v", err)
	}
}

// onlyForge cannot create repositories.
type onlyForge struct{ forge.Forge }

func readFile(t *testing.T, tree *git.Tree, path string) string {
	t.Helper()
	found, err := tree.Files(context.Background(), path)
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	text, err := tree.Read(context.Background(), found[0], 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
