package api_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

func TestConditionalRequests(t *testing.T) {
	w := newWorld(t)
	w.register("large-07", ledger.Membership{Environment: "dev", ClusterType: "large"})
	first := w.get("/api/v1/clusters")
	tag := first.header.Get("ETag")
	if first.status != http.StatusOK || tag == "" || first.header.Get("Cache-Control") != "private, no-cache" {
		t.Fatalf("got %d %v", first.status, first.header)
	}
	for _, header := range []string{tag, "W/" + tag, `"other", ` + tag, "*"} {
		again := w.get("/api/v1/clusters", "If-None-Match", header)
		if again.status != http.StatusNotModified || len(again.body) > 0 || again.header.Get("ETag") != tag {
			t.Errorf("If-None-Match %s: got %d %s", header, again.status, again.body)
		}
	}
	w.register("large-08", ledger.Membership{Environment: "dev", ClusterType: "large"})
	if got := w.get("/api/v1/clusters", "If-None-Match", tag); got.status != http.StatusOK || got.header.Get("ETag") == tag {
		t.Errorf("after a change: got %d %s", got.status, got.header.Get("ETag"))
	}
}

// walk follows the links of a list to its end, as any client can that knows links.
func walk[T any](w *world, path string, name func(T) string) (names []string, pages int) {
	w.t.Helper()
	for path != "" {
		a := w.get(path)
		page := decode[query.Page[T]](w.t, a, http.StatusOK)
		for _, item := range page.Items {
			names = append(names, name(item))
		}
		pages++
		link := a.header.Get("Link")
		path = strings.TrimSuffix(strings.TrimPrefix(link, "<"), `>; rel="next"`)
		if (link == "") != (page.Next == "") || pages > 100 {
			w.t.Fatalf("page %d: link %q, next %q", pages, link, page.Next)
		}
	}
	return names, pages
}

func TestPages(t *testing.T) {
	w := newWorld(t)
	var want []string
	for i := range 23 {
		name := fmt.Sprintf("large-%02d", i)
		w.register(name, ledger.Membership{Environment: "dev", ClusterType: "large"})
		want = append(want, name)
	}
	got, pages := walk(w, "/api/v1/clusters?environment=dev&limit=5", func(c query.Cluster) string { return c.Name })
	if diff := cmp.Diff(got, want); diff != "" || pages != 5 {
		t.Errorf("%d pages (-got +want):\n%s", pages, diff)
	}
}

