package web

import (
	"testing"
	"time"
)

func TestFormatting(t *testing.T) {
	p := &Pages{URL: "http://127.0.0.1:8080", RepositoryURL: func(string) string { return "http://127.0.0.1:8080/a/b" }}
	for _, tc := range []struct{ what, got, want string }{
		{"a command", (&site{Pages: p}).command("history", "workload", "hello", ""), "kalypso history workload hello --server http://127.0.0.1:8080"},
		{"a name that a shell would read", shellWord("a;rm -rf $HOME'x"), `'a;rm -rf $HOME'\''x'`},
		{"an empty word", shellWord(""), "''"},
		{"a moment ago", ago(5 * time.Second), "just now"},
		{"minutes", ago(90 * time.Minute), "90 min ago"},
		{"days", ago(50 * time.Hour), "2 days ago"},
		{"the future", ago(-3 * time.Hour), "in 3 h"},
		{"one", count(1, "status"), "1 status"},
		{"several", count(2, "status"), "2 statuses"},
		{"thousands", count(12345, "cluster"), "12,345 clusters"},
		{"a hundred", number(100), "100"},
		{"a million", number(-1000000), "-1,000,000"},
		{"a sentence", sentence("no environment \"x\""), `No environment "x".`},
		{"a long name", truncate("environment-of-europe", 12), "environment…"},
		{"a repository by plain http", p.repositoryURL("https://127.0.0.1:8080/a/b"), "http://127.0.0.1:8080/a/b"},
		{"a repository as it is known", (&Pages{}).repositoryURL("https://git.example.com/a/b"), "https://git.example.com/a/b"},
		{"a credential", line("https://me:hunter2@git.example.com/a"), line("https://me:other@git.example.com/a")},
		{"output", lines("a\x1b[1m\r\n  b"), "a⟨U+001B⟩[1m\r\n  b"},
		{"invisible characters", line("a\u202e\nb\u200b  c"), "a⟨U+202E⟩ b⟨U+200B⟩ c"},
		{"what is left out", line("run https://example.com/?{x:1} now"), "run https://example.com/?*** now"},
	} {
		if tc.got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.what, tc.got, tc.want)
		}
	}
	for address, want := range map[string]bool{
		"https://example.com/x": true, "http://127.0.0.1:8080": true, "javascript:alert(1)": false, "data:text/html,x": false, "//example.com": false,
		"https://me:secret@example.com": false, "../gitops": false, "": false, "https:///x": false,
	} {
		if isLink(address) != want {
			t.Errorf("%q: a link is %v, want %v", address, !want, want)
		}
	}
}

func TestReasonsLinkTheirAddress(t *testing.T) {
	for text, want := range map[string]reason{
		"waits (https://git.example.com/pulls/1)": {"waits", "https://git.example.com/pulls/1"},
		"waits":                       {"waits", ""},
		"waits (javascript:alert(1))": {"waits (javascript:alert(1))", ""},
		"a (https://git.example.com/1) in between":   {"a (https://git.example.com/1) in between", ""},
		"with a password (https://ann:pw@x.example)": {"with a password (https://ann:pw@x.example)", ""},
	} {
		if got := reasonOf(text); got != want {
			t.Errorf("%q: got %+v, want %+v", text, got, want)
		}
	}
}
