package web_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/deliver/tree"
	fleetpkg "github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// ownHistory has a history for the application of the team, and fails the test if another one's is read for it. What a server reads from Git
// is tested in package wiring.
type ownHistory struct{ testing.TB }

var _ query.Histories = ownHistory{}

func (h ownHistory) Revisions(_ context.Context, a *query.Application, r deliver.PastRequest) (*deliver.TargetPast, error) {
	by := "ann"
	if a.Name == "zulu" || r.Environment == "prod" {
		by = "zulu-admin"
	}
	if r.Target != "main" {
		return nil, &deliver.UnknownTargetError{Workload: a.Name, Environment: r.Environment, Target: r.Target}
	}
	return &deliver.TargetPast{
		TargetPlace: deliver.TargetPlace{Application: a.Name, Environment: r.Environment, Target: r.Target, Repository: host + a.Name + "-gitops", Branch: r.Environment, Folder: "main"},
		Revisions:   []deliver.Revision{{Merge: deliver.Merge{Commit: app1, Merged: noon.Add(-time.Hour), By: by, Current: true}, Files: "f"}},
	}, nil
}

func (ownHistory) Versions(context.Context, *query.Application, deliver.PastRequest) (*deliver.EnvironmentPast, error) {
	return &deliver.EnvironmentPast{}, nil
}

// ownTargets proposes for the application of the team, and fails the test for another one. What a server does is tested in package wiring.
type ownTargets struct{ testing.TB }

var _ api.Targets = ownTargets{}

func (o ownTargets) PinTargets(_ context.Context, a *query.Application, r deliver.PinTargetsRequest, who access.Identity) (*deliver.RequestedPins, error) {
	if a.Name != "cart" || r.Like.Environment == "" || len(who.Grants) == 0 {
		o.Errorf("targets of %s in %q are changed by %+v", a.Name, r.Like.Environment, who)
	}
	return &deliver.RequestedPins{Targets: []deliver.RequestedPin{{PinnedTo: deliver.PinnedTo{Environment: r.Like.Environment, Target: "main"}, Result: deliver.PinUnchanged}}}, nil
}

// twoRevisions is a history of two revisions, or an error.
type twoRevisions struct {
	ownHistory
	err error
}

func (h twoRevisions) Revisions(_ context.Context, a *query.Application, r deliver.PastRequest) (*deliver.TargetPast, error) {
	if h.err != nil {
		return nil, h.err
	}
	return &deliver.TargetPast{
		TargetPlace: deliver.TargetPlace{Application: a.Name, Environment: r.Environment, Target: r.Target, Repository: application, Branch: "dev", Folder: "test"},
		Revisions: []deliver.Revision{
			{Merge: deliver.Merge{Commit: app1, Merged: noon.Add(-35 * time.Minute), By: "ann", Title: "Merge #3", Build: deliver.Build{Version: "1.4.2", Commit: older}, Configuration: promoted, Current: true}, Files: "b", Same: dev1},
			{Merge: deliver.Merge{Commit: dev1, Merged: noon.Add(-55 * time.Minute), By: "<b>bob</b>", Title: "older"}, Files: "b"},
		},
	}, nil
}

// pinnedTarget is the world with the target hello-test, which is pinned, and has two revisions.
func pinnedTarget(t *testing.T) *world {
	w := newWorld(t).fleetOfThree().delivered()
	w.fleet[0].Applications[0].Environments[0].Detail.Pinned = []deliver.PinnedTarget{{Name: "test", Pin: tree.Pin{Revision: app1}}, {Name: "other", Pin: tree.Pin{Uninstalled: true}}}
	w.fleet[0].Applications[0].Environments[0].Configuration = &query.Branch{Repository: "https://git.example.com/acme/hello-configs", Branch: "dev"}
	w.report("large-03", "hello", ledger.Source{Repository: application, Ref: "dev", Path: "test"}, app1, ledger.StateFailed, "no <b>image</b>", 33)
	w.must(w.ledger.RecordChange(t.Context(), ledger.ChangeEvent{
		Repository: application, Branch: "dev", Number: 3, Kind: "merged", Commit: app1, Title: "dev: roll back hello test", URL: application + "/pulls/3", By: "grace", At: noon.Add(-35 * time.Minute),
	}))
	w.pages.Observer.Histories = twoRevisions{}
	w.pages.Browse = func(repository string) forge.Browse { return forge.Browse{Kind: forge.GitHub, URL: repository} }
	return w
}

