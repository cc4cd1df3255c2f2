package local

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sort"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

// The embedded forge follows the rules of all forges.
func TestRules(t *testing.T) {
	forgetest.Run(t, func(t *testing.T) forgetest.Harness {
		f := newForge(t, Options{})
		return forgetest.Harness{
			Forge:  f,
			Person: f.As(Account{Name: "person", Right: Write}),
			Weak:   f.As(Account{Name: "reader", Right: Read}),
			Owner:  "team",
			NewRepository: func(t *testing.T) string {
				r := newRepository(t, f)
				return r.forge.site.URL() + "/" + r.id.Path
			},
			Commit: func(t *testing.T, url, branch string) string {
				r, err := f.Repository(url)
				if err != nil {
					t.Fatal(err)
				}
				return commit(t, r.(*Repository), branch, nil)
			},
			Put: func(t *testing.T, url, branch, file, text string) {
				r, err := f.Repository(url)
				if err != nil {
					t.Fatal(err)
				}
				commit(t, r.(*Repository), branch, map[string]string{file: text})
			},
			Notes: func(t *testing.T, url string, number int) []forgetest.Note { return notes(t, f, url, number) },
			Review: func(t *testing.T, url string, number int, d forge.ReviewDecision) bool {
				if d != forge.Approved {
					return false
				}
				r, err := f.As(Account{Name: "person", Right: Write}).Repository(url)
				if err != nil {
					t.Fatal(err)
				}
				p, err := r.PullRequest(t.Context(), number)
				if err == nil {
					err = r.(*Repository).Approve(t.Context(), number, p.Head.Commit)
				}
				if err != nil {
					t.Fatal(err)
				}
				return true
			},
		}
	})
}

// notes returns the annotations of a pull request.
func notes(t *testing.T, f *Forge, url string, number int) []forgetest.Note {
	t.Helper()
	r, err := f.Repository(url)
	if err != nil {
		t.Fatal(err)
	}
	e, err := r.(*Repository).enter(t.Context(), Read)
	if err != nil {
		t.Fatal(err)
	}
	all, err := f.annotations(t.Context(), e, number)
	if err != nil {
		t.Fatal(err)
	}
	var notes []forgetest.Note
	for _, a := range all {
		text := a.Message
		if a.More > 0 {
			text += fmt.Sprintf(" and %d more", a.More)
		}
		notes = append(notes, forgetest.Note{File: a.File, Line: a.Line, Text: text})
	}
	return notes
}

// anyClient allows reading without a token.
func anyClient(*http.Request) bool { return true }

