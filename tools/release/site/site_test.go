package site_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kalypso-io/kalypso/tools/release/site"
)

var options = site.Options{Name: "Tool", Source: "https://git.example/tool", Ref: "1a2b3c", Version: "v1.2.3"}

func repository(files map[string]string) fs.FS {
	all := fstest.MapFS{
		"README.md":      {Data: []byte("# Tool\n\nSee the [documents](docs/README.md#how-to).\n")},
		"docs/README.md": {Data: []byte("# Documentation\n\n## How to\n\n- [Install](install.md)\n")},
		"docs/install.md": {Data: []byte("# Install it\n\nFetch the *archive*.\n\n## With `go install` & more\n\nRun it: [code](../main.go#L3), [data](data.json), " +
			"[notes](../notes/), [others](../other).\n\n![A picture](images/a.png)\n\n```sh\ntool <name>\n```\n\n## Check\n\n## Check\n")},
		"docs/data.json":    {Data: []byte("{}\n")},
		"docs/images/a.png": {Data: []byte("png")},
		"main.go":           {Data: []byte("package main\n")},
		"notes/README.md":   {Data: []byte("# Notes\n\nOf [checks](../docs/install.md#check-1).\n")},
		"other/a.txt":       {Data: []byte("a\n")},
		"unlinked.md":       {Data: []byte("# Unlinked\n")},
	}
	for name, content := range files {
		all[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return all
}

func build(t *testing.T, repository fs.FS, o site.Options) map[string]string {
	t.Helper()
	files, err := site.Build(repository, o)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range files {
		all[f.Name] = string(f.Content)
	}
	return all
}

// TestLinksLeadToPages: documents link to pages, pages show what is beside them, and everything else is on the forge.
func TestLinksLeadToPages(t *testing.T) {
	files := build(t, repository(nil), options)
	for _, name := range []string{"index.html", "docs/index.html", "docs/install.html", "docs/data.json", "docs/images/a.png", "notes/index.html", "search.html"} {
		if files[name] == "" {
			t.Errorf("no %s", name)
		}
	}
	if files["unlinked.html"] != "" {
		t.Error("a document outside docs/ that nothing links to has a page")
	}
	for file, wants := range map[string][]string{
		"index.html": {`href="docs/index.html#how-to"`, `href="docs/install.html">Install it<`, `href="site.css"`},
		"docs/install.html": {
			`href="https://git.example/tool/blob/1a2b3c/main.go#L3"`, `href="data.json"`, `href="../notes/index.html"`, `src="images/a.png"`,
			`href="https://git.example/tool/tree/1a2b3c/other"`, `id="with-go-install--more"`, `id="check-1"`, "tool &lt;name&gt;", `aria-current="page"`, `href="../site.css"`,
			`rel="prev" href="../docs/index.html"`, `src="../page.js"`,
		},
		"search.html": {`href="docs/install.html#with-go-install--more"`},
	} {
		for _, want := range wants {
			if !strings.Contains(files[file], want) {
				t.Errorf("%s has no %s:\n%s", file, want, files[file])
			}
		}
	}
}

// TestDeadLinks: a link that leads nowhere is an error, which names the document; all of them are reported.
func TestDeadLinks(t *testing.T) {
	_, err := site.Build(repository(map[string]string{
		"docs/dead.md": "# Dead\n\n[a](gone.md) [b](install.md#gone) [c](#nowhere) [d](../../outside.md) ![e](https://elsewhere.example/e.png) [f](//elsewhere.example/f)\n\n<b>bold</b>\n",
	}), options)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{
		"docs/dead.md: link to gone.md: ", "docs/dead.md: link to docs/install.md#gone: no section", "docs/dead.md: link to docs/dead.md#nowhere",
		"docs/dead.md: link to ../../outside.md: ", "docs/dead.md: link to https://elsewhere.example/e.png: ", "docs/dead.md: link to //elsewhere.example/f: ", "docs/dead.md: HTML",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in:\n%v", want, err)
		}
	}
}

// TestIndex: the index has the words of each section, without marks, and where the section is.
func TestIndex(t *testing.T) {
	text := build(t, repository(nil), options)["search-index.js"]
	text = strings.TrimSuffix(strings.TrimPrefix(text, "const searchIndex = "), ";\n")
	var index struct {
		Sections [][4]string
		Words    map[string][]int
	}
	if err := json.Unmarshal([]byte(text), &index); err != nil {
		t.Fatal(err)
	}
	found := index.Words["archive"]
	if len(found) != 1 || index.Sections[found[0]] != [4]string{"docs/install.html", "Install it", "Install it", "Fetch the archive."} {
		t.Errorf("archive: %v of %q", found, index.Sections)
	}
	if got := index.Words["check"]; len(got) != 2 {
		t.Errorf("check: %v", got)
	}
}

// thisRepository is the repository of this test.
func thisRepository() fs.FS { return os.DirFS("../../..") }

// TestThisRepository: the documentation of this repository has no dead links, makes no requests elsewhere, and is the same twice.
func TestThisRepository(t *testing.T) {
	files := build(t, thisRepository(), options)
	again := build(t, thisRepository(), options)
	requests := regexp.MustCompile(`(?:src|<link[^>]* href|action)="([^"]*)"`)
	for name, content := range files {
		if again[name] != content {
			t.Errorf("%s differs when it is made again", name)
		}
		if path.Ext(name) != ".html" {
			continue
		}
		for _, found := range requests.FindAllStringSubmatch(content, -1) {
			if target := path.Join(path.Dir(name), found[1]); strings.Contains(found[1], ":") || files[target] == "" {
				t.Errorf("%s requests %s", name, found[1])
			}
		}
	}
	listed := files["docs/index.html"]
	for name := range files {
		if folder := path.Dir(name); slices.Contains([]string{"docs/how-to", "docs/reference", "docs/explanation"}, folder) && path.Ext(name) == ".html" {
			if !strings.Contains(listed, `href="../`+name+`"`) {
				t.Errorf("%s is not in the navigation: link it in docs/README.md", name)
			}
		}
	}
	if size := len(files["search-index.js"]); size > 1<<20 {
		t.Errorf("the index has %d bytes", size)
	}
}
