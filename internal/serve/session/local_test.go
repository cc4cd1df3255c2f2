package session

import (
	"net/url"
	"testing"
)

// FuzzLocal: whatever is asked for, a browser stays on this server.
func FuzzLocal(f *testing.F) {
	for _, to := range []string{"/", "/a?b=c#d", "//evil.example.com", `/\evil.example.com`, "https:evil", "/%2f%2fevil", "/\t/evil", "/a/../..//evil", "/-/sign-in"} {
		f.Add(to)
	}
	here := &url.URL{Scheme: "https", Host: "kalypso.example.com", Path: "/-/sign-in"}
	f.Fuzz(func(t *testing.T, to string) {
		where, err := here.Parse(local(to))
		if err != nil || where.Host != here.Host || where.Scheme != here.Scheme || where.Path == "" || where.Path[0] != '/' {
			t.Errorf("%q leads to %v (%v)", to, where, err)
		}
		if len(where.Path) > 1 && (where.Path[1] == '/' || where.Path[1] == '\\') {
			t.Errorf("%q leads to %v, which browsers take for another host", to, where)
		}
	})
}
