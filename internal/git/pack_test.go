package git

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// manyFiles returns more files than are written one by one.
func manyFiles() map[string]string {
	files := map[string]string{}
	for i := range looseLimit + 1 {
		files[fmt.Sprintf("dir/%03d.yaml", i)] = fmt.Sprintf("content: %d\n", i)
	}
	return files
}

// Several clients can write the same pack at the same time. Each reads what it wrote at once, and what the others wrote.
func TestClientsWriteTheSamePack(t *testing.T) {
	made := newRepo(t, someFiles)
	files := manyFiles()
	for range 5 {
		var wait sync.WaitGroup
		for range 6 {
			r := open(t, newClient(t, nil), made.dir)
			main := resolve(t, r, "main", "")
			wait.Go(func() {
				c, err := r.Commit(t.Context(), request(main, files))
				if err != nil {
					t.Error(err)
					return
				}
				entries, err := r.Tree(c).Files(t.Context(), "dir")
				if err != nil || len(entries) < len(files) {
					t.Error(len(entries), err)
					return
				}
				for _, e := range entries {
					if _, err := r.Read(t.Context(), e.Hash, 1<<20); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wait.Wait()
		made.git("fsck", "--strict")
		for path := range files {
			files[path] += "more: true\n"
		}
	}
}

// A process that is killed while it writes a pack leaves nothing that makes the same pack unreadable later.
func TestPackAfterAKill(t *testing.T) {
	for name, left := range map[string]func(t *testing.T, idx, pack string){
		"half an index": func(t *testing.T, idx, pack string) { truncate(t, idx); remove(t, pack) },
		"an index":      func(t *testing.T, _, pack string) { remove(t, pack) },
		"a pack":        func(t *testing.T, idx, _ string) { remove(t, idx) },
	} {
		t.Run(name, func(t *testing.T) {
			made := newRepo(t, someFiles)
			files := manyFiles()
			write := func() *Repository {
				r := open(t, newClient(t, nil), made.dir)
				c := mustCommit(t, r, request(resolve(t, r, "main", ""), files))
				if err := r.Push(t.Context(), "gitops", "", c); err != nil {
					t.Fatal(err)
				}
				return r
			}
			write()
			made.git("update-ref", "-d", "refs/heads/gitops")
			idx, pack := thePack(t, filepath.Join(made.dir, ".git"))
			left(t, idx, pack)

			write()
			made.git("fsck", "--strict")
			r := open(t, newClient(t, nil), made.dir)
			got := contents(t, r.Tree(resolve(t, r, "gitops", "")))
			for path, want := range files {
				if got[path] != want {
					t.Errorf("%s is %q", path, got[path])
				}
			}
		})
	}
}

// The same holds for packs that are fetched.
func TestFetchAfterAKill(t *testing.T) {
	s := newServer(t)
	_, url := s.publish("shop.git", someFiles)
	first := newClient(t, s.env())
	resolve(t, open(t, first, url), "main", "")
	clones, _ := filepath.Glob(filepath.Join(first.CacheDir, "*.git"))
	idx, pack := thePack(t, clones[0])
	truncate(t, idx)
	remove(t, pack)
	if err := os.RemoveAll(filepath.Join(clones[0], "refs")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(clones[0], "refs"), 0o700); err != nil {
		t.Fatal(err)
	}

	again := newClient(t, s.env())
	again.CacheDir = first.CacheDir
	r := open(t, again, url)
	if diff := cmp.Diff(someFiles, contents(t, r.Tree(resolve(t, r, "main", "")))); diff != "" {
		t.Error(diff)
	}
	if n := s.packs.Load(); n != 2 {
		t.Errorf("%d packs were fetched: the clone was thrown away", n)
	}
}

// thePack returns the only pack of a repository.
func thePack(t *testing.T, gitDir string) (idx, pack string) {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join(gitDir, "objects", "pack", "pack-*.idx"))
	if len(found) != 1 {
		t.Fatalf("packs %v", found)
	}
	return found[0], found[0][:len(found[0])-len(".idx")] + ".pack"
}

func truncate(t *testing.T, path string) {
	t.Helper()
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}