// TestMissingValuesAreListedWithTheirForm shows what a target lacks, on its page and that of the environment.
func TestMissingValuesAreListedWithTheirForm(t *testing.T) {
	w := pinnedTarget(t)
	lacks := fleetpkg.Problem{Severity: fleetpkg.SeverityError, Assignment: "test", Message: "owner is required", Lacks: "owner", SetBy: "<i>sre</i>"}
	detail := w.fleet[0].Applications[0].Environments[0].Detail
	detail.ProblemList = append(detail.ProblemList, lacks)
	for _, address := range []string{"/environments/dev/targets/hello-test", "/environments/dev"} {
		p := w.see(address)
		p.wants("section[aria-labelledby=missing] tbody tr", "owner hello test all <i>sre</i>")
		p.wants("section[aria-labelledby=missing] tbody tr", "held")
	}
	if rows := w.see("/environments/dev?asOf=2026-11-20T11:30").texts("section[aria-labelledby=missing] tr"); len(rows) > 0 {
		t.Errorf("the past lists %q", rows)
	}
}

// TestTargetShowsWhatRunsAndWhatWasDeployed opens the page of a target.
func TestTargetShowsWhatRunsAndWhatWasDeployed(t *testing.T) {
	w := pinnedTarget(t)
	p := w.see("/environments/dev/targets/hello-test")
	p.wants("h1", "hello-test")
	p.wants(".note", "Pinned to revision a111111 : new builds and configuration do not reach it until it is deployed again.")
	p.wants("section[aria-labelledby=types] tr", "large why it is assigned")
	p.wants("section[aria-labelledby=types] tr", "2 of 3")
	p.wants("section[aria-labelledby=types] tr", "1 failed")
	rows := p.texts("section[aria-labelledby=runs] tbody tr")
	if len(rows) != 3 || !strings.HasPrefix(rows[0], "large-03 ✕ failed 1.4.2") || !strings.Contains(rows[0], "no <b>image</b>") || !strings.HasPrefix(rows[1], "large-01 ✓ ready 1.4.2") {
		t.Errorf("the clusters are %q", rows)
	}
	rows = p.texts("section[aria-labelledby=revisions] tbody tr")
	if len(rows) != 2 || !strings.HasPrefix(rows[0], "a111111 current same files as d111111 35 min ago by ann #3 dev: roll back hello test merged by grace 1.4.2 2222222 1111111") {
		t.Errorf("the revisions are %q", rows)
	}
	p.wants("section[aria-labelledby=revisions] tr", "by <b>bob</b> older")
	p.wants("#history", "Activity")
	p.wants(".timeline li", "✓ ready hello/test 1.4.2 at a111111")
	p.wants(".timeline li", "merged pull request 3 of git.example.com/acme/hello-gitops")
	p.wants(".command code", "kalypso target revisions hello-test -e dev --server https://kalypso.example.com")
	for _, link := range []string{
		"/environments/dev/explain?controlPlane=https%3A%2F%2Fgit.example.com%2Facme%2Fcontrol-plane&target=hello-test",
		"/workloads/hello/values?environment=dev&subject=https%3A%2F%2Fgit.example.com%2Facme%2Fhello%23hello&target=test",
		"/history?environment=dev&workload=hello&target=hello-test", "/workloads/hello", "/clusters/large-03", application + "/commit/" + app1, application + "/pulls/3",
	} {
		if len(p.all("a[href="+link+"]")) == 0 {
			t.Errorf("no link to %s", link)
		}
	}
	for _, from := range []string{"/workloads/hello", "/environments/dev"} {
		if len(w.see(from).all("a[href=/environments/dev/targets/hello-test]")) == 0 {
			t.Errorf("%s does not link to the target", from)
		}
	}
	var found query.TargetDetail
	a := w.ask("/environments/dev/targets/hello-test", "Accept", "application/json")
	w.must(json.Unmarshal(a.Body.Bytes(), &found))
	if found.Delivery.Pin.Revision != app1 || len(found.Reconcilers) != 3 || found.Revisions.Revisions[0].PullRequest.Number != 3 {
		t.Errorf("as JSON: %s", a.Body)
	}
}

