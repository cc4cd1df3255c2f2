package local

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// Both sides of a diff are highlighted. Files in unknown languages stay plain text.
func TestDifferenceHasColours(t *testing.T) {
	f := serve(t, Options{PublicRead: anyClient})
	r := newRepository(t, f)
	commit(t, r, "main", map[string]string{"web.yaml": "kind: Pod\nimage: \"web:1\"\n"})
	commit(t, r, "feature", map[string]string{
		"web.yaml": "kind: Pod\nimage: \"<web>:2\" # new\n", "OWNERS": "kind: <b>\n", "wide.yaml": "a: " + strings.Repeat("b", 2000) + "\n",
	})
	if _, err := r.OpenPullRequest(t.Context(), forge.NewPullRequest{Head: "feature", Base: "main", Title: "T"}); err != nil {
		t.Fatal(err)
	}
	_, page := newBrowser(t, f).get("/" + r.id.Path + "/pulls/1")
	for _, want := range []string{
		`<code> <span class="c-name">kind</span>: Pod</code>`,
		`<code>-<span class="c-name">image</span>: <span class="c-string">&#34;<mark>web:1&#34;</mark></span></code>`,
		`<code>&#43;<span class="c-name">image</span>: <span class="c-string">&#34;<mark>&lt;web&gt;:2&#34;</mark></span><mark> </mark>` +
			`<span class="c-comment"><mark># new</mark></span></code>`,
		`<code>&#43;kind: &lt;b&gt;</code>`,
		`<code>&#43;a: bbb`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %s:\n%s", want, page)
		}
	}
	if strings.Contains(page, "style=") {
		t.Error("the page has styles that its policy forbids")
	}
	_, file := newBrowser(t, f).get("/" + r.id.Path + "/files/web.yaml")
	if !strings.Contains(file, `<code><span class="c-name">kind</span>: Pod</code>`) {
		t.Errorf("the file has no colours:\n%s", file)
	}
}

// TestMarkText: marks end where tags begin, count escaped characters as one, and change nothing else.
func TestMarkText(t *testing.T) {
	for _, c := range []struct {
		code     string
		from, to int
		want     string
	}{
		{"abc", 1, 2, "a<mark>b</mark>c"},
		{"a&lt;b", 1, 2, "a<mark>&lt;</mark>b"},
		{"<i>ab</i>cd", 1, 3, "<i>a<mark>b</mark></i><mark>c</mark>d"},
		{"höhe", 1, 3, "h<mark>ö</mark>he"},
		{"a & b < c", 0, 3, "<mark>a &</mark> b < c"},
	} {
		if got := markText(c.code, c.from, c.to); got != c.want {
			t.Errorf("%q from %d to %d: got %q, want %q", c.code, c.from, c.to, got, c.want)
		}
	}
}

// Annotations are shown at their lines, or at their file if the line is not shown. Their texts are escaped.
func TestAnnotationsAreShownAtTheirLines(t *testing.T) {
	f := serve(t, Options{PublicRead: anyClient})
	r := newRepository(t, f)
	long := strings.Repeat("a: b\n", 40)
	commit(t, r, "main", map[string]string{"web.yaml": long})
	head := commit(t, r, "feature", map[string]string{"web.yaml": long + "image: web\n"})
	c, err := r.OpenPullRequest(t.Context(), forge.NewPullRequest{Head: "feature", Base: "main", Title: "T"})
	if err != nil {
		t.Fatal(err)
	}
	err = r.Annotate(t.Context(), c.Number, forge.Annotations{Name: "checks", Commit: head, All: []forge.Annotation{
		{File: "web.yaml", Line: 41, Level: forge.Refusal, Title: "latest-tag", Message: "<script>alert(1)</script>", Hint: "Name a version."},
		{File: "web.yaml", Line: 3, Level: forge.Notice, Title: "far", Message: "is not shown"},
		{File: "elsewhere.yaml", Line: 1, Level: forge.Notice, Message: "has no place"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	_, page := newBrowser(t, f).get("/" + r.id.Path + "/pulls/1")
	_, after, _ := strings.Cut(page, `<code>&#43;<span class="c-name">image</span>: web</code>`)
	for text, want := range map[string]string{
		after: `<div class="note refusal"><p><strong>Refusal</strong> &lt;script&gt;alert(1)&lt;/script&gt; <span class="muted">latest-tag</span></p>`,
		page:  `<strong>Notice</strong> is not shown <span class="muted">line 3 far</span>`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("want %s:\n%s", want, text)
		}
	}
	if strings.Contains(page, "has no place") || !strings.Contains(page, "2 findings") {
		t.Errorf("got\n%s", page)
	}
	commit(t, r, "feature", nil)
	err = r.Annotate(t.Context(), c.Number, forge.Annotations{Name: "checks", Commit: head})
	if err == nil {
		t.Error("what was found in another commit is shown")
	}
}

func TestInventoriesAreFolded(t *testing.T) {
	for name, want := range map[string]bool{
		"clusters/.kalypso/inventory/large.json": true, ".kalypso/inventory/clusters/edge-1.json": true, "hello/.kalypso/files.json": true,
		"large/hello/values.json": false, ".kalypso.json": false, ".kalypso/README.md": false,
	} {
		if isInventory(name) != want {
			t.Errorf("%s: want %v", name, want)
		}
	}
}
