package repourl_test

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/text/repourl"
)

func TestWithin(t *testing.T) {
	for prefix, urls := range map[string]struct{ within, outside []string }{
		"https://git.example.com/team": {
			within: []string{
				"https://git.example.com/team", "https://git.example.com/team/shop.git", "https://GIT.example.com:443/team/a/b", "HTTPS://me@git.example.com/team/",
			},
			outside: []string{
				"https://git.example.com.evil/team/shop", "https://git.example.com@evil/team/shop", "https://evil/git.example.com/team", "https://git.example.com/team-b/shop",
				"https://git.example.com/Team/shop", "https://git.example.com/", "https://git.example.com:8443/team/shop", "http://git.example.com/team/shop",
				"ssh://git@git.example.com/team/shop", "git@git.example.com:team/shop", "https://git.example.com/team/../other", "https://git.example.com/team/%2e%2e/other",
				"https://git.example.com/team%2fshop", "https://git.example.com//team/shop/x//y", "https://git.example.com/team/.", `https://git.example.com/team\..\other`,
				"https://git.example.com/team/shop?at=https://evil", "https://git.example.com/team/shop#x", "https://git.example.com/team/a b", "", "https://", "/team/shop",
				"https://git.example.com./team/shop", "https://git.example.com/team/a%25", "https://git.example.com/x/team",
			},
		},
		"https://git.example.com:8443/": {
			within:  []string{"https://git.example.com:8443/a.git"},
			outside: []string{"https://git.example.com/a"},
		},
		"https://git.example.com/team/shop.git": {
			within:  []string{"https://git.example.com/team/shop"},
			outside: []string{"https://git.example.com/team/shops"},
		},
		"ssh://git.example.com/team": {
			within:  []string{"ssh://git@git.example.com:22/team/shop", "git@git.example.com:team/shop.git"},
			outside: []string{"https://git.example.com/team/shop"},
		},
		"oci://registry.example.com/charts": {
			within:  []string{"oci://registry.example.com/charts/shop"},
			outside: []string{"oci://registry.example.com/charts2/shop"},
		},
		"git.example.com":              {outside: []string{"https://git.example.com/team", "git.example.com"}},
		"https://git.example.com/../a": {outside: []string{"https://git.example.com/a", "https://git.example.com/../a"}},
	} {
		for _, url := range urls.within {
			if !repourl.Within(url, prefix) {
				t.Errorf("%q is not within %q", url, prefix)
			}
		}
		for _, url := range urls.outside {
			if repourl.Within(url, prefix) {
				t.Errorf("%q is within %q", url, prefix)
			}
		}
	}
}

func TestIsPrefix(t *testing.T) {
	for prefix, want := range map[string]bool{
		"https://git.example.com": true, "https://git.example.com/team/": true, "oci://registry.example.com/charts": true, "ssh://git.example.com": true,
		"": false, "git.example.com/team": false, "https:///team": false, "https://git.example.com/..": false, "https://me@git.example.com": false,
		"git@git.example.com:team": false, "https://git.example.com/a?b": false,
	} {
		if got := repourl.IsPrefix(prefix); got != want {
			t.Errorf("%q: got %t, want %t", prefix, got, want)
		}
	}
}

// FuzzWithin checks that a URL within a prefix starts with it, and continues with a segment.
func FuzzWithin(f *testing.F) {
	const host, team = "https://git.example.com", "/team"
	for _, seed := range []string{"https://git.example.com/team/shop", "https://git.example.com/team-b", "https://git.example.com/team/../x", "https://a@git.example.com/team"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if !repourl.Within(raw, host+team) {
			return
		}
		_, at, _ := strings.Cut(raw, "://")
		server, path, _ := strings.Cut(at, "/")
		server = server[strings.LastIndex(server, "@")+1:]
		if name := strings.ToLower(strings.TrimSuffix(server, ":443")); name != "git.example.com" && name != "git.example.com:" {
			t.Errorf("%q is on another host", raw)
		}
		if first, _, _ := strings.Cut(strings.TrimLeft(path, "/"), "/"); strings.TrimSuffix(first, ".git") != "team" {
			t.Errorf("%q is in another folder", raw)
		}
	})
}
