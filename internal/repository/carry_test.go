package repository_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/chart/remote/remotetest"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule/carry"
)

// site is both sides of an air gap.
type site struct {
	t               *testing.T
	outside, inside string // folders with repositories
	registry        *remotetest.Registry
	from, to        string // hosts of the registries
	client          *remote.Client
	images          *remotetest.Registry
}

const (
	gitOpsURL = "https://git.example/platform/gitops"
	shopURL   = "https://git.example/team/shop"
)

func newSite(t *testing.T) *site {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("the git program is not installed")
	}
	s := &site{
		t: t, outside: t.TempDir(), inside: t.TempDir(), images: remotetest.NewRegistry(), registry: remotetest.NewRegistry(),
		client: &remote.Client{PlainHTTP: func(string) bool { return true }},
	}
	for registry, host := range map[*remotetest.Registry]*string{s.images: &s.from, s.registry: &s.to} {
		server := httptest.NewServer(registry)
		t.Cleanup(server.Close)
		*host = strings.TrimPrefix(server.URL, "http://")
	}
	for _, name := range []string{"platform/gitops", "team/shop"} {
		s.git("init", "-q", "-b", "prod", filepath.Join(s.outside, name))
	}
	return s
}

func (s *site) git(args ...string) string {
	s.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull,
		"GIT_AUTHOR_NAME=Ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=Ann", "GIT_COMMITTER_EMAIL=ann@example.com")
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit commits a file outside, and returns the commit.
func (s *site) commit(repository, file, content string) string {
	s.t.Helper()
	dir := filepath.Join(s.outside, repository)
	if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.git("-C", dir, "add", "-A")
	s.git("-C", dir, "commit", "-q", "-m", file)
	return s.git("-C", dir, "rev-parse", "HEAD")
}