// newForge opens a forge, and closes it when the test ends.
func newForge(t testing.TB, o Options) *Forge {
	t.Helper()
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	if o.URL == "" {
		o.URL = "http://forge.example.com"
	}
	f, err := Open(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// serve opens a forge behind a local server.
func serve(t testing.TB, o Options) *Forge {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	o.URL = "http://" + server.Listener.Addr().String() + "/git"
	f := newForge(t, o)
	server.Config.Handler = f.Handler()
	server.Start()
	t.Cleanup(server.Close)
	return f
}

var names atomic.Int64

// newRepository creates a repository whose branch main has a commit.
func newRepository(t testing.TB, f *Forge) *Repository {
	t.Helper()
	r, err := f.CreateRepository(context.Background(), forge.NewRepository{Owner: "team", Name: fmt.Sprintf("shop-%d", names.Add(1))})
	if err != nil {
		t.Fatal(err)
	}
	commit(t, r.(*Repository), "main", map[string]string{"README.md": "# Shop\n"})
	return r.(*Repository)
}

// commit adds a commit to a branch, as a push would. A branch that does not exist starts at main.
// The commit adds files, or a unique file if there are none.
func commit(t testing.TB, r *Repository, branch string, files map[string]string) string {
	t.Helper()
	if files == nil {
		files = map[string]string{fmt.Sprintf("file-%d.txt", names.Add(1)): "text\n"}
	}
	var made string
	err := r.write(context.Background(), Write, func(e entry) error {
		objects := r.forge.open(e)
		old, err := objects.branch(branch)
		if err != nil {
			return err
		}
		parent := old
		if old.IsZero() {
			if parent, err = objects.branch("main"); err != nil {
				return err
			}
		}
		hash := writeCommit(t, objects, parent, files)
		made = hash.String()
		if err := objects.move(branchRef(branch), old, hash); err != nil {
			return err
		}
		return r.forge.pushed(context.Background(), e, "carol", []moved{{branch, made}})
	})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// writeCommit stores a commit that adds files, all in the root, to its parent's tree.
func writeCommit(t testing.TB, objects bare, parent plumbing.Hash, files map[string]string) plumbing.Hash {
	t.Helper()
	before, err := treeOf(objects, parent)
	if err != nil {
		t.Fatal(err)
	}
	person := object.Signature{Name: "carol", Email: "carol@example.com", When: time.Unix(2e9+names.Add(1), 0)}
	c := &object.Commit{Author: person, Committer: person, Message: "Write\n", TreeHash: writeTree(t, objects, before, files)}
	if !parent.IsZero() {
		c.ParentHashes = []plumbing.Hash{parent}
	}
	return encode(t, objects, c.Encode)
}

// writeTree adds files to a tree. Their paths can be in folders.
func writeTree(t testing.TB, objects bare, before *object.Tree, files map[string]string) plumbing.Hash {
	t.Helper()
	tree, folders, replaced := &object.Tree{}, map[string]map[string]string{}, map[string]bool{}
	for path, text := range files {
		name, rest, inside := strings.Cut(path, "/")
		replaced[name] = true
		if inside {
			if folders[name] == nil {
				folders[name] = map[string]string{}
			}
			folders[name][rest] = text
			continue
		}
		blob := objects.NewEncodedObject()
		blob.SetType(plumbing.BlobObject)
		w, _ := blob.Writer()
		_, _ = w.Write([]byte(text))
		tree.Entries = append(tree.Entries, object.TreeEntry{Name: name, Mode: filemode.Regular, Hash: set(t, objects, blob)})
	}
	for name, inside := range folders {
		old, err := before.Tree(name)
		if err != nil {
			old = &object.Tree{}
		}
		tree.Entries = append(tree.Entries, object.TreeEntry{Name: name, Mode: filemode.Dir, Hash: writeTree(t, objects, old, inside)})
	}
	for _, e := range before.Entries {
		if !replaced[e.Name] {
			tree.Entries = append(tree.Entries, e)
		}
	}
	sortTree(tree)
	return encode(t, objects, tree.Encode)
}

func encode(t testing.TB, objects bare, into func(plumbing.EncodedObject) error) plumbing.Hash {
	t.Helper()
	o := objects.NewEncodedObject()
	if err := into(o); err != nil {
		t.Fatal(err)
	}
	return set(t, objects, o)
}

func set(t testing.TB, objects bare, o plumbing.EncodedObject) plumbing.Hash {
	t.Helper()
	hash, err := objects.SetEncodedObject(o)
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

func sortTree(t *object.Tree) { sort.Sort(object.TreeEntrySorter(t.Entries)) }

// codeOwnersCommit stores a commit that adds .github/CODEOWNERS to its parent's tree.
func codeOwnersCommit(t testing.TB, objects bare, parent plumbing.Hash, text string) string {
	t.Helper()
	blob := objects.NewEncodedObject()
	blob.SetType(plumbing.BlobObject)
	w, _ := blob.Writer()
	_, _ = w.Write([]byte(text))
	folder := &object.Tree{Entries: []object.TreeEntry{{Name: "CODEOWNERS", Mode: filemode.Regular, Hash: set(t, objects, blob)}}}
	tree := must(treeOf(objects, parent))
	entries := append([]object.TreeEntry{{Name: ".github", Mode: filemode.Dir, Hash: encode(t, objects, folder.Encode)}}, tree.Entries...)
	person := object.Signature{Name: "carol", When: time.Unix(2e9+names.Add(1), 0)}
	with := &object.Tree{Entries: entries}
	sortTree(with)
	c := &object.Commit{Author: person, Committer: person, TreeHash: encode(t, objects, with.Encode), ParentHashes: []plumbing.Hash{parent}}
	return encode(t, objects, c.Encode).String()
}
