package forgetest_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/forge/forgetest"
)

const published = `
# A small forge.
root /api/v1
shape user {id integer, login string}
shape pull {
    title string, closed string?, user user?, labels [string],
    state (open|closed), settings {* boolean}}
error {message string}
refused 203

GET /repos/{repo}/pulls
  query {state (open|closed), page integer, draft boolean}
  200 [pull]
POST /repos/{repo}/pulls
  body {title string!, body string}
  201 pull
  204
GET /repos/{repo}/pulls/latest
  200 any
GET /repos/{repo}/pulls/{number}
  200 pull
GET /repos/{repo}/refs/{name...}
  200 {weight number}
`

func TestPublished(t *testing.T) {
	p, err := forgetest.ParsePublished(published)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		request, body string
		status        int
		response      string
		want          []string
	}{
		"as documented": {
			"GET /repos/a/pulls?state=open&page=2&draft=true", "", 200,
			`[{"title":"T","closed":null,"user":{"id":1,"login":"a"},"labels":["x"],"state":"open","settings":{"any":true}}]`, nil,
		},
		"an empty list":        {"GET /repos/a/pulls", "", 200, `[]`, nil},
		"null instead of list": {"GET /repos/a/pulls", "", 200, `null`, []string{"200: <nil> is not a list"}},
		"a path":               {"GET /repos/a/issues", "", 200, `[]`, []string{"GET /api/v1/repos/a/issues is not documented"}},
		"a method":             {"PUT /repos/a/pulls", "", 200, `[]`, []string{"PUT /api/v1/repos/a/pulls is not documented"}},
		"an empty segment":     {"GET /repos//pulls", "", 200, `[]`, []string{"GET /api/v1/repos//pulls is not documented"}},
		"parameters": {"GET /repos/a/pulls?state=merged&page=x&limit=3", "", 200, `[]`, []string{
			"query: limit is not documented", "query page: x is not a integer", "query state: merged is not one of open, closed",
		}},
		"a body's fields":      {"POST /repos/a/pulls", `{"body":1,"head":"h"}`, 204, ``, []string{"body.body: 1 is not a string", "body: head is not documented", "body: title is missing"}},
		"no body":              {"POST /repos/a/pulls", ``, 204, ``, []string{"body: is missing"}},
		"a body too many":      {"GET /repos/a/pulls", `{}`, 200, `[]`, []string{"body: is not documented: {}"}},
		"an answer's fields":   {"GET /repos/a/pulls/1", "", 200, `{"title":null,"labels":[1],"user":{"name":"a"},"merged":true}`, []string{"200.labels[]: 1 is not a string", "200: merged is not documented", "200.title: <nil> is not a string", "200.user: name is not documented"}},
		"a fraction":           {"GET /repos/a/pulls/1", "", 200, `{"user":{"id":1.5}}`, []string{"200.user.id: 1.5 is not a integer"}},
		"a status":             {"GET /repos/a/pulls/1", "", 202, `{}`, []string{"202: the status is not documented"}},
		"an answer too many":   {"POST /repos/a/pulls", `{"title":"T"}`, 204, `{}`, []string{"204: the answer has a body: {}"}},
		"no answer":            {"POST /repos/a/pulls", `{"title":"T"}`, 201, ``, []string{"201: the answer has no body"}},
		"no JSON":              {"GET /repos/a/pulls/1", "", 200, `<html>`, []string{"200: is not JSON"}},
		"a refusal":            {"GET /repos/a/pulls/1", "", 404, `{"message":"no"}`, nil},
		"another refusal":      {"GET /repos/a/pulls/1", "", 404, `{"error":"no"}`, []string{"404: error is not documented"}},
		"a page to sign in":    {"GET /repos/a/pulls/1", "", 203, `<html>`, nil},
		"the fixed path first": {"GET /repos/a/pulls/latest", "", 200, `7`, nil},
		"the rest of a path":   {"GET /repos/a/refs/heads/x/y", "", 200, `{"weight":1.5}`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			method, target, _ := strings.Cut(tc.request, " ")
			u, err := url.Parse("/api/v1" + target)
			if err != nil {
				t.Fatal(err)
			}
			problems := p.Check(forgetest.Exchange{
				Method: method, Path: u.EscapedPath(), Query: u.Query(), Body: json.RawMessage(tc.body), Status: tc.status,
				Response: json.RawMessage(tc.response),
			}, false)
			var got []string
			for _, problem := range problems {
				_, what, found := strings.Cut(problem, "}: ")
				if _, after, ok := strings.Cut(problem, "/pulls: "); !found && ok {
					what, found = after, true
				}
				if !found {
					what = problem
				}
				got = append(got, what)
			}
			slices.Sort(got)
			slices.Sort(tc.want)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A real forge sends fields that our part of the description leaves out.
func TestPublishedForARealForge(t *testing.T) {
	p, err := forgetest.ParsePublished(published)
	if err != nil {
		t.Fatal(err)
	}
	e := forgetest.Exchange{Method: "GET", Path: "/api/v1/repos/a/pulls/1", Status: 200, Response: json.RawMessage(`{"title":"T","merged":true}`)}
	if got := p.Check(e, true); got != nil {
		t.Errorf("got %q", got)
	}
	e.Response = json.RawMessage(`{"title":1,"merged":true}`)
	if got := p.Check(e, true); len(got) != 1 {
		t.Errorf("got %q, want one problem", got)
	}
}

func TestPublishedIsChecked(t *testing.T) {
	for _, text := range []string{
		"  200 any", "GET /x\n  ok any", "GET /x\n  200 {a string", "GET /x\n  200 [a", "GET /x\n  200 (a", "GET /x\n  200 missing",
		"GET /x\n  200 string string", "shape a ]", "refused yes",
	} {
		if _, err := forgetest.ParsePublished(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