// clientOf returns a client whose URLs lead to a folder.
func clientOf(t *testing.T, dir string) *git.Client {
	t.Helper()
	c := &git.Client{Map: []git.Mapping{{From: "https://git.example", To: dir}}, CacheDir: t.TempDir(), Env: func(string) string { return "" }}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

var (
	senderKey = ed25519.NewKeyFromSeed(bytes.Repeat([]byte("s"), ed25519.SeedSize))
	made      = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
)

// noCharts fails if a chart is rendered.
type noCharts struct{ carry.Renderer }

// bundle releases a version of the shop, and packs it some hours after made.
func (s *site) bundle(version, hours int) *carry.Archive {
	s.t.Helper()
	tag := fmt.Sprintf("%d.0", version)
	s.images.AddImage("team/shop", tag, "shop "+tag, "amd64", "arm64")
	s.commit("team/shop", "eu/manifests.yaml", fmt.Sprintf("apiVersion: v1\nkind: Pod\nspec: {containers: [{image: %s/team/shop:%s}]}\n", s.from, tag))
	reconciler := fmt.Sprintf("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: shop-%d}\nspec: {source: {repoURL: %s, targetRevision: prod, path: eu}}\n", version, shopURL)
	head := s.commit("platform/gitops", "drone/shop/reconciler.yaml", reconciler)
	dir := s.t.TempDir()
	layout, err := s.client.NewLayout(dir)
	if err != nil {
		s.t.Fatal(err)
	}
	packer := &carry.Packer{
		Repositories: &repository.Carried{Client: clientOf(s.t, s.outside), From: gitOpsURL}, Renderer: noCharts{},
		Registries: repository.CarriedRegistries{Client: s.client, Layout: layout},
	}
	m, err := packer.Gather(s.t.Context(), carry.Request{
		Environment: "prod", ClusterType: "drone", Made: made.Add(time.Duration(hours) * time.Hour),
		GitOps:      carry.GitOps{Repository: gitOpsURL, Branch: "prod", Commit: head},
		Assignments: []carry.Assignment{{Target: "shop", Files: map[string][]byte{"reconciler.yaml": []byte(reconciler)}}},
	}, dir)
	if err != nil || len(m.Missing) > 0 || len(m.Images) != 1 || len(m.Repositories) != 2 {
		s.t.Fatalf("got %+v, %v", m, err)
	}
	var b bytes.Buffer
	if err := carry.Write(&b, m, dir, senderKey); err != nil {
		s.t.Fatal(err)
	}
	archive, err := carry.Open(bytes.NewReader(b.Bytes()), int64(b.Len()), senderKey.Public().(ed25519.PublicKey))
	if err != nil {
		s.t.Fatal(err)
	}
	return archive
}

// errKilled is the error of a step that a kill prevented.
var errKilled = errors.New("killed")

// mortal fails before or after a step, as a process that is killed there.
type mortal struct {
	repository.Inside
	uploads carry.Uploader
	steps   *int // that are left
	after   bool
}

func (m mortal) step(do func() error) error {
	if *m.steps--; *m.steps < 0 && !m.after {
		return errKilled
	}
	err := do()
	if *m.steps < 0 && err == nil {
		return errKilled
	}
	return err
}

func (m mortal) Receive(ctx context.Context, repository string, from carry.Unpacked, name, old string) error {
	return m.step(func() error { return m.Inside.Receive(ctx, repository, from, name, old) })
}

func (m mortal) Write(ctx context.Context, repository, branch, file, message string, content []byte, when time.Time) error {
	return m.step(func() error { return m.Inside.Write(ctx, repository, branch, file, message, content, when) })
}

func (m mortal) Upload(ctx context.Context, from carry.Blobs, what carry.Artifact, repository, tag string) error {
	return m.step(func() error { return m.uploads.Upload(ctx, from, what, repository, tag) })
}

// apply applies a bundle, and is killed after some steps.
func (s *site) apply(a *carry.Archive, steps int, after bool) (*carry.Applied, error) {
	s.t.Helper()
	m := mortal{
		Inside:  repository.Inside{Client: clientOf(s.t, s.inside), Author: git.Person{Name: "Kalypso", Email: "kalypso@example.com"}},
		uploads: repository.CarriedRegistries{Client: s.client}, steps: &steps, after: after,
	}
	return (&carry.Applier{Inside: m, Records: m, Uploader: m, Registry: s.to}).Apply(s.t.Context(), a, carry.Expected{Environment: "prod", ClusterType: "drone"})
}

// head returns a branch inside; empty if there is none.
func (s *site) head(repo, branch string) string {
	s.t.Helper()
	inside := repository.Inside{Client: clientOf(s.t, s.inside)}
	all, err := inside.References(s.t.Context(), repo)
	if err != nil {
		s.t.Fatal(err)
	}
	return all[git.BranchReference(branch)]
}

// TestApplyIsKilledAnywhere: wherever it stops, clusters see a commit of the GitOps branch only with everything that it needs, an older
// bundle is refused once the newer one is recorded, and the next run completes it.
func TestApplyIsKilledAnywhere(t *testing.T) {
	s := newSite(t)
	first, second := s.bundle(1, 1), s.bundle(2, 2)
	clean := func() {
		s.inside = t.TempDir()
		if _, err := s.apply(first, 100, false); err != nil {
			t.Fatal(err)
		}
	}
	for _, after := range []bool{false, true} {
		ended := false
		for steps := 0; !ended; steps++ {
			clean()
			_, err := s.apply(second, steps, after)
			if ended = err == nil; !ended && !errors.Is(err, errKilled) {
				t.Fatalf("killed at step %d: %v", steps, err)
			}
			if s.head(gitOpsURL, "prod") == second.Manifest.GitOps.Commit {
				image := "team/shop:2.0@" + second.Manifest.Images[0].Digest
				if shop := s.head(shopURL, "prod"); shop != second.Manifest.Repositories[1].References[0].Commit || !slices.Contains(s.registry.List(), image) {
					t.Errorf("killed at step %d: the GitOps branch moved before the shop at %s and its image", steps, shop)
				}
			}
			recorded := s.head(gitOpsURL, carry.StateBranch("prod", "drone"))
			if _, err := s.apply(second, 100, false); err != nil {
				t.Fatalf("after step %d: %v", steps, err)
			}
			if again, err := s.apply(second, 100, false); err != nil || !again.Already || len(again.Moved) > 0 {
				t.Errorf("after step %d, applied twice: got %+v, %v", steps, again, err)
			}
			if _, err := s.apply(first, 100, false); !errors.Is(err, carry.ErrOlder) {
				t.Errorf("after step %d, an older bundle: got %v", steps, err)
			}
			if got := s.git("--git-dir", filepath.Join(s.inside, "platform/gitops"), "rev-list", "--count", carry.StateBranch("prod", "drone")); got != "2" {
				t.Errorf("after step %d: %s bundles are recorded, was at %s", steps, got, recorded)
			}
			s.git("--git-dir", filepath.Join(s.inside, "platform/gitops"), "fsck", "--strict")
		}
	}
}

// TestApplyRefusesTwoOfOneTime: two bundles of one time have no order.
func TestApplyRefusesTwoOfOneTime(t *testing.T) {
	s := newSite(t)
	first := s.bundle(1, 1)
	if _, err := s.apply(first, 100, false); err != nil {
		t.Fatal(err)
	}
	if _, err := s.apply(s.bundle(2, 1), 100, false); !errors.Is(err, carry.ErrOlder) || !strings.Contains(err.Error(), "another one that was made at the same time") {
		t.Errorf("got %v", err)
	}
}

// TestCarriedNames resolves branches, tags, and what may be either.
func TestCarriedNames(t *testing.T) {
	s := newSite(t)
	old := s.commit("team/shop", "a", "1")
	s.git("-C", filepath.Join(s.outside, "team/shop"), "tag", "-a", "v1", "-m", "one")
	s.git("-C", filepath.Join(s.outside, "team/shop"), "tag", "prod", old)
	head := s.commit("team/shop", "b", "2")
	carried := &repository.Carried{Client: clientOf(t, s.outside), From: "https://elsewhere.example/gitops"}
	if got, err := carried.Resolve(t.Context(), "./shop", "prod"); err == nil || !strings.Contains(err.Error(), "is relative") {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, local := range []string{filepath.Join(s.outside, "team/shop"), "file://" + filepath.Join(s.outside, "team/shop")} {
		if got, err := carried.Resolve(t.Context(), local, "prod"); err == nil || !strings.Contains(err.Error(), "is on this machine") {
			t.Errorf("%s: got %+v, %v", local, got, err)
		}
	}
	for name, want := range map[string]carry.Reference{
		"":                {Name: "refs/heads/prod", Commit: head},
		"prod":            {Name: "refs/heads/prod", Commit: head},
		"refs/heads/prod": {Name: "refs/heads/prod", Commit: head},
		"refs/tags/prod":  {Name: "refs/tags/prod", Commit: old},
		"v1":              {Name: "refs/tags/v1", Commit: old},
	} {
		for range 2 {
			if got, err := carried.Resolve(t.Context(), shopURL, name); err != nil || got != want {
				t.Errorf("%q: got %+v, %v", name, got, err)
			}
		}
	}
	if _, err := carried.Resolve(t.Context(), shopURL, "none"); !errors.Is(err, git.ErrBranchNotFound) {
		t.Errorf("got %v", err)
	}
	files, err := carried.Files(t.Context(), shopURL, carry.Reference{Name: "refs/heads/prod", Commit: old}, "")
	if err != nil || !slices.EqualFunc(files, []string{"a"}, func(f chart.File, name string) bool { return f.Path == name }) {
		t.Errorf("got %+v, %v", files, err)
	}
	if err := carried.Bundle(t.Context(), shopURL, []carry.Reference{{Name: "refs/heads/prod", Commit: head}}, io.Discard); err != nil {
		t.Error(err)
	}
}
