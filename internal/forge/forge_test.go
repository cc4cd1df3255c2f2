package forge_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/internal/forge"
)

func TestParseID(t *testing.T) {
	for _, tc := range []struct{ url, want string }{
		{"https://github.com/acme/shop", "github.com/acme/shop"},
		{"https://GitHub.com/acme/shop.git", "github.com/acme/shop"},
		{"https://user:token@github.com/acme/shop/", "github.com/acme/shop"},
		{"https://github.com:443/acme/shop", "github.com/acme/shop"},
		{"git@github.com:acme/shop.git", "github.com/acme/shop"},
		{"ssh://git@ssh.github.com:443/acme/shop.git", "github.com/acme/shop"},
		{"ssh://git@altssh.gitlab.com:443/acme/shop.git", "gitlab.com/acme/shop"},
		{"ssh://git@git.example.com:2222/acme/shop", "git.example.com/acme/shop"},
		{"http://127.0.0.1:3000/acme/shop", "127.0.0.1:3000/acme/shop"},
		{"https://gitlab.com/group/sub/deep/shop", "gitlab.com/group/sub/deep/shop"},
		{"https://dev.azure.com/org/project/_git/repo", "dev.azure.com/org/project/repo"},
		{"https://org@dev.azure.com/org/project/_git/repo", "dev.azure.com/org/project/repo"},
		{"https://dev.azure.com/org/_git/repo", "dev.azure.com/org/repo/repo"},
		{"https://dev.azure.com/org/my%20project/_git/repo", "dev.azure.com/org/my project/repo"},
		{"https://org.visualstudio.com/project/_git/repo", "dev.azure.com/org/project/repo"},
		{"https://org.visualstudio.com/DefaultCollection/project/_git/repo", "dev.azure.com/org/project/repo"},
		{"https://org.visualstudio.com/_git/repo", "dev.azure.com/org/repo/repo"},
		{"git@ssh.dev.azure.com:v3/org/project/repo", "dev.azure.com/org/project/repo"},
		{"org@vs-ssh.visualstudio.com:v3/org/project/repo", "dev.azure.com/org/project/repo"},
		{"https://tfs.example.com/tfs/collection/project/_git/repo", "tfs.example.com/tfs/collection/project/repo"},
		{"https://github.com/", ""},
		{"https://github.com/.git", ""},
		{"https://github.com/a/../b", ""},
		{"https:///a/b", ""},
		{"file:///a/b", ""},
		{"/a/b", ""},
		{"a/b", ""},
		{"https://github.com/a b", ""},
		{"https://org.visualstudio.com/DefaultCollection", ""},
		{"git@ssh.dev.azure.com:v3", ""},
		{"", ""},
	} {
		id, err := forge.ParseID(tc.url)
		switch {
		case tc.want == "" && !errors.Is(err, forge.ErrInvalid):
			t.Errorf("%s: got %v, %v, want an error", tc.url, id, err)
		case tc.want != "" && (err != nil || id.String() != tc.want):
			t.Errorf("%s: got %v, %v, want %s", tc.url, id, err, tc.want)
		case err != nil && strings.Contains(err.Error(), "token"):
			t.Errorf("%s: %v", tc.url, err)
		}
	}
}

func FuzzParseID(f *testing.F) {
	for _, seed := range []string{"https://github.com/a/b.git", "git@h:a/b", "ssh://h:1/a", "https://x.visualstudio.com/_git/a", "a:_git", "https://[::1]:3/a"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, url string) {
		id, err := forge.ParseID(url)
		if err != nil {
			return
		}
		if id.Host == "" || id.Path == "" || id.Name() == "" || strings.Contains(id.Path, "//") || strings.HasSuffix(id.Path, "/") {
			t.Errorf("%q: %#v", url, id)
		}
	})
}

func TestIDParts(t *testing.T) {
	id := forge.ID{Host: "gitlab.com", Path: "group/sub/shop"}
	if id.Owner() != "group/sub" || id.Name() != "shop" {
		t.Errorf("got %q, %q", id.Owner(), id.Name())
	}
}

