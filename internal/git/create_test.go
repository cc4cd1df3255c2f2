package git

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newRepository(bare bool) CreateRequest {
	return CreateRequest{
		Branches: []NewBranch{
			{"main", "start\n", map[string][]byte{"a.yaml": []byte("a"), "dir/b.yaml": []byte("b")}},
			{"team/dev", "start dev\n", map[string][]byte{"a.yaml": []byte("dev")}},
		},
		Author: ann, When: noon, Bare: bare, Remote: "https://example.com/fleet",
	}
}

// Create has the same result as git itself.
func TestCreate(t *testing.T) {
	for name, bare := range map[string]bool{"work tree": false, "bare": true} {
		t.Run(name, func(t *testing.T) {
			made := &testRepo{t: t, dir: filepath.Join(t.TempDir(), "above", "fleet")}
			if err := Create(t.Context(), made.dir, newRepository(bare)); err != nil {
				t.Fatal(err)
			}
			made.git("fsck", "--strict")
			for _, check := range []struct {
				want string
				args []string
			}{
				{"refs/heads/main", []string{"symbolic-ref", "HEAD"}},
				{"Ann|start", []string{"log", "--format=%an|%s", "main"}},
				{"Ann|start dev", []string{"log", "--format=%an|%s", "team/dev"}},
				{"a.yaml\ndir/b.yaml", []string{"ls-tree", "-r", "--name-only", "main"}},
				{"https://example.com/fleet", []string{"remote", "get-url", "origin"}},
			} {
				if got := made.git(check.args...); got != check.want {
					t.Errorf("git %v says %q, want %q", check.args, got, check.want)
				}
			}
			if !bare && made.git("status", "--porcelain") != "" {
				t.Error("the work tree differs from the commit")
			}
		})
	}
}

// An existing folder is filled. Equal requests make equal commits.
func TestCreateInAnEmptyFolder(t *testing.T) {
	one, two := &testRepo{t: t, dir: t.TempDir()}, &testRepo{t: t, dir: t.TempDir()}
	for _, made := range []*testRepo{one, two} {
		if err := Create(t.Context(), made.dir, newRepository(true)); err != nil {
			t.Fatal(err)
		}
	}
	if a, b := one.git("rev-parse", "--all"), two.git("rev-parse", "--all"); a != b {
		t.Errorf("got %s and %s", a, b)
	}
}

func TestCreateAllOrNothing(t *testing.T) {
	parent := t.TempDir()
	writeFiles(t, parent, map[string]string{"file": "", "full/mine": ""})
	if err := os.Mkdir(filepath.Join(parent, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	before := listing(t, parent)
	// A file and a folder cannot have the same path.
	impossible := newRepository(false)
	impossible.Branches[1].Files = map[string][]byte{"a": nil, "a/b": nil}
	noName := newRepository(false)
	noName.Branches[0].Name = "a b"
	for name, test := range map[string]struct {
		dir     string
		request CreateRequest
		text    string
	}{
		"a file":                 {"file", newRepository(false), "it is a file"},
		"below a file":           {"file/x", newRepository(false), ""},
		"a full folder":          {"full", newRepository(false), `"mine"`},
		"impossible, new":        {"new", impossible, "team/dev"},
		"impossible, empty":      {"empty", impossible, "team/dev"},
		"no branch":              {"new", CreateRequest{}, "no branch"},
		"a name that is refused": {"new", noName, "branch name"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Create(t.Context(), filepath.Join(parent, test.dir), test.request)
			if test.text != "" {
				wantKind(t, err, ErrInvalid, test.text)
			} else if err == nil {
				t.Error("got no error")
			}
			if diff := cmp.Diff(before, listing(t, parent)); diff != "" {
				t.Errorf("what is left, -want +got:\n%s", diff)
			}
		})
	}
}

func TestMoveEntriesIsUndone(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	writeFiles(t, from, map[string]string{".git/HEAD": "", "main/x": "", "taken/x": ""})
	writeFiles(t, to, map[string]string{"taken/by another": ""})
	if err := moveEntries(from, to); err == nil {
		t.Error("got no error")
	}
	if diff := cmp.Diff([]string{"taken", "taken/by another"}, listing(t, to)); diff != "" {
		t.Errorf("what is left, -want +got:\n%s", diff)
	}
}

// listing lists everything below a folder.
func listing(t *testing.T, root string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if name, _ := filepath.Rel(root, path); name != "." {
			names = append(names, filepath.ToSlash(name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
