package repository_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/repository"
)

const ringsJSON = `{
  "version": 1,
  "environment": "prod",
  "stages": [{"name": "canary", "clusters": []}, {"name": "others", "clusters": []}],
  "refs": [{"file": "edge/shop/reconciler.yaml", "repo": "https://git.example/shop", "branch": "prod", "rings": ["canary", "others"]}]
}
`

const follows = "kind: GitRepository\nmetadata: {name: prod}\nspec:\n  url: https://git.example/shop\n  ref: {branch: prod}\n"

// TestRingsDifferFromTheirEnvironmentInRefsAlone compares the tree of a ring with that of the commit that it was derived from.
func TestRingsDifferFromTheirEnvironmentInRefsAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gitops")
	when := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	err := git.Create(t.Context(), dir, git.CreateRequest{
		Author: git.Person{Name: "Anna", Email: "anna@example.com"}, When: when,
		Branches: []git.NewBranch{{Name: "prod", Message: "Publish", Files: map[string][]byte{
			"fleet/.kalypso/rings.json": []byte(ringsJSON), "fleet/edge/shop/reconciler.yaml": []byte(follows),
			"fleet/edge/README.md": []byte("prod\n"), "other.yaml": []byte(follows),
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	client := &git.Client{CacheDir: t.TempDir()}
	committer := repository.Committer{Client: client, Author: git.Person{Name: "Kalypso", Email: "kalypso@example.com"}}
	at := hub.Source{Repository: dir, Ref: "prod", Path: "fleet"}
	merged, err := committer.Head(t.Context(), dir, "prod")
	if err != nil {
		t.Fatal(err)
	}
	derived, err := (&repository.Rings{Committer: committer}).Derive(t.Context(), at, "canary", merged)
	if err != nil {
		t.Fatal(err)
	}
	other := &repository.Rings{Committer: committer}
	if again, err := other.Derive(t.Context(), at, "canary", merged); err != nil || again != derived {
		t.Errorf("another server made %s of it, not %s (%v)", again, derived, err)
	}
	if err := committer.Push(t.Context(), dir, "prod-ring-canary", "", derived); err != nil {
		t.Fatal(err)
	}
	if from, err := other.Origin(t.Context(), dir, "prod-ring-canary", derived); err != nil || from != merged {
		t.Errorf("it was derived from %s, not %s (%v)", from, merged, err)
	}
	want := files(t, client, dir, "prod")
	want["fleet/edge/shop/reconciler.yaml"] = "kind: GitRepository\nmetadata: {name: prod}\nspec:\n  url: https://git.example/shop\n  ref: {branch: prod-ring-canary}\n"
	if diff := cmp.Diff(want, files(t, client, dir, "prod-ring-canary")); diff != "" {
		t.Errorf("the tree of the ring (-want +got):\n%s", diff)
	}
}

// files returns the files of a branch by path.
func files(t *testing.T, client *git.Client, dir, branch string) map[string]string {
	t.Helper()
	repo, err := client.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	head, err := repo.Resolve(t.Context(), branch, "")
	if err != nil {
		t.Fatal(err)
	}
	tree := repo.Tree(head)
	entries, err := tree.Files(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range entries {
		content, err := tree.Read(t.Context(), e, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		all[e.Path] = string(content)
	}
	return all
}