// TestUninstalledTargetIsNotReady: no page says that a target runs that is uninstalled, and all say who asked for it.
func TestUninstalledTargetIsNotReady(t *testing.T) {
	w := pinnedTarget(t)
	asked := tree.Request{By: "ada<b>", At: noon.Add(-time.Hour)}
	dev := &w.fleet[0].Applications[0].Environments[0]
	dev.Pinned, dev.Detail.Pinned = 1, []deliver.PinnedTarget{{Name: "test", Pin: tree.Pin{Uninstalled: true}, Request: asked}}
	w.pages.Observer.Histories = pinnedHistory{twoRevisions{}}
	p := w.see("/environments/dev/targets/hello-test")
	p.wants(".note", "Uninstalled: it has no objects until it is deployed again. Requested by ada<b> 60 min ago . Since 35 min ago , merged by grace as d111111 .")
	p.wants(".facts dd", "removed on 2")
	p.wants("section[aria-labelledby=types] td", "2 of 3 removed")
	rows := p.texts("section[aria-labelledby=runs] tbody tr")
	if len(rows) != 3 || !strings.HasPrefix(rows[0], "large-03 ✕ failed") || !strings.HasPrefix(rows[1], "large-01 removed") {
		t.Errorf("the clusters are %q", rows)
	}
	w.see("/environments/dev").wants(".matrix tbody th", "▲ uninstalled , requested by ada<b> 60 min ago")
	p = w.see("/workloads/hello")
	p.wants("section[aria-labelledby=targets] td", "▲ uninstalled , requested by ada<b> 60 min ago")
	p.wants("section[aria-labelledby=delivery-0] td", "▲ 1 target pinned or uninstalled")
	w.see("/compare?a=dev&b=stage").wants("section[aria-labelledby=versions] td", "▲ uninstalled , requested by ada<b>")
}

// TestOpenRequestIsShown: the page says what the open pull request wants, and offers to take it back.
func TestOpenRequestIsShown(t *testing.T) {
	w := pinnedTarget(t)
	w.pages.Guard.Others = []access.Authenticator{roleHeader{}}
	dev := w.fleet[0].Applications[0].Environments[0].Detail
	dev.Pinned, dev.Requests = nil, []deliver.PinnedTarget{{Name: "test", Pin: tree.Pin{Uninstalled: true}, Request: tree.Request{By: "ada"}}}
	p := w.seeAs(access.Operator, "/environments/dev/targets/hello-test")
	p.wants(".note", "Requested by ada, in the open pull request: to uninstall it.")
	if len(p.all("a[href=/environments/dev/targets/hello-test/deploy]")) == 0 {
		t.Error("it cannot be taken back")
	}
}

// pinnedHistory says since when a target is pinned.
type pinnedHistory struct{ twoRevisions }

func (h pinnedHistory) Revisions(ctx context.Context, a *query.Application, r deliver.PastRequest) (*deliver.TargetPast, error) {
	past, err := h.twoRevisions.Revisions(ctx, a, r)
	past.Pinned = &deliver.PinnedSince{Pin: tree.Pin{Uninstalled: true}, Since: &deliver.Merge{Commit: dev1, Merged: noon.Add(-35 * time.Minute), By: "grace"}}
	return past, err
}