// TestPagesOfTheAuditTrail: entries of one instant are neither lost nor repeated at the border of a page.
func TestPagesOfTheAuditTrail(t *testing.T) {
	w := newWorld(t)
	at := time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)
	for i := range 17 {
		e := ledger.AuditEntry{At: at.Add(time.Duration(i/7) * time.Second), By: "ada", Action: fmt.Sprintf("act %02d", i)}
		if err := w.ledger.RecordAudit(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	for _, limit := range []int{1, 3, 7, 16, 17, 100} {
		got, _ := walk(w, fmt.Sprintf("/api/v1/audit?limit=%d", limit), func(e ledger.AuditEntry) string { return e.Action })
		slices.Sort(got)
		if len(slices.Compact(slices.Clone(got))) != 17 || len(got) != 17 {
			t.Errorf("limit %d: got %d entries: %q", limit, len(got), got)
		}
	}
}

func TestWhatIsAskedWrongly(t *testing.T) {
	w := newWorld(t)
	for path, tc := range map[string]struct {
		status   int
		location string
	}{
		"/environments?enviroment=dev":                      {422, "query.enviroment"},
		"/clusters?limit=0":                                 {422, "query.limit"},
		"/clusters?limit=1001":                              {422, "query.limit"},
		"/clusters?limit=many":                              {422, "query.limit"},
		"/clusters?asOf=yesterday":                          {422, "query.asOf"},
		"/clusters?state=green":                             {422, "query.state"},
		"/clusters?label=region":                            {422, "query.label"},
		"/clusters?after=large-07":                          {422, "query.after"},
		"/clusters?after=" + strings.Repeat("A", 3000):      {422, "query.after"},
		"/clusters?environment=" + strings.Repeat("x", 300): {422, "query.environment"},
		"/assignments":                                      {422, "query.environment"},
		"/history":                                          {422, ""},
		"/history?environment=dev&kind=gossip":              {422, "query.kind[0]"},
		"/promotions/main":                                  {422, "path.commit"},
		"/clusters/none":                                    {404, ""},
		"/workloads/none":                                   {404, ""},
		"/environments/none":                                {404, ""},
		"/environments/prod":                                {409, "query.controlPlane"},
		"/assignments?environment=prod":                     {409, "query.controlPlane"},
		"/compare/none/other":                               {404, ""},
		"/promotions/" + commit("f"):                        {404, ""},
		"/nothing":                                          {404, ""},
		"/clusters/":                                        {404, ""},
		"/clusters/a/b":                                     {404, ""},
		"/clusters/" + url.PathEscape("a\x1b[31m\nlevel=error"): {404, ""},
	} {
		p := wantProblem(t, w.get("/api/v1"+path), tc.status)
		if tc.location != "" && (len(p.Errors) == 0 || p.Errors[0].Location != tc.location) {
			t.Errorf("%s: got %+v, want the location %s", path, p, tc.location)
		}
		if strings.ContainsAny(p.Detail+p.Next, "\x1b\n") {
			t.Errorf("%s: got %q", path, p.Detail)
		}
	}
	wantProblem(t, w.get("/api/nothing"), http.StatusNotFound)
	wantProblem(t, w.get("/api"), http.StatusNotFound)
}

func TestEnvironmentsOfOneNameAreToldApart(t *testing.T) {
	w := newWorld(t)
	p := wantProblem(t, w.get("/api/v1/environments/prod"), http.StatusConflict)
	want := []api.ProblemPart{
		{Message: controlPlane, Location: "query.controlPlane"}, {Message: controlPlane + "-2", Location: "query.controlPlane"},
	}
	if diff := cmp.Diff(p.Errors, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	for _, part := range p.Errors {
		got := decode[query.EnvironmentDetail](t, w.get("/api/v1/environments/prod?controlPlane="+url.QueryEscape(part.Message)), http.StatusOK)
		if got.ControlPlane != part.Message {
			t.Errorf("got that of %s, want %s", got.ControlPlane, part.Message)
		}
	}
}

func TestWrongMethodsAndTypes(t *testing.T) {
	w := newWorld(t)
	a := w.call(http.MethodDelete, "/api/v1/environments", w.tokens["admin"], nil)
	wantProblem(t, a, http.StatusMethodNotAllowed)
	if got := a.header.Get("Allow"); !strings.Contains(got, "GET") {
		t.Errorf("Allow is %q", got)
	}
	wantProblem(t, w.get("/api/v1/environments", "Accept", "text/html"), http.StatusNotAcceptable)
	wantProblem(t, w.get("/api/v1/environments", "Accept", "application/json;q=0"), http.StatusNotAcceptable)
	wantProblem(t, w.get("/api/v1/events", "Accept", "application/json"), http.StatusNotAcceptable)
	for _, accept := range []string{"*/*", "application/*", "text/html, application/json;q=0.1", "APPLICATION/JSON"} {
		if a := w.get("/api/v1/environments", "Accept", accept); a.status != http.StatusOK {
			t.Errorf("Accept %s: got %d", accept, a.status)
		}
	}
	wantProblem(t, w.post("/api/v1/clusters", w.tokens["admin"], "{}", "Content-Type", "text/plain"), http.StatusUnsupportedMediaType)
	wantProblem(t, w.post("/api/v1/clusters", w.tokens["admin"], "{}", "Content-Type", ""), http.StatusUnsupportedMediaType)
}

func TestPagesOfOtherSites(t *testing.T) {
	w := newWorld(t)
	const path = "/api/v1/clusters/large-07/revoke"
	w.register("large-07")
	for name, headers := range map[string][]string{
		"as browsers say now":    {"Sec-Fetch-Site", "cross-site"},
		"as browsers said once":  {"Origin", "https://evil.example.com"},
		"of a neighbouring site": {"Sec-Fetch-Site", "same-site"},
	} {
		if p := wantProblem(t, w.post(path, w.tokens["admin"], nil, headers...), http.StatusForbidden); p.Next == "" {
			t.Errorf("%s: got %+v", name, p)
		}
	}
	if a := w.post(path, w.tokens["admin"], nil, "Origin", w.url); a.status != http.StatusOK {
		t.Errorf("our own: got %d: %s", a.status, a.body)
	}
}

func TestHistoryOfAuditsIsForAdmins(t *testing.T) {
	w := newWorld(t)
	path := "/api/v1/history?environment=dev&kind=audit"
	wantProblem(t, w.call(http.MethodGet, path, w.tokens["operator"], nil), http.StatusForbidden)
	if a := w.get(path); a.status != http.StatusOK {
		t.Errorf("as an admin: got %d: %s", a.status, a.body)
	}
}

func TestLedgerThatIsGone(t *testing.T) {
	w := newWorld(t)
	if a := w.get("/api/v1/clusters"); a.status != http.StatusOK { // the token is known now
		t.Fatal(a.status)
	}
	if err := w.ledger.Close(); err != nil {
		t.Fatal(err)
	}
	p := wantProblem(t, w.get("/api/v1/clusters"), http.StatusInternalServerError)
	if strings.Contains(p.Detail, "sql") {
		t.Errorf("got %q", p.Detail)
	}
	if log := w.log.String(); !strings.Contains(log, p.Instance) {
		t.Errorf("the log does not have request %s:\n%s", p.Instance, log)
	}
}
