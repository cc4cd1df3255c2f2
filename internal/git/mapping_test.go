package git

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseMapping(t *testing.T) {
	for text, want := range map[string]Mapping{
		"https://github.com/acme/shop=../shop":         {"https://github.com/acme/shop", "../shop"},
		"git@github.com:acme=/srv/clones":              {"git@github.com:acme", "/srv/clones"},
		"https://github.com=/srv/all":                  {"https://github.com", "/srv/all"},
		" https://github.com/x = /srv/with = sign ":    {"https://github.com/x", "/srv/with = sign"},
		"https://github.com/x=https://mirror.acme.io/": {"https://github.com/x", "https://mirror.acme.io/"},
	} {
		got, err := ParseMapping(text)
		if err != nil || got != want {
			t.Errorf("ParseMapping(%q) = %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "=", "x", "https://github.com/x", "https://github.com/x=", "=/srv", "https://=/x", "git://x/y=/z", "https://u:s3cr3t@:99999999/x=/y"} {
		_, err := ParseMapping(text)
		wantKind(t, err, ErrInvalid)
		if strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%v tells the secret", err)
		}
	}
}

func FuzzParseMapping(f *testing.F) {
	f.Add("https://github.com/acme/shop=../shop")
	f.Add("git@host:x=y=z")
	f.Add("https://h=x")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := ParseMapping(text)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Error(err)
			}
			return
		}
		// Mapped URLs are found.
		if l, err := parseLocation(m.From); err == nil {
			if to, ok := applyMappings([]Mapping{m}, l); !ok || to != m.To {
				t.Errorf("%+v maps itself to %q, %v", m, to, ok)
			}
		}
	})
}

func TestMappings(t *testing.T) {
	c := newClient(t, nil)
	c.Map = []Mapping{
		{"https://github.com/acme", "/clones/acme"},
		{"https://github.com/acme/shop.git/", "/special"},
		{"https://github.com/acme/shop", "/second"},
		{"https://gitlab.com", "/clones/gitlab"},
		{"git@example.com:team", "https://mirror.example.com/team/"},
		{"/old/place", "/new/place"},
	}
	for url, want := range map[string]string{
		"https://github.com/acme/shop":        "/special",
		"git@GitHub.com:acme/shop.git":        "/special",
		"https://github.com/acme/shopping":    "/clones/acme/shopping",
		"https://github.com/acme/a/b.git":     "/clones/acme/a/b",
		"https://github.com/acmeother/x":      "https://github.com/acmeother/x",
		"https://gitlab.com/x/y/z":            "/clones/gitlab/x/y/z",
		"ssh://git@example.com/team/shop.git": "https://mirror.example.com/team/shop",
		"https://example.com/other":           "https://example.com/other",
		"/old/place/x":                        "/new/place/x",
		"/old/places":                         "/old/places",
	} {
		got, err := c.Locate(url)
		if err != nil || got != want {
			t.Errorf("Locate(%q) = %q, %v, want %q", url, got, err, want)
		}
	}
}

// Mapping URLs to clones allows working offline.
func TestMappingOpensClones(t *testing.T) {
	made := newRepo(t, someFiles)
	c := newClient(t, nil)
	c.Map = []Mapping{{"https://github.com/acme", filepath.Dir(made.dir)}}
	r := open(t, c, "git@github.com:acme/"+filepath.Base(made.dir)+".git")
	if diff := cmp.Diff(someFiles, contents(t, r.Tree(resolve(t, r, "main", "")))); diff != "" {
		t.Error(diff)
	}
	if again := open(t, c, "https://github.com/acme/"+filepath.Base(made.dir)); again != r || r.Name != made.dir {
		t.Errorf("opened %q", again.Name)
	}
}

// Errors for other machines name the repositories' URLs, and no folders.
func TestElsewhere(t *testing.T) {
	const url = "https://git.example.com/acme/shop"
	for name, ask := range map[string]func(c *Client, r *testRepo) error{
		"no branch": func(c *Client, r *testRepo) error {
			_, err := open(t, c, url).Resolve(t.Context(), "nope", "")
			return err
		},
		"no repository": func(c *Client, r *testRepo) error {
			c.Map[0].To = filepath.Join(r.dir, "gone")
			_, err := c.Open(t.Context(), url)
			return err
		},
		"a file": func(c *Client, r *testRepo) error {
			c.Map[0].To = filepath.Join(r.dir, "a.yaml")
			_, err := c.Open(t.Context(), url)
			return err
		},
		"an object is missing": func(c *Client, r *testRepo) error {
			tree := r.git("rev-parse", "HEAD^{tree}")
			at := filepath.Join(r.dir, ".git", "objects", tree[:2], tree[2:])
			if err := os.Remove(at); err != nil {
				t.Fatal(err)
			}
			_, err := open(t, c, url).Resolve(t.Context(), "main", "")
			return err
		},
		"no place for a clone": func(c *Client, r *testRepo) error {
			c.Map, c.CacheDir = nil, filepath.Join(r.dir, "a.yaml")
			_, err := open(t, c, url).Resolve(t.Context(), "main", "")
			return err
		},
	} {
		c, r := newClient(t, nil), newRepo(t, map[string]string{"a.yaml": "a: 1\n"})
		c.Elsewhere, c.Map = true, []Mapping{{url, r.dir}}
		err := ask(c, r)
		if err == nil || !strings.Contains(err.Error(), url) || strings.Contains(err.Error(), r.dir) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