// TestTargetInThePast shows the revisions that were merged until then, and not what runs now.
func TestTargetInThePast(t *testing.T) {
	w := pinnedTarget(t)
	p := w.see("/environments/dev/targets/hello-test?asOf=2026-11-20T11:20")
	rows := p.texts("section[aria-labelledby=revisions] tbody tr")
	if len(rows) != 1 || !strings.HasPrefix(rows[0], "d111111 current") {
		t.Errorf("the revisions are %q", rows)
	}
	p.wants("section[aria-labelledby=runs]", "No reconciler reported")
	p.wants("section[aria-labelledby=history]", "No activity yet")
	for _, never := range []string{".note", ".command"} {
		if found := p.texts(never); len(found) > 0 {
			t.Errorf("it shows %q", found)
		}
	}
	w.see("/environments/dev/targets/hello-test?asOf=2026-11-20T11:26").wants("section[aria-labelledby=runs] tr", "large-01 ✓ ready – a111111")
	link := w.see("/environments/dev?asOf=2026-11-20T11:26:00Z").all(".matrix tbody a")
	if len(link) == 0 || attribute(link[0], "href") != "/environments/dev/targets/hello-test?asOf=2026-11-20T11%3A26%3A00Z" {
		t.Error("the environment in the past does not link to the target at the same time")
	}
}

// TestTargetWithoutRevisions: what cannot be read from Git does not hide the rest.
func TestTargetWithoutRevisions(t *testing.T) {
	w := pinnedTarget(t)
	w.fleet[0].Applications[0].Environments[0].Detail.Pinned[0].Pin = tree.Pin{Uninstalled: true}
	w.pages.Observer.Histories = twoRevisions{err: errors.New("read https://ann:secret@git.example.com/hello: denied")}
	p := w.see("/environments/dev/targets/hello-test")
	p.wants("section[aria-labelledby=revisions]", "Unknown: read https://git.example.com/hello: denied.")
	p.wants("section[aria-labelledby=runs] tr", "large-03")
	p.wants(".note", "Uninstalled: it has no objects until it is deployed again.")
	w = newWorld(t).fleetOfThree()
	w.see("/environments/dev/targets/hello-test").wants("section[aria-labelledby=revisions]", "Unknown: the server does not deliver its application.")
	a := w.ask("/environments/dev/targets/hello-tset")
	if a.Code != http.StatusNotFound || !strings.Contains(a.Body.String(), "hello-test") {
		t.Errorf("an unknown target: got %d %s", a.Code, a.Body)
	}
}

// TestSharedBranchesHaveNoHistoryForTeams: a team that names another team's GitOps branch as its own does not read its history.
func TestSharedBranchesHaveNoHistoryForTeams(t *testing.T) {
	w := newTeams(t)
	token := w.token(access.Reader, "shop", "dev")
	const page, revisions = "/api/v1/environments/dev/targets/cart-main", "/api/v1/applications/cart/environments/dev/targets/main/revisions"
	see := func(path string) string {
		_, text := w.send(t.Context(), http.MethodGet, path, token, nil)
		return text
	}
	for _, path := range []string{page, revisions} {
		if text := see(path); !strings.Contains(text, `"by":"ann"`) {
			t.Errorf("%s: its own history: %s", path, text)
		}
	}
	apps := w.fleet[0].Applications
	shared := *apps[0]
	shared.Environments = append([]query.ApplicationEnvironment{}, shared.Environments...)
	shared.Environments[0].GitOps = apps[1].Environments[0].GitOps
	plane := w.fleet[0]
	plane.Applications = []*query.Application{&shared, apps[1]}
	w.fleet = fleet{plane} // results of rounds never change
	for _, path := range []string{page, revisions} {
		if text := see(path); strings.Contains(text, "ann") || !strings.Contains(text, "not only of this workspace") {
			t.Errorf("%s: the history of another team: %s", path, text)
		}
	}
}

