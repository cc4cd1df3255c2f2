package web_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/web"
)

func TestEmptyFleetExplainsWhatToDo(t *testing.T) {
	p := newWorld(t).see("/")
	p.wants(".empty", "No environments yet")
	p.wants(".empty code", "kalypso init control-plane fleet")
}

func TestFleetShowsUnreadableControlPlanes(t *testing.T) {
	w := newWorld(t)
	w.fleet = fleet{{URL: controlPlane, Err: errors.New("there is no such repository, says https://ann:secret@git.example.com")}}
	p := w.see("/")
	p.wants(".note", "cannot be read. Kalypso retries")
	p.wants(".empty", "No environments yet")
	if text := w.ask("/").Body.String(); strings.Contains(text, "no such repository") {
		t.Error("a reader sees the server's error")
	}
	w.pages.Guard.Others = []access.Authenticator{roleHeader{}}
	w.seeAs(access.Operator, "/").wants(".note", "there is no such repository")
	if text := w.ask("/", "Role", string(access.Operator)).Body.String(); strings.Contains(text, "secret") {
		t.Error("an operator sees a credential")
	}
}

func TestFleetShowsWhatIsWrongWithTheServer(t *testing.T) {
	w := newWorld(t).fleetOfThree()
	w.pages.Alerts = func() []web.Alert {
		return []web.Alert{{What: "2 repositories do not answer in time: a, b", Why: "dial tcp: i/o timeout", Next: "Check them."}}
	}
	w.see("/").wants(".note", "2 repositories do not answer in time: a, b")
	if text := w.ask("/").Body.String(); strings.Contains(text, "i/o timeout") {
		t.Error("a reader sees the server's error")
	}
	w.pages.Guard.Others = []access.Authenticator{roleHeader{}}
	w.seeAs(access.Operator, "/").wants(".note", "dial tcp: i/o timeout. Check them.")
}

func TestFleetShowsBehindClustersAndWaitingCommits(t *testing.T) {
	p := newWorld(t).fleetOfThree().see("/")
	if n := len(p.all("th#environment-dev")); n != 1 {
		t.Errorf("%d columns of dev", n)
	}
	p.wants("td[data-env=dev]", "✕ failed")
	p.wants("td[data-env=dev] .how", "2 of 3")
	p.wants("td[data-env=dev] .because", "no <b>image</b>")
	p.wants("td[data-env=dev] .notes", "1 error")
	p.wants("td[data-env=stage] .because", "by Ann: sale until Monday")
	if n := len(p.all("td.next")); n != 1 {
		t.Errorf("%d cells wait for a commit, want stage", n)
	}
	p.wants(".command code", "kalypso status --server https://kalypso.example.com")
	if links := p.all("a[href=javascript:alert(1)]"); len(links) > 0 {
		t.Error("an address that is not one of the web became a link")
	}
}

func TestEnvironmentShowsProblemPositions(t *testing.T) {
	w := newWorld(t).fleetOfThree()
	p := w.see("/environments/dev")
	p.wants("h1", "dev")
	p.wants(".problems li", "✕ error a <tab> where spaces belong write spaces dev cluster-types/large.yaml:7")
	p.wants("tbody tr", "large-03 large ✕ failed")
	p.wants(".box", "+2 added")
	p.wants(".matrix th", "hello-test")
	p.wants(".matrix td.off", "?1")
	if got := len(w.see("/environments/dev?find=nothing").all(".matrix tbody tr")); got != 0 {
		t.Errorf("the filter lets %d rows through", got)
	}
}

func TestEnvironmentAtAPointInTime(t *testing.T) {
	p := newWorld(t).fleetOfThree().see("/environments/dev?asOf=2026-11-20T11:28")
	p.wants(".asof", "2026-11-20 11:28:00 UTC")
	p.wants(".command code", "kalypso history environment dev --as-of 2026-11-20T11:28:00Z")
	if p.all("main[data-concerns]") != nil {
		t.Error("the past is not live")
	}
}

