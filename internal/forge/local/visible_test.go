package local

import (
	"html"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Invisible characters in a pull request are marked: in its title, branches, files and their contents.
func TestPagesMarkInvisibleCharacters(t *testing.T) {
	f := serve(t, Options{PublicRead: anyClient})
	r := newRepository(t, f)
	const mark = "\u202e"
	commit(t, r, "main", map[string]string{"a.yaml": "kind: Pod\n"})
	commit(t, r, "feature"+mark, map[string]string{"a.yaml": "kind: Pod # " + mark + "\n", "b" + mark + ".txt": "plain " + mark + "\n"})
	body := "a" + mark + " b&#x202e; c&#8203;d `e" + mark + "`"
	if _, err := r.OpenPullRequest(t.Context(), forge.NewPullRequest{Head: "feature" + mark, Base: "main", Title: "harmless" + mark, Body: body}); err != nil {
		t.Fatal(err)
	}
	at, ref := "/"+r.id.Path, "?ref="+url.QueryEscape("feature"+mark)
	for path, wants := range map[string][]string{
		at + "/pulls/1":      {"harmless⟨U+202E⟩", "<code>feature⟨U+202E⟩</code>", "<code>b⟨U+202E⟩.txt</code>", "# ⟨U+202E⟩", "plain ⟨U+202E⟩", "a⟨U+202E⟩ b⟨U+202E⟩ c\u200bd <code>e⟨U+202E⟩</code>"},
		at + "/pulls":        {"harmless⟨U+202E⟩"},
		at + ref:             nil,
		at + "/files/" + ref: {"<strong>feature⟨U+202E⟩</strong>", ">b⟨U+202E⟩.txt</a>"},
		at + "/files/" + url.PathEscape("b"+mark+".txt") + ref: {"plain ⟨U+202E⟩", ">b⟨U+202E⟩.txt</a>"},
	} {
		_, page := newBrowser(t, f).get(path)
		page = html.UnescapeString(page)
		if strings.Contains(page, mark) {
			i := strings.Index(page, mark)
			t.Errorf("%s hides something: %q", path, page[max(0, i-60):min(len(page), i+20)])
		}
		for _, want := range wants {
			if !strings.Contains(page, want) {
				t.Errorf("%s does not have %s", path, want)
			}
		}
	}
}

// The diff shows when a file becomes a link or executable, even if no line changes.
func TestDiffShowsNewKindOfFile(t *testing.T) {
	f := serve(t, Options{})
	r := newRepository(t, f)
	e, err := f.find(t.Context(), r.id.Path)
	if err != nil {
		t.Fatal(err)
	}
	objects := f.open(e)
	base := plumbing.NewHash(commit(t, r, "main", map[string]string{"linked": "/etc/passwd", "run": "text\n", "same": "text\n"}))
	tree := must(treeOf(objects, base))
	for i, one := range tree.Entries {
		switch one.Name {
		case "linked":
			tree.Entries[i].Mode = filemode.Symlink
		case "run":
			tree.Entries[i].Mode = filemode.Executable
		}
	}
	tree.Entries = append(tree.Entries, object.TreeEntry{Name: "tool", Mode: filemode.Executable, Hash: tree.Entries[0].Hash})
	person := object.Signature{Name: "carol", When: time.Unix(2e9, 0)}
	c := &object.Commit{Author: person, Committer: person, TreeHash: encode(t, objects, tree.Encode), ParentHashes: []plumbing.Hash{base}}
	d := must(diffOf(objects, must(changesBetween(objects, base, encode(t, objects, c.Encode)))))
	got := map[string]string{}
	for _, file := range d.Files {
		got[file.Name] = file.What + " " + file.Kind
	}
	want := map[string]string{"linked": "changed file (link)", "run": "changed program", "tool": "added program"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
