package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

// Each case is a txtar archive: the files of a tree, then "want" with the paths that Manifests returns,
// and "want-all" with those of AllManifests if they differ. The first line of the comment may say "below: PATH".
func TestManifests(t *testing.T) {
	cases, err := filepath.Glob("testdata/manifests/*.txtar")
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			testManifests(t, archive)
		})
	}
}

func testManifests(t *testing.T, archive *txtar.Archive) {
	below := ""
	if first, _, _ := strings.Cut(string(archive.Comment), "\n"); strings.HasPrefix(first, "below: ") {
		below = strings.TrimPrefix(first, "below: ")
	}
	dir := t.TempDir()
	want := map[string]string{}
	for _, f := range archive.Files {
		if strings.HasPrefix(f.Name, "want") {
			want[f.Name] = string(f.Data)
			continue
		}
		writeFiles(t, dir, map[string]string{f.Name: string(f.Data)})
	}
	if _, differs := want["want-all"]; !differs {
		want["want-all"] = want["want"]
	}
	tree, err := Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Manifests(t.Context(), tree, below)
	if diff := cmp.Diff(want["want"], lines(got)); diff != "" || err != nil {
		t.Errorf("Manifests (-want +got):\n%s%v", diff, err)
	}
	got, err = AllManifests(t.Context(), tree, below)
	if diff := cmp.Diff(want["want-all"], lines(got)); diff != "" || err != nil {
		t.Errorf("AllManifests (-want +got):\n%s%v", diff, err)
	}
}

func lines(entries []Entry) string {
	if len(entries) == 0 {
		return ""
	}
	return strings.Join(paths(entries), "\n") + "\n"
}

// In a commit, sizes are not known beforehand; those of selected files are.
func TestManifestsOfCommit(t *testing.T) {
	made := newRepo(t, map[string]string{"a.yaml": "12345", "b.txt": "x", ".sourceignore": "c.yaml\n", "c.yaml": "x"})
	made.git("submodule", "add", "-q", newRepo(t, someFiles).dir, "sub.yaml")
	if err := os.Symlink("a.yaml", filepath.Join(made.dir, "link.yml")); err != nil {
		t.Fatal(err)
	}
	made.commit("more", nil)
	r := open(t, newClient(t, nil), made.dir)
	got, err := Manifests(t.Context(), r.Tree(resolve(t, r, "main", "")), "")
	if err != nil {
		t.Fatal(err)
	}
	want := []Entry{
		{Path: "a.yaml", Hash: made.git("rev-parse", "HEAD:a.yaml"), Size: 5},
		{Path: "link.yml", Hash: made.git("rev-parse", "HEAD:link.yml"), Size: 6, Mode: Symlink},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	_, err = Manifests(t.Context(), r.Tree(resolve(t, r, "main", "")), "nowhere")
	wantKind(t, err, ErrPathNotFound, "nowhere")
}

func TestManifestsIgnoreFileTooLarge(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{".sourceignore": strings.Repeat("x\n", 1<<19) + "y"})
	tree, _ := Folder(dir)
	_, err := Manifests(t.Context(), tree, "")
	wantKind(t, err, ErrTooLarge, ".sourceignore")
	writeFiles(t, dir, map[string]string{".sourceignore": strings.Repeat("x\n", maxPatterns+1)})
	_, err = Manifests(t.Context(), tree, "")
	wantKind(t, err, ErrTooLarge, "patterns")
}

func FuzzParseIgnore(f *testing.F) {
	for _, seed := range []string{"*.yaml\n", "!/a/**/b\n", "dir/\n#x\n\\#y\n", "[a\n", "**\n", "/\n", "!\n", "a/**/\r\n"} {
		f.Add(seed, "dir/.sourceignore", "dir/a/b.yaml")
	}
	f.Fuzz(func(t *testing.T, content, file, path string) {
		for _, p := range parseIgnore([]byte(content), file) {
			p.Match(strings.Split(path, "/"), false)
		}
	})
}