func TestSite(t *testing.T) {
	for _, tc := range []struct{ site, url, want string }{
		{"https://git.example.com", "https://git.example.com/a/b", "git.example.com/a/b"},
		{"https://git.example.com:443/", "git@git.example.com:a/b.git", "git.example.com/a/b"},
		{"http://localhost:3000", "http://localhost:3000/a/b", "localhost:3000/a/b"},
		{"http://localhost:3000", "ssh://git@localhost:2222/a/b", "localhost:3000/a/b"},
		{"http://localhost:3000", "http://localhost:3001/a/b", ""},
		{"https://example.com/gitea", "https://example.com/gitea/a/b", "example.com/a/b"},
		{"https://example.com/gitea", "https://example.com/a/b", ""},
		{"https://example.com/gitea", "git@example.com:a/b", "example.com/a/b"},
		{"https://git.example.com", "https://elsewhere.example.com/a/b", ""},
	} {
		s, err := forge.ParseSite(tc.site)
		if err != nil {
			t.Fatal(err)
		}
		id, err := s.Repository(tc.url)
		if (tc.want == "") != errors.Is(err, forge.ErrInvalid) || (tc.want != "" && id.String() != tc.want) {
			t.Errorf("%s on %s: got %v, %v, want %q", tc.url, tc.site, id, err, tc.want)
		}
	}
	for _, bad := range []string{"", "git.example.com", "ftp://a", "https://a?b", "https://", "https://user:secret@[", "://"} {
		if _, err := forge.ParseSite(bad); !errors.Is(err, forge.ErrInvalid) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestKindOfHost(t *testing.T) {
	for host, want := range map[string]forge.Kind{
		"github.com": forge.GitHub, "GITHUB.com": forge.GitHub, "github.example.com": forge.GitHub, "gitlab.com": forge.GitLab,
		"gitlab.example.com:8443": forge.GitLab, "codeberg.org": forge.Gitea, "forgejo.example.com": forge.Gitea,
		"dev.azure.com": forge.AzureDevOps, "org.visualstudio.com": forge.AzureDevOps, "git.example.com": "", "mygithub.com": "",
	} {
		if got, ok := forge.KindOfHost(host); got != want || ok != (want != "") {
			t.Errorf("%s: got %q, %v, want %q", host, got, ok, want)
		}
	}
}

func TestMarks(t *testing.T) {
	marked := forge.Mark("A plan\n", "plan dev", 0)
	if marked != "A plan\n\n<!-- plan dev -->" || forge.Mark(marked, "plan dev", 0) != marked {
		t.Errorf("got %q", marked)
	}
	for text, want := range map[string]bool{
		marked:                             true,
		"> A plan\n>\n> <!-- plan dev -->": false,
		"<!-- plan dev -->\r\nfirst":       true,
		"see <!-- plan dev --> there":      false,
		"<!-- plan devel -->":              false,
	} {
		if forge.Marked(text, "plan dev") != want {
			t.Errorf("Marked(%q) = %v", text, !want)
		}
	}
	if evil := forge.Mark("", "a --> b\n<!-- c", 0); strings.Count(evil, "-->") != 1 || !forge.Marked(evil, "a --> b\n<!-- c") {
		t.Errorf("a marker ends its comment: %q", evil)
	}
}

func TestMarkingKeepsTheLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, marker := rapid.String().Draw(t, "text"), rapid.StringMatching(`[a-z -]{0,20}`).Draw(t, "marker")
		limit := rapid.IntRange(40, 80).Draw(t, "limit")
		got := forge.Mark(text, marker, limit)
		if utf8.RuneCountInString(got) > limit || !forge.Marked(got, marker) {
			t.Fatalf("Mark(%q, %q, %d) = %q", text, marker, limit, got)
		}
		if again := forge.Mark(got, marker, limit); again != got {
			t.Fatalf("marked again: %q, before %q", again, got)
		}
	})
}

