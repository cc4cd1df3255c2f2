package web_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	fleetpkg "github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/fleettest"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
	"github.com/kalypso-io/kalypso/internal/serve/web"
	"github.com/kalypso-io/kalypso/internal/serve/web/trial"
)

// explainedFleet has a target that one policy assigns to one of two cluster types, with a value in two layers, and one that looks like a
// credential.
const explainedFleet = `
apiVersion: scheduler.kalypso.io/v1alpha1
kind: ClusterType
metadata: {name: large, labels: {region: west}}
spec: {reconciler: flux, namespaceService: default}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: ClusterType
metadata: {name: tiny, labels: {region: east}}
spec: {reconciler: flux, namespaceService: default}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Template
metadata: {name: default}
spec: {type: namespace, manifests: ["{apiVersion: v1, kind: Namespace, metadata: {name: '{{ .Namespace }}'}}"]}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Template
metadata: {name: flux}
spec: {type: reconciler, manifests: ["{apiVersion: v1, kind: ConfigMap, metadata: {name: reconciler, namespace: '{{ .Namespace }}'}}"]}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: DeploymentTarget
metadata: {name: shop-web, labels: {workload: shop}}
spec: {environment: dev}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: SchedulingPolicy
metadata: {name: west-only}
spec: {deploymentTargetSelector: {}, clusterTypeSelector: {labelSelector: {matchLabels: {region: west}}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: everywhere, labels: {platform-config: "true"}}
data: {PORT: "80", DATABASE_TOKEN: "@TOKEN@"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: in-the-west, labels: {platform-config: "true", region: west}}
data: {PORT: "@PORT@", DB_PASSWORD: "hunter@PORT@"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: computed, labels: {platform-config: "true"}, annotations: {kalypso.io/values: expressions}}
data: {ADDRESS: "'http://localhost:' + config.PORT"}
`

// token looks like a credential.
const token = "ghp_" + "q7Zt3LmX9vBc2NkR8sWyD4fGh6JpE1uA0iTo"

const devHead = "de00000000000000000000000000000000000001"

// explained adds an environment that a round has read.
func explained(environment, port string) *query.Scheduled {
	text := strings.NewReplacer("environment: dev", "environment: "+environment, "@PORT@", port, "@TOKEN@", token).Replace(explainedFleet)
	in := fleettest.Inputs(environment, map[string]string{"env/fleet.yaml": text})
	s := fleetpkg.Assemble(in)
	b := bundle.Build(s, nil, nil)
	source := ""
	for _, c := range s.Configs {
		source = c.Position.Source
	}
	return &query.Scheduled{At: noon, Snapshot: s, Decisions: b.Decisions, Outcome: &schedule.Outcome{
		Head: dev1, Bundle: b, Loaded: &schedule.Loaded{Snapshot: s, Inputs: schedule.Inputs{
			Branch: schedule.Input{Name: source, Repo: "https://ann:secret@git.example.com/acme/control-plane", Branch: environment, Commit: devHead},
		}},
	}}
}

func (w *world) explained() *world {
	w.fleet = fleet{{URL: controlPlane, Environments: []string{"dev", "prod"}, Scheduling: map[string]*query.Scheduled{
		"dev": explained("dev", "8080"), "prod": explained("prod", "9090"),
	}}}
	w.pages.Browse = func(string) forge.Browse {
		return forge.BrowseAt(forge.Gitea, "https://git.example.com/acme/control-plane")
	}
	w.pages.Trials = &trial.Planner{}
	return w
}

func TestExplainShowsPolicyAndLayers(t *testing.T) {
	w := newWorld(t).explained()
	p := w.see("/environments/dev/explain?target=shop/web&clusterType=large")
	p.wants("h1", "shop-web on large")
	p.wants("header .state", "assigned")
	p.wants(".why li", "west-only assigns it")
	p.wants(".values tr", "PORT what if PORT had another value 8080")
	p.wants(".values .lost", "everywhere, for all cluster types 80")
	p.wants(".values tr", "computed by 'http://localhost:' + config.PORT , from config.PORT")
	p.wants(".small", "at ")
	p.wants(".command code", "kalypso explain -e dev shop-web large --config")
	link := ""
	for _, a := range p.all(".values a") {
		if strings.Contains(attribute(a, "href"), "/src/commit/"+devHead+"/") {
			link = attribute(a, "href")
		}
	}
	if !strings.Contains(link, "fleet.yaml#L") {
		t.Errorf("a layer has no link to its line: %q", link)
	}
	for _, accept := range []string{"text/html", "application/json"} {
		a := w.ask("/environments/dev/explain?target=shop/web&clusterType=large", "Accept", accept)
		if strings.Contains(a.Body.String(), token) || strings.Contains(a.Body.String(), "ann:secret") {
			t.Errorf("%s has a credential", accept)
		}
	}
}

func TestExplainShowsWhyNot(t *testing.T) {
	w := newWorld(t).explained()
	p := w.see("/environments/dev/explain?target=shop-web&clusterType=tiny")
	p.wants("header .state", "not assigned")
	p.wants(".why li", "the cluster type wants region=west , has region=east")
	if got := len(p.all(".values")); got != 0 {
		t.Error("a pair that is not assigned has values")
	}
	all := w.see("/environments/dev/explain?target=shop-web")
	all.wants("tbody tr", "large ✓ assigned west-only assigns it")
	all.wants("tbody tr", "tiny − not assigned west-only does not select it: the cluster type wants region=west, has region=east")
}

