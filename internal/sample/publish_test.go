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
	for n := range all {
		if err := again.Publish(t.Context(), all[:n+1]); err != nil {
			t.Fatal(err)
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
	if err != nil || !got.PullRequestsOnly || len(got.Checks) != 2 {
		t.Errorf("%s: got %+v, %v, want pull requests with checks only", all[1].Name, got, err)
	}
}

// TestPublishLeavesForeignRepositoriesAlone: also one of the right name with nothing in it.
func TestPublishLeavesForeignRepositoriesAlone(t *testing.T) {
	p, all := newPublisher(t)
	host := &describing{Forge: p.Forge, descriptions: map[string]string{}}
	p.Forge, p.Mark = host, State{ID: "one"}.Mark()
	if err := p.Publish(t.Context(), all[2:3]); err != nil {
		t.Fatal(err)
	}
	if got := host.descriptions[all[2].URL]; got != all[2].Description+" (made by kalypso sample one)" {
		t.Errorf("it says about itself %q", got)
	}
	if err := p.Publish(t.Context(), all[2:3]); err != nil {
		t.Errorf("its own: %v", err)
	}
	p.Mark = State{ID: "two"}.Mark()
	if err := p.Publish(t.Context(), all[2:3]); !errors.Is(err, ErrForeign) || !strings.Contains(err.Error(), all[2].URL) {
		t.Errorf("got %v", err)
	}
	p.Forge = onlyForge{p.Forge}
	if err := p.Publish(t.Context(), all); err == nil || !strings.Contains(err.Error(), "cannot create repositories") {
		t.Errorf("got %v", err)
	}
}

// TestUnpublishRemovesOnlyItsOwn keeps repositories that existed before, and those whose mark a user removed.
func TestUnpublishRemovesOnlyItsOwn(t *testing.T) {
	p, all := newPublisher(t)
	host := &describing{Forge: p.Forge, descriptions: map[string]string{}}
	p.Forge, p.Mark = host, State{ID: "one"}.Mark()
	if err := p.Publish(t.Context(), all[:4]); err != nil {
		t.Fatal(err)
	}
	host.descriptions[all[1].URL] = "mine"
	if left, err := Unpublish(t.Context(), host, all, ""); err != nil || len(left) != len(all) {
		t.Errorf("without a mark: left %q, %v", left, err)
	}
	for range 2 {
		left, err := Unpublish(t.Context(), host, all, p.Mark)
		if err != nil || len(left) != 1 || left[0] != all[1].URL {
			t.Errorf("left %q, %v", left, err)
		}
	}
	if len(host.descriptions) != 1 {
		t.Errorf("there are still %q", host.descriptions)
	}
}

// describing is a forge that remembers what repositories say about themselves.
type describing struct {
	forge.Forge
	descriptions map[string]string
}

func (d *describing) CreateRepository(ctx context.Context, r forge.NewRepository) (forge.Repository, error) {
	on, err := d.Forge.(forge.Creator).CreateRepository(ctx, r)
	if err == nil {
		d.descriptions["http://127.0.0.1:8080/"+r.Owner+"/"+r.Name] = r.Description
	}
	return on, err
}

func (d *describing) Repository(url string) (forge.Repository, error) {
	on, err := d.Forge.Repository(url)
	return described{on, d, url}, err
}

type described struct {
	forge.Repository
	host *describing
	url  string
}

func (d described) Description(context.Context) (string, error) {
	text, ok := d.host.descriptions[d.url]
	if !ok {
		return "", forge.ErrNotFound
	}
	return text, nil
}

func (d described) Remove(context.Context) error {
	delete(d.host.descriptions, d.url)
	return nil
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