func TestCut(t *testing.T) {
	for _, tc := range []struct {
		text  string
		limit int
		want  string
	}{
		{"größer", 6, "größer"}, {"größer", 5, "größ…"}, {"a b  c", 5, "a b…"}, {"anything", 0, "anything"}, {"🚀🚀", 1, "…"},
	} {
		if got := forge.Cut(tc.text, tc.limit); got != tc.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", tc.text, tc.limit, got, tc.want)
		}
	}
	if got := forge.OneLine(" a\n\tb ", 0); got != "a b" {
		t.Errorf("got %q", got)
	}
}

func TestMarkedComment(t *testing.T) {
	comments := []forge.Comment{
		{ID: "1", Author: "person", Body: forge.Mark("theirs", "m", 0)},
		{ID: "2", Author: "Bot", Body: forge.Mark("ours", "m", 0)},
		{ID: "3", Author: "bot", Body: forge.Mark("ours, too", "m", 0)},
	}
	for author, want := range map[string]string{"bot": "2", "": "1", "other": ""} {
		if got, found := forge.MarkedComment(comments, "m", author); got.ID != want || found != (want != "") {
			t.Errorf("%q: got %q", author, got.ID)
		}
	}
}

func TestLatestStatuses(t *testing.T) {
	got := forge.LatestStatuses([]forge.Status{
		{Context: "b", State: forge.Pending}, {Context: "a", State: forge.Success}, {Context: "b", State: forge.Failure},
	})
	want := []forge.Status{{Context: "a", State: forge.Success}, {Context: "b", State: forge.Failure}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestForges(t *testing.T) {
	_, err := forge.Forges{}.Forge("https://git.example.com/a/b")
	if !errors.Is(err, forge.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

func TestSigned(t *testing.T) {
	// The example of GitHub's documentation of webhooks.
	const signature, body, key = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17", "Hello, World!", "It's a Secret to Everybody"
	if !forge.Signed(signature, []byte(body), forge.NewSecret(key)) {
		t.Error("the right signature is refused")
	}
	for _, tc := range [][3]string{{signature, body + " ", key}, {signature, body, "other"}, {"", body, key}, {"zz", body, key}, {signature, body, ""}} {
		if forge.Signed(tc[0], []byte(tc[1]), forge.NewSecret(tc[2])) {
			t.Errorf("%q is accepted", tc)
		}
	}
}

func ExampleError() {
	err := fmt.Errorf("propose dev: %w", &forge.Error{
		Kind: forge.ErrDenied, Op: "open pull request", Where: "github.com/acme/gitops", Detail: "Resource not accessible by integration",
		Right: "pull_requests=write", Hint: "give the token this right",
	})
	fmt.Println(err)
	fmt.Println(errors.Is(err, forge.ErrDenied))
	fmt.Println(&forge.Error{Kind: forge.ErrRateLimited, Op: "find pull requests", RetryAfter: 90 * time.Second})
	// Output:
	// propose dev: open pull request "github.com/acme/gitops": denied: Resource not accessible by integration (needs pull_requests=write); give the token this right
	// true
	// find pull requests: rate limited; again in 1m30s
}

func TestWrittenCommentsAreNotWrittenTwice(t *testing.T) {
	var w forge.Written
	id := forge.ID{Host: "example.com", Path: "o/r"}
	var did []string
	gone := false
	upsert := func(body string) {
		t.Helper()
		c, err := w.Upsert(id, 7, "m", body, func(on, body string) (forge.Comment, error) {
			if gone && on != "" {
				return forge.Comment{}, &forge.Error{Kind: forge.ErrNotFound}
			}
			did = append(did, on+" "+body)
			return forge.Comment{ID: fmt.Sprint("c", len(did)), Body: body}, nil
		})
		if err != nil || c.Body != body {
			t.Errorf("got %+v, %v", c, err)
		}
	}
	upsert("one")
	upsert("two")
	gone = true
	upsert("three")
	if diff := cmp.Diff([]string{" one", "c1 two", " three"}, did); diff != "" {
		t.Error(diff)
	}
}