func TestExplainRefusesUnknownNames(t *testing.T) {
	w := newWorld(t).explained()
	for path, want := range map[string]int{
		"/environments/dev/explain?target=nothing":                                 http.StatusNotFound,
		"/environments/dev/explain?target=shop-web&clusterType=nothing":            http.StatusNotFound,
		"/environments/dev/explain?target=shop-web&cluster=nothing":                http.StatusNotFound,
		"/environments/dev/explain?target=shop-web&clusterType=large&cluster=a":    http.StatusBadRequest,
		"/environments/nothing/explain?target=shop-web":                            http.StatusNotFound,
		"/environments/dev/explain":                                                http.StatusNotFound,
		"/environments/dev/explain?target=" + strings.Repeat("%3Cscript%3E", 1000): http.StatusNotFound,
	} {
		if a := w.ask(path); a.Code != want || strings.Contains(a.Body.String(), "<script>") {
			t.Errorf("%.80s: got %d, want %d", path, a.Code, want)
		}
	}
	w.fleet[0].Scheduling["dev"] = &query.Scheduled{At: noon}
	if a := newWorldOf(w).ask("/environments/dev/explain?target=shop-web"); a.Code != http.StatusServiceUnavailable || a.Header().Get("Retry-After") == "" {
		t.Errorf("before the first round: got %d", a.Code)
	}
}

// newWorldOf returns the same world without cached pages.
func newWorldOf(w *world) *world { w.mux = nil; return w }

// TestMatrixCellsHavePages: a cell has a page with its objects, values, reasons and history, also where the target is not assigned.
func TestMatrixCellsHavePages(t *testing.T) {
	w := newWorld(t).explained()
	var found []string
	for _, a := range w.see("/environments/dev").all(".matrix td a") {
		found = append(found, attribute(a, "href"))
	}
	if got, want := strings.Join(found, " "), "/environments/dev/targets/shop-web/on/large /environments/dev/targets/shop-web/on/tiny"; got != want {
		t.Fatalf("the cells lead to %s", got)
	}
	p := w.see(found[0])
	p.wants("h1", "shop-web on large")
	p.wants("section[aria-labelledby=cell-objects] tr", "Namespace dev-large-shop-web")
	p.wants("section[aria-labelledby=cell-objects] tr", "large/shop-web/reconciler.yaml")
	p.wants("section[aria-labelledby=cell-values] tr", "PORT what if PORT had another value 8080")
	p.wants("section[aria-labelledby=cell-why] li", "west-only assigns it")
	p.wants("section[aria-labelledby=cell-history] h2", "History")
	p = w.see(found[1])
	p.wants("header .state", "not assigned")
	p.wants("section[aria-labelledby=cell-why] p", "west-only does not select it")
	if n := len(p.all("section")); n != 2 {
		t.Errorf("it is not assigned, and has %d sections, want why and history", n)
	}
	var cell web.Cell
	w.must(json.Unmarshal(w.ask(found[0], "Accept", "application/json").Body.Bytes(), &cell))
	if cell.Assignment == nil || len(cell.Objects) == 0 || cell.Pair == nil {
		t.Errorf("got %+v", cell)
	}
	if text := w.ask(found[0]).Body.String() + w.ask(found[0], "Accept", "application/json").Body.String(); strings.Contains(text, token) || strings.Contains(text, "hunter") {
		t.Error("the page has a credential")
	}
	if a := w.ask("/environments/dev/targets/shop-web/on/none"); a.Code != http.StatusNotFound {
		t.Errorf("an unknown cluster type: got %d", a.Code)
	}
}

func TestWhatIfFormLeadsToPlan(t *testing.T) {
	w := newWorld(t).explained()
	p := w.see("/environments/dev/explain?target=shop-web&clusterType=large&what=value:in-the-west&key=PORT")
	if to := p.all("input[name=to]"); len(to) != 1 || attribute(to[0], "value") != "8080" {
		t.Error("the form does not begin with the value")
	}
	a := w.ask("/environments/dev/what-if?what=value:in-the-west&key=PORT&to=80+80")
	u, err := url.Parse(a.Header().Get("Location"))
	w.must(err)
	if want := "value:in-the-west/PORT=80%2080"; a.Code != http.StatusSeeOther || u.Path != "/plan" || u.Query().Get("whatIf") != want {
		t.Errorf("got %d to %s, want %s", a.Code, u, want)
	}
	p.wants(".actions a", "without policy west-only")
}

func TestCompareShowsConfiguration(t *testing.T) {
	w := newWorld(t).explained()
	p := w.see("/compare?a=dev&b=prod")
	p.wants("#configuration", "Different configuration")
	p.wants(".values tr", "PORT 8080")
	p.wants(".values tr", "9090")
	p.wants(".values tr", "shop/web on large")
	for _, t := range w.fleet[0].Scheduling["prod"].Snapshot.Targets { // the only target of its workload can have another name
		t.ShortName = "website"
	}
	a := newWorldOf(w).ask("/compare?a=dev&b=prod", "Accept", "application/json")
	var c query.Comparison
	w.must(json.Unmarshal(a.Body.Bytes(), &c))
	if c.Configuration == nil || c.Configuration.Assignments != 1 || len(c.Configuration.Differences) != 3 {
		t.Errorf("got %+v, want PORT, ADDRESS and DB_PASSWORD of one assignment", c.Configuration)
	}
	if strings.Contains(a.Body.String(), token) || strings.Contains(a.Body.String(), "hunter") {
		t.Error("the comparison has a credential")
	}
}