// TestTargetOffersWhatCanBeDone: operators get the pages that confirm an action, for the present.
func TestTargetOffersWhatCanBeDone(t *testing.T) {
	w := pinnedTarget(t)
	w.pages.Guard.Others = []access.Authenticator{roleHeader{}}
	const at = "/environments/dev/targets/hello-test"
	offered := func(role access.Role, path string) []string {
		var all []string
		for _, link := range w.seeAs(role, path).all("a[href]") {
			if to := attribute(link, "href"); strings.HasPrefix(to, at+"/") {
				all = append(all, strings.TrimPrefix(to, at))
			}
		}
		return all
	}
	for _, c := range []struct {
		role access.Role
		path string
		want string
	}{
		{access.Operator, at, "/deploy /rollback /uninstall /rollback?revision=" + dev1},
		{access.Operator, at + "?controlPlane=" + url.QueryEscape(controlPlane), "/deploy?C /rollback?C /uninstall?C /rollback?C&revision=" + dev1},
		{access.Operator, at + "?asOf=2026-11-20T11:26", ""},
		{access.Reader, at, ""},
	} {
		got := strings.ReplaceAll(strings.Join(offered(c.role, c.path), " "), "controlPlane="+url.QueryEscape(controlPlane), "C")
		if got != c.want {
			t.Errorf("%s of %s: got %q, want %q", c.path, c.role, got, c.want)
		}
	}
	pins := w.fleet[0].Applications[0].Environments[0].Detail
	pins.Pinned[0].Pin = tree.Pin{Uninstalled: true}
	if got := strings.Join(offered(access.Admin, at), " "); got != "/deploy /rollback /rollback?revision="+dev1 {
		t.Errorf("uninstalled: got %q", got)
	}
	pins.Pinned = nil
	if got := strings.Join(offered(access.Admin, at+"?again"), " "); got != "/rollback /uninstall /rollback?revision="+dev1 {
		t.Errorf("not pinned: got %q", got)
	}
}

// TestTeamsActOnTheirTargets: a role in the workspace gives the same buttons, in its environments, and readers of the workspace get none.
func TestTeamsActOnTheirTargets(t *testing.T) {
	w := newTeams(t)
	reader, operator := w.token(access.Reader, "shop", "dev", "stage"), w.token(access.Operator, "shop", "dev")
	const at = "/environments/dev/targets/cart-main"
	for _, c := range []struct {
		token string
		want  bool
	}{{reader, false}, {operator, true}, {reader, false}} {
		a := w.ask(at, "Authorization", "Bearer "+c.token)
		if got := strings.Contains(a.Body.String(), at+"/uninstall"); a.Code != http.StatusOK || got != c.want {
			t.Errorf("got %d, offered %v, want %v", a.Code, got, c.want)
		}
	}
}

// TestTargetOfOneOfSeveralControlPlanes: an environment's name does not tell which target is meant if two control planes use it.
func TestTargetOfOneOfSeveralControlPlanes(t *testing.T) {
	w := pinnedTarget(t)
	other := w.standings()
	other.URL = "https://git.example.com/other/control-plane"
	w.fleet = append(w.fleet, other)
	const at = "/environments/dev/targets/hello-test"
	a := w.ask(at)
	here := at + "?controlPlane=" + url.QueryEscape(controlPlane)
	if p := parse(t, a.Body); a.Code != http.StatusConflict || len(p.all("a[href="+here+"]")) != 1 {
		t.Errorf("got %d, want 409 with links to both", a.Code)
	}
	w.see(here).wants(".note", "Pinned to revision a111111")
	p := w.see(at + "?controlPlane=" + url.QueryEscape(other.URL))
	p.wants("section[aria-labelledby=revisions]", "the server does not deliver its application")
	if found := p.texts(".note"); len(found) > 0 {
		t.Errorf("the target of another control plane: %q", found)
	}
}
