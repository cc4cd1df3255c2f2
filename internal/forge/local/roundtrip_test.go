package local

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/git"
)

// The program's own git reads from this forge and writes to it.
func TestOurOwnGit(t *testing.T) {
	f := serve(t, Options{})
	r := newRepository(t, f)
	secret, _, err := f.CreateToken(t.Context(), "scheduler", Account{Name: "scheduler", Right: Write})
	if err != nil {
		t.Fatal(err)
	}
	client := &git.Client{CacheDir: t.TempDir(), Env: func(string) string { return "" }}
	defer client.Close()
	url := strings.Replace(f.site.URL(), "http://", "http://x:"+secret.Reveal()+"@", 1) + "/" + r.id.Path
	repository, err := client.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	main, err := repository.Resolve(t.Context(), "main", "")
	if err != nil || main.Hash != head(t, r, "main") {
		t.Fatalf("got %+v, %v", main, err)
	}
	made, err := repository.Commit(t.Context(), git.CommitRequest{
		Parent: main, Put: map[string][]byte{"drone/shop/namespace.yaml": []byte("kind: Namespace\n")},
		Message: "Add shop\n", Author: git.Person{Name: "scheduler", Email: "s@example.com"}, When: time.Unix(2e9, 0),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := repository.Push(t.Context(), "kalypso/dev", "", made); err != nil {
		t.Fatal(err)
	}
	if _, err := r.OpenPullRequest(t.Context(), forge.NewPullRequest{Head: "kalypso/dev", Base: "main", Title: "dev"}); err != nil {
		t.Fatal(err)
	}
	if err := r.Protect(t.Context(), "main", forge.Protection{PullRequestsOnly: true}); err != nil {
		t.Fatal(err)
	}
	if err := repository.Push(t.Context(), "main", main.Hash, made); !errors.Is(err, git.ErrDenied) || !strings.Contains(err.Error(), "protected") {
		t.Errorf("a protected branch is pushed: %v", err)
	}
	commit, err := r.MergePullRequest(t.Context(), 1, forge.Merge{Head: made.Hash})
	if err != nil {
		t.Fatal(err)
	}
	merged, err := repository.Resolve(t.Context(), "main", "")
	if err != nil || merged.Hash != commit {
		t.Errorf("got %+v, %v; want %s", merged, err, commit)
	}
	if err := repository.Push(t.Context(), "kalypso/dev", "", made); !errors.Is(err, git.ErrMoved) && err != nil {
		t.Errorf("got %v", err)
	}
}

func TestHandlerRoutes(t *testing.T) {
	f := serve(t, Options{PublicRead: anyClient})
	newRepository(t, f)
	for path, want := range map[string]int{"/git": 200, "/git/": 200, "/git/-/style.css": 200, "/": 404, "/gitea": 404, "/-/style.css": 404} {
		answer, err := http.Get(strings.TrimSuffix(f.site.URL(), "/git") + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: got %d, want %d", path, answer.StatusCode, want)
		}
	}
}
