package main

import (
	"strings"
	"testing"
)

func TestResolveURL(t *testing.T) {
	for _, test := range []struct{ base, relative, want string }{
		{"https://github.com/org/fleet", ".", "https://github.com/org/fleet"},
		{"https://github.com/org/fleet", "../gitops", "https://github.com/org/gitops"},
		{"https://github.com/org/fleet.git/", "../gitops", "https://github.com/org/gitops"},
		{"git@github.com:org/fleet", "../gitops", "git@github.com:org/gitops"},
		{"git@example.com:fleet", "../gitops", "git@example.com:gitops"},
		{"/srv/git/fleet", "../gitops", "/srv/git/gitops"},
	} {
		if got := resolveURL(test.base, test.relative); got != test.want {
			t.Errorf("%s in %s: got %s, want %s", test.relative, test.base, got, test.want)
		}
	}
}

func TestNameRepositories(t *testing.T) {
	in := "spec:\n  repo: . # this repository\n  path: .\nother:\n  repo: ../gitops\n  repo: https://github.com/org/app\n"
	for url, want := range map[string]string{
		"":                  in,
		"https://h/o/fleet": "spec:\n  repo: https://h/o/fleet\n  path: .\nother:\n  repo: https://h/o/gitops\n  repo: https://github.com/org/app\n",
		// What means something in YAML is quoted.
		"https://h/o/fleet:": "spec:\n  repo: 'https://h/o/fleet:'\n  path: .\nother:\n  repo: https://h/o/gitops\n  repo: https://github.com/org/app\n",
	} {
		if got := string(nameRepositories([]byte(in), url)); got != want {
			t.Errorf("%q: got\n%s\nwant\n%s", url, got, want)
		}
	}
}

func TestCheckURL(t *testing.T) {
	for _, good := range []string{
		"", "https://github.com/org/fleet", "ssh://git@host:22/org/fleet", "git@host:org/fleet.git",
		"file:///srv/fleet", "../fleet", "/srv/fleet",
	} {
		if err := checkURL(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{
		"fleet", "-x/y", "https://", "https://token@host/fleet", "https://me:hunter2@host/fleet", "ssh://git:hunter2@host/x",
		"https://host/a b", "https://host/\x1b", "https://me:hunter2@host/%zz",
	} {
		err := checkURL(bad)
		if err == nil {
			t.Errorf("%q: got no error", bad)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: the error repeats the password: %v", bad, err)
		}
	}
}
