package rest_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
	"github.com/kalypso-io/kalypso/internal/forge/rest"
)

func TestMessage(t *testing.T) {
	for _, tc := range []struct{ body, want string }{
		{`{"message":"no"}`, "no"},
		{`{"message":"Validation Failed","errors":[{"resource":"Label","field":"name","code":"already_exists"}]}`, "Validation Failed: Label: name: already_exists"},
		{`{"message":{"title":["is too long"],"base":["is missing"]}}`, "base: is missing: title: is too long"},
		{`{"error":"invalid_token","error_description":"expired"}`, "invalid_token: expired"},
		{`{"message":null,"errors":["a","b"]}`, "a: b"},
		{`<html>`, ""},
		{`[1]`, ""},
		{``, ""},
	} {
		if got := rest.Message([]byte(tc.body)); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.body, got, tc.want)
		}
	}
}

func client(t *testing.T, handler http.HandlerFunc) *rest.Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return &rest.Client{Base: server.URL + "/api", HTTP: server.Client(), Secrets: []forge.Secret{forge.NewSecret("s3cr3t")}}
}

func TestPages(t *testing.T) {
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Query().Get("page") {
		case "", "1":
			w.Header().Set("Link", `<http://elsewhere.internal/api/things?page=0>; rel="prev", <http://elsewhere.internal/x?page=2&q=a%2Fb>; rel="next"`)
			forgetest.Answer(200, `[1,2]`)(w, r)
		case "2":
			if r.URL.Path != "/api/things" || r.URL.Query().Get("q") != "a/b" {
				t.Errorf("requested %s", r.URL)
			}
			w.Header().Set("Link", `</api/things?page=3>; rel="next"`)
			forgetest.Answer(200, `[3]`)(w, r)
		default:
			w.Header().Set("Link", `<http://x/?page=1>; rel="first"`)
			forgetest.Answer(200, `[]`)(w, r)
		}
	})
	var got []int
	take := func(n int) func(int) bool {
		got = nil
		return func(i int) bool { got = append(got, i); return len(got) < n }
	}
	for n, want := range map[int][]int{10: {1, 2, 3}, 1: {1}, 2: {1, 2}} {
		if err := rest.Pages(t.Context(), c, rest.Request{Op: "list", Path: "/things"}, take(n)); err != nil || !cmp.Equal(got, want) {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	}
}

func TestListWithoutEnd(t *testing.T) {
	c := client(t, func(w http.ResponseWriter, r *http.Request) {
		forgetest.Answer(200, `[]`, "Link", `</?page=2>; rel="next"`)(w, r)
	})
	err := rest.Pages(t.Context(), c, rest.Request{Op: "list", Path: "/things"}, func(int) bool { return true })
	if !errors.Is(err, forge.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}

func TestFailures(t *testing.T) {
	for status, want := range map[int]string{
		400: `try "o/r": invalid: token ***`,
		401: `try "o/r": denied: token *** (needs a valid token); the token is missing, expired or revoked; configure a new one`,
		403: `try "o/r": denied: token *** (needs write); give the token this right`,
		404: `try "o/r": not found: token ***; check the name, and that the token may see it`,
		405: `try "o/r": conflict: token ***`,
		409: `try "o/r": conflict: token ***`,
		410: `try "o/r": not found: token ***`,
		412: `try "o/r": conflict: token ***`,
		422: `try "o/r": invalid: token ***`,
		429: `try "o/r": rate limited: token ***`,
		500: `try "o/r": unavailable: token ***`,
	} {
		c := client(t, forgetest.Answer(status, `{"message":"token s3cr3t"}`))
		err := c.Do(t.Context(), rest.Request{Op: "try", Where: "o/r", Right: "write", Path: "/x"})
		if err == nil || err.Error() != want {
			t.Errorf("%d: got %v, want %s", status, err, want)
		}
	}
}

func TestHintsOfClosedRepositories(t *testing.T) {
	for status, tc := range map[int]struct {
		message, want string
		kind          error
	}{
		403: {"Repository was archived so is read-only.", "the repository is archived", forge.ErrDenied},
		410: {"Issues are disabled for this repo", "enable issues in the settings", forge.ErrNotFound},
		423: {"acme/gitops is archived", "the repository is archived", forge.ErrDenied}, // Gitea
	} {
		c := client(t, forgetest.Answer(status, `{"message":"`+tc.message+`"}`))
		err := c.Do(t.Context(), rest.Request{Op: "try", Where: "o/r", Right: "write", Path: "/x"})
		if !errors.Is(err, tc.kind) || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "give the token") {
			t.Errorf("%d: got %v, want %s", status, err, tc.want)
		}
	}
}

func TestPath(t *testing.T) {
	if got := rest.Path("a/b", "ä ?#", ".."); got != "/a%2Fb/%C3%A4%20%3F%23/.." {
		t.Errorf("got %s", got)
	}
}

func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"message":{"a":[{"code":1}]}}`))
	f.Add([]byte(`{"errors":[[["a"]],null,{"message":null}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if got := rest.Message(body); got != rest.Message(body) {
			t.Errorf("not the same again: %q", got)
		}
	})
}
