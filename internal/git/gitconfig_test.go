package git

import (
	"path/filepath"
	"testing"
)

func TestInsteadOf(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"system": "[url \"https://system.example/\"]\n\tinsteadOf = sys:\n",
		"global": "[include]\n\tpath = more\n[URL \"https://mirror.example/\"]\n\tinsteadof = https://github.com/\n\tinsteadOf = gh:\n",
		// It includes itself, which must not loop.
		"more": "[url \"/srv/acme/\"]\n\tinsteadOf = https://github.com/acme/\n[include]\n\tpath = more\n",
	})
	made := newRepo(t, someFiles)
	made.git("config", "url./srv/local/.insteadOf", "local:")
	linked := filepath.Join(t.TempDir(), "linked")
	made.git("worktree", "add", "-q", linked)
	env := map[string]string{
		"GIT_CONFIG_SYSTEM": filepath.Join(dir, "system"), "GIT_CONFIG_GLOBAL": filepath.Join(dir, "global"), "GIT_CONFIG_NOSYSTEM": "0",
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "url.https://env.example/.insteadOf", "GIT_CONFIG_VALUE_0": "env:",
	}
	want := map[string]string{
		"https://github.com/x/y":       "https://mirror.example/x/y",
		"gh:x/y":                       "https://mirror.example/x/y",
		"https://github.com/acme/shop": "/srv/acme/shop",
		"sys:x":                        "https://system.example/x",
		"env:x":                        "https://env.example/x",
		"local:x":                      "/srv/local/x",
		"https://mapped.example/x":     "https://mirror.example/mapped/x",
		"https://untouched.example/x":  "https://untouched.example/x",
	}
	for _, config := range []string{made.dir, linked} {
		c := newClient(t, env)
		c.Config = config
		c.Map = []Mapping{{"https://mapped.example", "gh:mapped"}}
		for url, want := range want {
			if got, err := c.Locate(url); got != want || err != nil {
				t.Errorf("Locate(%q) = %q, %v, want %q", url, got, err, want)
			}
		}
	}
}

func TestBrokenGitConfig(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"global": "[[["})
	c := newClient(t, map[string]string{"GIT_CONFIG_GLOBAL": filepath.Join(dir, "global")})
	_, err := c.Open(t.Context(), "https://github.com/x/y")
	wantKind(t, err, ErrInvalid, "global", "git config --list")
}

// The places where git keeps the user's configuration.
func TestUserConfigFiles(t *testing.T) {
	home := t.TempDir()
	writeFiles(t, home, map[string]string{
		".gitconfig":         "[url \"/from/home/\"]\n\tinsteadOf = home:\n",
		".config/git/config": "[url \"/from/config/\"]\n\tinsteadOf = config:\n",
		"xdg/git/config":     "[url \"/from/xdg/\"]\n\tinsteadOf = config:\n",
	})
	plain := newClient(t, map[string]string{"HOME": home})
	xdg := newClient(t, map[string]string{"HOME": home, "XDG_CONFIG_HOME": filepath.Join(home, "xdg")})
	for _, test := range []struct {
		c         *Client
		url, want string
	}{
		{plain, "home:x", "/from/home/x"},
		{plain, "config:x", "/from/config/x"},
		{xdg, "config:x", "/from/xdg/x"},
		{xdg, "home:x", "/from/home/x"},
	} {
		if got, err := test.c.Locate(test.url); got != test.want || err != nil {
			t.Errorf("Locate(%q) = %q, %v, want %q", test.url, got, err, test.want)
		}
	}
}