// TestPendingPlanShowsHeldAssignments checks that held assignments are shown even if nothing is proposed.
func TestPendingPlanShowsHeldAssignments(t *testing.T) {
	w := newWorld(t).fleetOfThree()
	held := w.standings()
	dev := held.Scheduling["dev"].Outcome
	dev.PullRequest, dev.Plan.Counts = nil, plan.Counts{Held: 2, Unchanged: 1}
	w.fleet = fleet{held}
	w.see("/environments/dev").wants("section[aria-labelledby=plan] .empty", "2 assignments held as published")
	unread := w.see("/environments/stage")
	unread.wants("section[aria-labelledby=plan] .empty", "Not known until the repositories have been read")
	unread.wants("section[aria-labelledby=problems] .empty", "have not been read yet")
}

func TestWorkloadShowsRunningVersions(t *testing.T) {
	w := newWorld(t).fleetOfThree()
	w.see("/workloads").wants("tbody tr", "hello team-a dev 1 1.4.2")
	p := w.see("/workloads/hello")
	p.wants("tbody tr", "1.4.2 built 2 h ago")
	p.wants("tbody tr", "✓ ready 1.4.2 on 2")
	p.wants(".figures dd", "1 0.0 per day")
}

func TestClusterShowsReconcilers(t *testing.T) {
	w := newWorld(t).fleetOfThree()
	w.see("/clusters?environment=dev&state=failed").wants("tbody tr", "large-03 dev as large ✕ failed")
	p := w.see("/clusters/large-03")
	p.wants("tbody tr", "dev large ✕ failed 30 min ago d111111 – no <b>image</b>")
	p.wants("tbody tr", "no <b>image</b>⟨U+001B⟩[31m")
	p.wants(".timeline li", "registered")
	p.wants("header .state", "1 of 1 fails")
	p.wants("header .badge", "large")
	p.wants(".figures dd", "0 of 1 membership")
	p.wants(".command code", "kalypso cluster show large-03")
}

// TestRetriesOfAReconcilerAreOneEvent: what a reconciler tries again and again with the same result is one entry.
func TestRetriesOfAReconcilerAreOneEvent(t *testing.T) {
	w := newWorld(t).fleetOfThree()
	for minute := 20; minute > 0; minute -= 2 {
		w.report("large-01", "shop", ledger.Source{Repository: gitOps, Ref: "dev", Path: "shop"}, app1, ledger.StateFailed, "image not found", minute)
		w.report("large-01", "shop", ledger.Source{Repository: gitOps, Ref: "dev", Path: "shop"}, app1, ledger.StateProgressing, "", minute-1)
	}
	p := w.see("/clusters/large-01")
	p.wants(".timeline summary", "9 more events 10 failed")
	p.wants(".timeline summary", "9 more events 10 progressing")
}

// TestClusterWaitsForTheFirstMerge: before the first merge into its branch, a reconciler's errors are not shown as such.
func TestClusterWaitsForTheFirstMerge(t *testing.T) {
	w := newWorld(t).fleetOfThree()
	w.register("edge-01", ledger.Membership{Environment: "prod", ClusterType: "edge"})
	w.must(w.ledger.RecordCommit(w.t.Context(), ledger.Commit{
		Repository: gitOps, Branch: "prod", SHA: app1, Kind: ledger.BranchPlatform, Environment: "prod", Committed: noon, Recorded: noon.Add(-time.Hour),
	}))
	source := ledger.Source{Repository: gitOps, Ref: "prod", Path: "edge"}
	w.report("edge-01", "platform", source, app1, ledger.StateProgressing, "kustomization path not found", 30)
	w.report("edge-01", "platform", source, app1, ledger.StateProgressing, "", 29)
	w.report("edge-01", "platform", source, app1, ledger.StateFailed, "kustomization path not found", 28)
	p := w.see("/clusters/edge-01")
	p.wants("tbody tr", "prod edge ◐ behind a111111 – tried a111111 waits for the first merge into branch prod")
	p.wants("tbody tr", "a111111 ◐ progressing waits for the first merge into branch prod 28 min ago")
	p.wants(".timeline li", "waits for the first merge into branch prod")
	for _, text := range p.texts("main") {
		if strings.Contains(text, "path not found") {
			t.Errorf("the page shows an error though nothing is wrong:\n%s", text)
		}
	}
	w.see("/clusters").wants("tbody tr", "edge-01 prod as edge ◐ behind waits for the first merge into branch prod")
}

