package git

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

func TestSameRepository(t *testing.T) {
	here, _ := filepath.Abs(".")
	for _, same := range [][]string{
		{
			"https://github.com/acme/shop", "https://github.com/acme/shop.git", "https://GitHub.com/acme/shop/", "https://github.com:443/acme/shop.git/",
			"http://github.com/acme/shop", "ssh://git@github.com/acme/shop", "ssh://git@github.com:22/acme/shop.git", "git@github.com:acme/shop.git",
			"git@github.com:/acme/shop", "https://user:token@github.com/acme/shop", "HTTPS://github.com/acme/shop",
		},
		{"https://github.com:8443/acme/shop", "https://github.com:8443/acme/shop.git"},
		{"https://github.com/acme/Shop"},
		{"https://github.com/acme"},
		{"https://gitlab.com/acme/shop"},
		{".", here, "file://" + here, "./", here + "/"},
		{"../git2"},
	} {
		for _, a := range same {
			for _, b := range same {
				if !SameRepository(a, b) {
					t.Errorf("%q and %q are the same", a, b)
				}
			}
			if SameRepository(a, "https://github.com/acme/other") {
				t.Errorf("%q is another", a)
			}
		}
	}
	if SameRepository("https://github.com/acme/Shop", "https://github.com/acme/shop") || SameRepository("https://a.com/x", "https://a.com:8443/x") {
		t.Error("paths and ports matter")
	}
}

func TestInvalidURLs(t *testing.T) {
	for url, why := range map[string]string{
		"":                                "empty",
		"https://":                        "no host",
		"https://github.com":              "no repository",
		"https://github.com/":             "no repository",
		"git://github.com/a/b":            "scheme",
		"ext::sh -c id://x":               "",
		"ftp://x/y":                       "scheme",
		"https://x/y?access_token=s3cr3t": "no query",
		"https://x/y#s3cr3t":              "fragment",
		"https://x:99999/y":               "port",
		"https://x:port/y":                "",
		"https://a\nb/c":                  "control characters",
		"https://evil.example/x%0ahost=github.com": "control characters",
		"https://u%0dv@evil.example/x":             "control characters",
		"https://u:%00@evil.example/x":             "control characters",
		"ssh://u%0a@evil.example/x":                "control characters",
		"file:///x%0ay":                            "control characters",
		"ssh://-oProxyCommand=x/y":                 "no host",
		"user:s3cr3t@github.com:acme/shop":         "no password",
		"file://host/x":                            "three slashes",
		"https:/ann:s3cr3t@host/x":                 "one slash",
		"https://user:s3cr3t@[::1/x":               "",
		"https://user:s3cr3t@x:port/y":             "",
		"https://us er:s3cr3t@x/y z?%zz=1":         "",
		"https://%zz:s3cr3t@x/y":                   "",
	} {
		l, err := parseLocation(url)
		if err == nil && why == "" {
			err = errors.New(l.String())
		} else {
			wantKind(t, err, ErrInvalid, why)
		}
		if strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%v tells the secret", err)
		}
	}
}

func FuzzParseLocation(f *testing.F) {
	for _, seed := range []string{
		"https://github.com/acme/shop.git", "git@github.com:acme/shop", "ssh://git@host:2222/x", "file:///tmp/x", "../x", "C:\\x", "https://u:p@h/x?y#z",
		"http://[::1]:80/x", "https://h//", "a:b", "@:x", "https://h/%2e%2e/x", "user:password@host:path",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		l, err := parseLocation(raw)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("%q: %v", raw, err)
			}
			return
		}
		if strings.ContainsAny(l.String()+l.key(), "\n\r\x00") {
			t.Errorf("%q became %q", raw, l.String())
		}
		if p := l.password.Reveal(); len(p) > 3 && !strings.Contains(l.user+l.host+l.path, p) && strings.Contains(l.String(), p) {
			t.Errorf("%q tells its password: %q", raw, l.String())
		}
		// A printed location can be opened again, and is the same repository.
		again, err := parseLocation(l.String())
		if err != nil || again.key() != l.key() {
			t.Errorf("%q is %q with key %q, then %q, %v", raw, l.String(), l.key(), again.key(), err)
		}
	})
}
