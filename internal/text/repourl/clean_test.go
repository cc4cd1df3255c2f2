package repourl_test

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/text/repourl"
)

func TestClean(t *testing.T) {
	for want, spellings := range map[string][]string{
		"https://github.com/acme/shop": {
			"https://github.com/acme/shop", "https://github.com/acme/shop.git", "http://GitHub.com:80/acme/shop/", "https://me:pass@github.com/acme/shop",
			"git@github.com:acme/shop.git", "ssh://git@github.com:22/acme/shop.git", "ssh://git@ssh.github.com:443/acme/shop", " https://github.com/acme/shop ",
		},
		"https://git.example.com:8443/a/b": {"https://git.example.com:8443/a/b.git"},
		"https://dev.azure.com/org/project/_git/name": {
			"https://dev.azure.com/org/project/_git/name", "https://org@dev.azure.com/org/project/_git/name", "git@ssh.dev.azure.com:v3/org/project/name",
			"https://org.visualstudio.com/DefaultCollection/project/_git/name",
		},
		"oci://registry.example.com/charts/shop": {"oci://Registry.example.com/charts/shop", "oci://u:p@registry.example.com/charts/shop/"},
		"/srv/git/shop":                          {"/srv/git/shop.git", "file:///srv/git/shop", "file://localhost/srv/git/shop/"},
		"":                                       {"", " "},
		"/":                                      {"/"},
		"bucket":                                 {"bucket", "bucket\n"},
	} {
		for _, spelling := range spellings {
			if got := repourl.Clean(spelling); got != want {
				t.Errorf("%q: got %q, want %q", spelling, got, want)
			}
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, seed := range []string{
		"https://u:hunter2@github.com/acme/shop?token=hunter2#hunter2", "u:hunter2@host:path", "oci://x:hunter2@y/z", "ssh://[::1]:2/x", "a:b@c:d",
		"https://dev.azure.com/a/_git/b", "http://a/..", "file:///", "://", "x://%zz@", "//u:hunter2@h/x", ".git.git", "HTTPS://Host/X",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		once := repourl.Clean(raw)
		if twice := repourl.Clean(once); twice != once {
			t.Errorf("%q: got %q, and cleaned again %q", raw, once, twice)
		}
		if strings.ContainsAny(once, "\n\r\x00") {
			t.Errorf("%q: got %q, want one line", raw, once)
		}
		if scheme, rest, ok := strings.Cut(once, "://"); ok && scheme == "https" {
			host, _, _ := strings.Cut(rest, "/")
			if strings.Contains(host, "@") {
				t.Errorf("%q: got %q, want no user", raw, once)
			}
		}
	})
}