func TestClusterShowsWhatIsNotHealthy(t *testing.T) {
	w := newWorld(t).fleetOfThree()
	w.reportOutcome("large-01", "web", ledger.Outcome{
		Source: ledger.Source{Repository: gitOps, Ref: "dev", Path: "large"}, Revision: app1, Applied: app1,
		State: ledger.StateFailed, Health: hub.HealthDegraded, Message: "health check failed",
		Unhealthy: []hub.ObjectHealth{
			{Kind: "Deployment", Namespace: "shop", Name: "web", Health: hub.HealthDegraded, Message: "pod web-1: CrashLoopBackOff <b>"},
			{Kind: "Namespace", Name: "shop"},
		},
	}, 5)
	p := w.see("/clusters/large-01")
	p.wants("tbody tr", "✕ failed ✕ degraded health check failed")
	p.wants(".object", "Deployment shop/web ✕ degraded pod web-1: CrashLoopBackOff <b>")
	p.wants(".object", "Namespace shop ○ unknown")
}

func TestPromotionShowsEveryStep(t *testing.T) {
	p := newWorld(t).fleetOfThree().see("/promotions/1111111")
	p.wants("h1", "1111111")
	p.wants(".stage header", "dev ✕ failed")
	p.wants(".stage header", "stage ◐ next")
	p.wants(".steps li", "published d111111 the GitOps branch has its manifests · 2 min after the previous step")
	p.wants(".steps li", "◐ applying 1111111 waits: 3 of 3 clusters behind")
	p.wants(".steps li", "verified smoke ✓ passed it answers in 2s")
	p.wants(".steps pre", "<script>200</script>")
	p.wants("figcaption", "2 of 3")
	p.wants(".stage summary", "1 commit status posted")
	if len(p.all("svg.chart path.line")) != 1 {
		t.Error("the rollout is not drawn")
	}
}

func TestCompareHistoryFiguresAndSearch(t *testing.T) {
	w := newWorld(t).fleetOfThree()
	p := w.see("/compare?a=dev&b=stage")
	p.wants("tbody tr", "hello test expected 1.4.2 ✓ ready 1.4.2 on 2 not assigned")
	w.see("/compare").wants(".empty", "Choose two environments")
	p = w.see("/history?environment=dev")
	p.wants(".timeline .day", "Friday, 20 November 2026")
	p.wants(".timeline li", "published dev: 1111111")
	p.wants(".timeline li", "◐ applying dev: 1111111")
	p.wants(".command code", "kalypso history environment dev")
	if a := w.ask("/history?environment=dev&asOf=2026-11-20T11:00"); a.Code != http.StatusSeeOther || a.Header().Get("Location") != "/environments/dev?asOf=2026-11-20T11%3A00%3A00Z" {
		t.Errorf("got %d to %q", a.Code, a.Header().Get("Location"))
	}
	p = w.see("/figures")
	p.wants("tbody tr", "team-a hello 1")
	if len(p.all("svg.chart rect.move")) != 15 {
		t.Error("the deployments are not drawn")
	}
	for query, want := range map[string]string{
		"dev": "environment dev", "ELL": "workload hello team-a", "large-0": "cluster large-02",
		"1111111": "commit 1111111", "team-a": "workload hello", "nothing at all": "",
	} {
		p := w.see("/search?q=" + strings.ReplaceAll(query, " ", "+"))
		if want == "" {
			p.wants(".empty", "No results")
			continue
		}
		p.wants(".hits li", want)
	}
	w.see("/search?q=large-3").wants(".empty", "Clusters with similar names: large-03")
}

// TestJSONEqualsTheQueryResult checks that a page and a program get the same values.
func TestJSONEqualsTheQueryResult(t *testing.T) {
	w := newWorld(t).fleetOfThree()
	o, ctx := w.pages.Observer, t.Context()
	for path, ask := range map[string]func() (any, error){
		"/":                 func() (any, error) { return o.Environments(ctx, query.EnvironmentsQuery{}) },
		"/environments/dev": func() (any, error) { return o.Environment(ctx, query.EnvironmentQuery{Name: "dev"}) },
		"/map?environment=dev": func() (any, error) {
			return o.Map(ctx, query.MapQuery{Environment: "dev", Paging: query.Paging{Limit: query.MaxLimit}})
		},
		"/workloads":          func() (any, error) { return o.Workloads(ctx, query.WorkloadsQuery{}) },
		"/workloads/hello":    func() (any, error) { return o.Workload(ctx, "hello") },
		"/clusters":           func() (any, error) { return o.Clusters(ctx, query.ClustersQuery{}) },
		"/clusters/large-03":  func() (any, error) { return o.Cluster(ctx, query.ClusterQuery{Name: "large-03"}) },
		"/promotions":         func() (any, error) { return o.Promotions(ctx, query.PromotionsQuery{}) },
		"/promotions/1111111": func() (any, error) { return o.Promotion(ctx, query.PromotionQuery{Commit: "1111111"}) },
		"/history?kind=all":   func() (any, error) { return o.History(ctx, query.HistoryQuery{}) },
		"/figures": func() (any, error) {
			return o.Figures(ctx, query.FiguresQuery{From: noon.AddDate(0, 0, -30), To: noon})
		},
		"/compare?a=dev&b=stage": func() (any, error) {
			return o.Compare(ctx, query.CompareQuery{A: "dev", B: "stage"})
		},
	} {
		value, err := ask()
		w.must(err)
		want, err := json.Marshal(value)
		w.must(err)
		a := w.ask(path, "Accept", "application/json")
		if a.Code != http.StatusOK || a.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: got %d %s", path, a.Code, a.Header().Get("Content-Type"))
		}
		if diff := cmp.Diff(decoded(t, a.Body.Bytes()), decoded(t, want)); diff != "" {
			t.Errorf("%s (-got +want):\n%s", path, diff)
		}
	}
}

func decoded(t *testing.T, text []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// TestListsHavePages checks that long lists continue on the next page, which has its own address.
func TestListsHavePages(t *testing.T) {
	w := newWorld(t)
	for i := range 130 {
		w.register("c" + time.Unix(int64(i), 0).UTC().Format("0405"))
	}
	p := w.see("/clusters?environment=")
	next := p.all("a[rel=next]")
	if len(p.all("tbody tr")) != 100 || len(next) != 1 {
		t.Fatalf("got %d rows and %d links", len(p.all("tbody tr")), len(next))
	}
	if got := len(w.see(attribute(next[0], "href")).all("tbody tr")); got != 30 {
		t.Errorf("the next page has %d rows, want 30", got)
	}
}

// Unknown values of a filter are rejected with a list of the known ones.
func TestFiltersListAllowedValues(t *testing.T) {
	w := newWorld(t).fleetOfThree()
	for address, want := range map[string]struct {
		status int
		says   string
	}{
		"/clusters?state=nope":                      {http.StatusBadRequest, `The parameter state is "nope", and not one of reached, behind, failed, offline, missing.`},
		"/map?environment=dev&state=nope":           {http.StatusBadRequest, `The parameter state is "nope", and not one of failed, offline, missing`},
		"/map?environment=dev&label=nope":           {http.StatusBadRequest, `Label "nope" does not have the form name=value.`},
		"/map?environment=dev&workload=helo":        {http.StatusNotFound, `No workload "helo"; near it are hello.`},
		"/map?environment=nope":                     {http.StatusNotFound, `No environment "nope"; known are dev, stage.`},
		"/environments/dev?state=nope":              {http.StatusBadRequest, `The parameter state is "nope", and not one of failed, held`},
		"/history?kind=nope":                        {http.StatusBadRequest, `The parameter kind is "nope", and not one of promotion, commit`},
		"/clusters?asOf=nope":                       {http.StatusBadRequest, `The parameter asOf is "nope", and not a time; use the form 2026-11-20T14:30.`},
		"/figures?days=nope":                        {http.StatusBadRequest, `The parameter days is "nope", and not one of 7, 30, 90.`},
		"/promotions?moves=nope":                    {http.StatusBadRequest, `The parameter moves is "nope", and not one of platform, application.`},
		"/promotions?environment=nope":              {http.StatusNotFound, `No environment "nope"; known are dev, stage.`},
		"/figures?environment=nope":                 {http.StatusNotFound, `No environment "nope"; known are dev, stage.`},
		"/environments/dev?controlPlane=nope":       {http.StatusNotFound, `No control plane "nope"; known are ` + controlPlane + "."},
		"/environments/" + strings.Repeat("x", 300): {http.StatusNotFound, "known are dev, stage."},
	} {
		a := w.ask(address)
		if a.Code != want.status {
			t.Errorf("%s: got %d, want %d", address, a.Code, want.status)
		}
		parse(t, a.Body).wants("main [role=alert]", want.says)
	}
}
