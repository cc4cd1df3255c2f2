package web_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// gets returns the addresses of all queries of the API's description, with names from fill. Those that answer forever are left out.
func gets(t *testing.T, fill *strings.Replacer) []string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/reference/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var spec struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := yaml.Unmarshal(text, &spec); err != nil {
		t.Fatal(err)
	}
	var all []string
	for path, methods := range spec.Paths {
		if _, ok := methods["get"]; ok && path != api.Root+"/events" {
			all = append(all, fill.Replace(path))
		}
	}
	slices.Sort(all)
	return all
}

// encoded matches what may be a cursor.
var encoded = regexp.MustCompile(`[A-Za-z0-9_-]{6,}`)

// leaks returns where a text, or a cursor in it, has a name that the team must not see.
func leaks(text string) string {
	for _, one := range append([]string{text}, encoded.FindAllString(text, -1)...) {
		if plain, err := base64.RawURLEncoding.DecodeString(one); err == nil && one != text {
			one = string(plain)
		}
		if i := strings.Index(strings.ToLower(one), foreign); i >= 0 {
			return one[max(0, i-150):min(len(one), i+50)]
		}
	}
	return ""
}

// headersOf returns an answer's headers.
func headersOf(a *http.Response) string {
	var text strings.Builder
	_ = a.Header.Write(&text)
	return text.String()
}

// The addresses of things of the team, without parameters that the description has.
var own = strings.NewReplacer("/environments/{name}/targets/{target}", "/environments/dev/targets/cart-main", "/environments/{name}", "/environments/dev", "/workloads/{name}", "/workloads/cart", "/applications/{name}", "/applications/cart",
	"/clusters/{name}", "/clusters/large-01", "{commit}", "c"+promoted[1:], "{environment}", "dev", "{a}", "dev", "{b}", "stage", "{digest}", "x", "{environment}", "dev", "{target}", "main")

// details are addresses with parameters.
var details = []string{
	"/assignments?environment=dev", "/assignments?environment=dev&asOf=2026-11-20T11:30:00Z", "/matrix?environment=dev", "/targets?environment=dev", "/targets?limit=1", "/workloads?limit=1", "/clusters?limit=1", "/clusters?environment=dev",
	"/clusters?state=failed", "/clusters?label=region%3Deu&limit=1", "/clusters?asOf=2026-11-20T11:30:00Z", "/reconcilers?limit=1", "/reconcilers?asOf=2026-11-20T11:30:00Z", "/reconcilers?cluster=large-01", "/reconcilers?environment=dev",
	"/reconcilers?branch=dev", "/reconcilers?workload=cart", "/discrepancies?limit=1", "/discrepancies?environment=dev", "/discrepancies?asOf=2026-11-20T11:30:00Z", "/promotions?limit=1", "/promotions?environment=dev", "/history?environment=dev&limit=1",
	"/history?workload=cart", "/history?environment=dev&workload=cart&target=main", "/history?environment=dev&workload=cart&target=cart-side", "/history?environment=dev&workload=cart&target=x", "/history?cluster=large-01", "/history?cluster=large-02&limit=1", "/history?environment=stage", "/history?environment=dev&kinds=registration", "/versions?limit=1", "/versions?asOf=2026-11-20T11:30:00Z",
	"/environments?asOf=2026-11-20T11:30:00Z", "/environments/dev?cluster=zulu-01", "/environments/dev?asOf=2026-11-20T11:30:00Z", "/environments?limit=1", "/applications?limit=1", "/figures?byTeam=true", "/figures?environment=dev",
	"/compare/dev/stage?asOf=2026-11-20T11:30:00Z", "/clusters/large-01?asOf=2026-11-20T11:30:00Z", "/applications/cart/progress?environment=dev",
	"/map?environment=dev", "/map?environment=stage&limit=1", "/map?environment=dev&limit=1", "/map?environment=dev&cluster=large-01", "/map?environment=dev&state=failed", "/map?environment=dev&label=region%3Deu", "/map?environment=dev&workload=cart",
	"/map?environment=dev&controlPlane=" + url.QueryEscape(controlPlane), "/needs?limit=1", "/needs?environment=dev", "/needs?kind=value", "/needs?kind=resume", "/needs?controlPlane=" + url.QueryEscape(controlPlane),
	"/environments/dev/explain?target=cart-main", "/environments/dev/explain?target=cart/main&clusterType=large&config=*", "/compare/dev/dev?asOf=2026-11-20T10:30:00Z&bAsOf=2026-11-20T11:30:00Z", "/compare/dev/stage?bAsOf=2026-11-20T11:30:00Z",
	// what does not exist for the team
	"/map", "/map?environment=de", "/map?environment=dev&workload=x", "/map?environment=dev&policy=x", "/map?environment=dev&clusterType=x", "/map?environment=dev&ring=x", "/map?environment=dev&cluster=large-0", "/map?environment=dev&workspace=x",
	"/map?environment=dev&controlPlane=x", "/needs?controlPlane=x", "/needs?environment=x", "/environments/dev/explain?target=x",
	"/environments/dex", "/workloads/carx", "/clusters/large-09", "/applications/carx", "/applications/cart/progress?environment=staqe", "/promotions/" + promoted, "/promotions/fffffff", "/reconcilers?cluster=large-99", "/history?workload=x", "/versions?workload=x",
	"/compare/dev/prox", "/targets?environment=pro", "/targets?after=%20", "/environments/dev?controlPlane=x",
}

var pages = []string{
	"/", "/environments/dev", "/environments/stage", "/environments/dev?asOf=2026-11-20T11:30", "/workloads", "/workloads/cart", "/workloads/cart/values?environment=dev", "/workloads/cart/values?environment=dev&target=main", "/environments/dev/values", "/environments/dev/targets/cart-main", "/environments/stage/targets/cart-main", "/environments/dev/targets/cart-side", "/environments/dev/targets/x", "/clusters", "/clusters/large-01", "/clusters/large-02", "/clusters?environment=dev&state=failed", "/promotions",
	"/promotions/c" + promoted[1:], "/plan", "/compare", "/compare?a=dev&b=stage", "/history", "/history?environment=dev", "/history?cluster=large-01", "/history/messages", "/figures", "/search", "/search?q=a", "/search?q=large", "/search?q=1111111", "/search?q=z", "/search?q=e",
	"/map", "/map?environment=dev", "/map?environment=stage", "/map?environment=dev&cluster=large-01", "/map?environment=dev&clusterType=large&state=failed", "/map?environment=dev&policy=all-large", "/map?environment=de", "/map?environment=dev&workload=c",
	"/needs", "/needs?kind=value", "/needs?environment=dev", "/?asOf=2026-11-20T11:30", "/?at=1763638200", "/environments/dev?at=1763638200", "/compare?a=dev&b=dev&asOf=2026-11-20T10:30&bAsOf=2026-11-20T11:30", "/compare?a=dev&b=stage&bAsOf=2026-11-20T11:30",
	"/environments/dev/explain?target=cart-main", "/environments/dev/explain?target=cart/main&clusterType=large", "/environments/dev/what-if?target=cart/main&clusterType=large", "/environments/dev/what-if?target=cart/main&clusterType=large&change=value:a/b%3Dc",
	"/environments/de", "/workloads/x", "/clusters/x", "/clusters/large-0", "/promotions/abcdef0", "/nowhere",
}

// TestNoTeamSeesAnother: no byte of an answer to the team has a name of the other team, or a text of the platform about it.
func TestNoTeamSeesAnother(t *testing.T) {
	w := newTeams(t)
	w.checkWorld()
	for name, token := range map[string]string{"reader": w.token(access.Reader, "shop", "dev", "stage"), "operator": w.token(access.Operator, "shop", "dev", "stage")} {
		addresses := gets(t, own)
		for _, d := range details {
			addresses = append(addresses, api.Root+d)
		}
		seen := 0
		for _, address := range append(addresses, pages...) {
			for _, accept := range []string{"application/json", "text/html"} {
				if strings.HasPrefix(address, "/api") && accept == "text/html" || strings.HasPrefix(address, "/api/openapi") {
					continue
				}
				for next, rounds := address, 0; next != ""; rounds++ {
					a, text := w.send(t.Context(), http.MethodGet, next, token, nil, "Accept", accept)
					text = strings.ReplaceAll(text, "cluster=zulu-01", "") // asked for
					if found := leaks(text) + leaks(headersOf(a)); found != "" {
						t.Errorf("%s: GET %s (%s, %d): …%s…", name, next, accept, a.StatusCode, found)
					}
					if a.StatusCode == http.StatusOK {
						seen++
					}
					if a.StatusCode >= http.StatusInternalServerError {
						t.Errorf("%s: GET %s: %d: %s", name, next, a.StatusCode, text)
					}
					link := a.Header.Get("Link")
					next = strings.TrimSuffix(strings.TrimPrefix(link, "<"), `>; rel="next"`)
					if rounds > 30 {
						t.Fatalf("%s: endless pages", address)
					}
				}
			}
		}
		if seen < 80 {
			t.Errorf("%s: only %d answers have something", name, seen)
		}
	}
}

// checkWorld fails if the world does not have the foreign names where a role of the server sees them, or the team does not see its own things.
func (w *teams) checkWorld() {
	w.t.Helper()
	all, mine := w.token(access.Admin, ""), w.token(access.Reader, "shop", "dev")
	for _, address := range []string{
		"/environments", "/environments/dev", "/environments/dev/targets/zulu-main", "/workloads", "/targets", "/assignments?environment=dev", "/matrix?environment=dev", "/clusters", "/clusters/large-01", "/reconcilers",
		"/discrepancies", "/promotions", "/history?environment=dev", "/versions", "/figures", "/applications",
		"/map?environment=dev", "/needs",
	} {
		if _, text := w.send(w.t.Context(), http.MethodGet, api.Root+address, all, nil); !strings.Contains(text, foreign) {
			w.t.Errorf("%s has no foreign name: %s", address, text)
		}
	}
	for address, want := range map[string]string{
		"/environments": `"name":"dev"`, "/environments/dev": `"targets":2`, "/workloads": `"cart"`, "/workloads/cart": `"1.4.2"`, "/targets": `"cart-main"`, "/assignments?environment=dev": `"clusterType":"large"`,
		"/clusters": `"large-02"`, "/clusters/large-01": `"cart-dev"`, "/reconcilers": `"cart-dev"`, "/discrepancies": `"large-02"`, "/promotions": `"workload":"cart"`, "/history?environment=dev": `"rollout"`,
		"/history?cluster=large-01": `"transition"`, "/versions": `"1.4.2"`, "/figures": `"workload":"cart"`, "/applications": `"cart"`, "/promotions/c" + promoted[1:]: `"deployed by cart"`,
		"/environments/dev/targets/cart-main": `"by":"ann"`,
		"/map?environment=dev":                `"failed":["cart-main"]`, "/needs": `ask the platform team`,
	} {
		if a, text := w.send(w.t.Context(), http.MethodGet, api.Root+address, mine, nil); !strings.Contains(text, want) {
			w.t.Errorf("%s: the team does not see its %s: %d %s", address, want, a.StatusCode, text)
		}
	}
}

// TestForeignThingsDoNotExist checks that a team gets the same answer about what another team has as about what does not exist.
func TestForeignThingsDoNotExist(t *testing.T) {
	w := newTeams(t)
	token := w.token(access.Operator, "shop", "dev", "stage")
	instance := regexp.MustCompile(`"instance":"[^"]*"|<code>[0-9a-f]{16}</code>`)
	for theirs, nobodys := range map[string]string{
		"/environments/zulu-env": "/environments/none-env", "/environments/prod": "/environments/none", "/workloads/zulu": "/workloads/none", "/clusters/zulu-01": "/clusters/none-01", "/clusters/large-zulu": "/clusters/large-none",
		"/applications/zulu": "/applications/none", "/reconcilers?cluster=zulu-01": "/reconcilers?cluster=none-01", "/reconcilers?repository=git.example.com/zulu-gitops": "/reconcilers?repository=git.example.com/none-gitops",
		"/history?workload=zulu": "/history?workload=none", "/history?cluster=a-zulu": "/history?cluster=a-none", "/history?environment=zulu-env": "/history?environment=none-env", "/targets?environment=zulu-env": "/targets?environment=none-env",
		"/promotions/f" + promoted[1:]: "/promotions/e" + promoted[1:], "/compare/dev/zulu-env": "/compare/dev/none-env", "/versions?workload=zulu": "/versions?workload=none", "/workloads?workspace=zulu-team": "/workloads?workspace=none-team",
		"/applications/zulu/environments/dev/values": "/applications/none/environments/dev/values", "/applications/cart/environments/prod/values": "/applications/cart/environments/none/values",
		"/figures?workload=zulu": "/figures?workload=none", "/clusters?clusterType=zulu-type": "/clusters?clusterType=none-type", "/assignments?environment=dev&target=zulu-main": "/assignments?environment=dev&target=none-main",
		"/map?environment=zulu-env": "/map?environment=none-env", "/map?environment=prod": "/map?environment=none", "/map?environment=dev&workload=zulu": "/map?environment=dev&workload=none", "/map?environment=dev&clusterType=zulu-type": "/map?environment=dev&clusterType=none-type",
		"/map?environment=dev&policy=zulu-policy": "/map?environment=dev&policy=none-policy", "/map?environment=dev&workspace=zulu-team": "/map?environment=dev&workspace=none-team", "/map?environment=dev&cluster=zulu-01": "/map?environment=dev&cluster=none-01",
		"/map?environment=dev&ring=zulu-ring": "/map?environment=dev&ring=none-ring", "/map?environment=dev&label=for%3Dzulu": "/map?environment=dev&label=for%3Dnone", "/needs?environment=zulu-env": "/needs?environment=none-env",
		"/history?environment=dev&workload=zulu&target=main": "/history?environment=dev&workload=none&target=main", "/history?environment=dev&workload=cart&target=zulu-main": "/history?environment=dev&workload=cart&target=none-main",
		"/environments/dev/targets/zulu-main": "/environments/dev/targets/none-main", "/environments/prod/targets/cart-main": "/environments/none/targets/cart-main", "/environments/zulu-env/targets/zulu-main": "/environments/none-env/targets/none-main",
		"/applications/zulu/environments/dev/targets/main/revisions": "/applications/none/environments/dev/targets/main/revisions",
		"/environments/zulu-env?asOf=2026-11-20T11:30:00Z":           "/environments/none-env?asOf=2026-11-20T11:30:00Z", "/environments/prod?asOf=2026-11-20T11:30:00Z": "/environments/none?asOf=2026-11-20T11:30:00Z",
	} {
		answer := func(path string) string {
			a, text := w.send(t.Context(), http.MethodGet, api.Root+path, token, nil)
			plain := strings.NewReplacer("zulu", "none", "prod", "none", "f"+promoted[1:], "e"+promoted[1:])
			return a.Status + plain.Replace(instance.ReplaceAllString(text, ""))
		}
		if got, want := answer(theirs), answer(nobodys); got != want {
			t.Errorf("%s differs from %s:\n%s\n%s", theirs, nobodys, got, want)
		}
	}
	for _, action := range []string{"promote", "pause", "resume", "abort", "rollback", "approve"} {
		body := map[string]string{"pause": `{"why":"w"}`, "resume": `{"why":"w"}`, "approve": `{"commit":"f11111111111","check":"x"}`}[action]
		body = cmp.Or(body, `{"commit":"f11111111111"}`)
		for _, path := range []string{"/applications/zulu/environments/dev/", "/applications/cart/environments/prod/"} {
			a, text := w.send(t.Context(), http.MethodPost, api.Root+path+action, token, strings.NewReader(body))
			if a.StatusCode != http.StatusNotFound {
				t.Errorf("%s%s: got %d %s", path, action, a.StatusCode, text)
			}
		}
	}
}

// TestTeamsSteerTheirOwn tries commands as each role in a workspace, on an application of it.
func TestTeamsSteerTheirOwn(t *testing.T) {
	w := newTeams(t)
	commit := "c" + promoted[1:]
	for _, c := range []struct {
		role         access.Role
		environments []string
		path, body   string
		status       int
	}{
		{access.Reader, nil, "/applications/cart/environments/dev/pause", `{"why":"x"}`, 403},
		{access.Approver, nil, "/applications/cart/environments/dev/pause", `{"why":"x"}`, 403},
		{access.Operator, []string{"dev"}, "/applications/cart/environments/dev/pause", `{"why":"x"}`, 202},
		{access.Operator, []string{"dev"}, "/applications/cart/environments/stage/pause", `{"why":"x"}`, 404},
		{access.Operator, []string{"dev"}, "/applications/cart/builds", `{"commit":"` + commit + `"}`, 202},
		{access.Operator, []string{"stage"}, "/applications/cart/builds", `{"commit":"` + commit + `"}`, 403},
		{access.Reader, nil, "/applications/cart/environments/dev/approve", `{"commit":"` + commit + `","check":"x"}`, 403},
		{access.Approver, nil, "/applications/cart/environments/dev/approve", `{"commit":"` + commit + `","check":"x"}`, 404}, // no such check
		{access.Operator, nil, "/applications/cart/environments/dev/bypass", `{"commit":"` + commit + `","check":"x","why":"x"}`, 403},
		{access.Reader, nil, "/applications/cart/environments/dev/values", `{"target":"main","values":[{"key":"a","value":1}]}`, 403},
		{access.Approver, nil, "/applications/cart/environments/dev/values", `{"target":"main","values":[{"key":"a","value":1}]}`, 403},
		{access.Operator, []string{"dev"}, "/applications/cart/environments/dev/values", `{"target":"main","values":[{"key":"a","value":1}]}`, 200},
		{access.Operator, []string{"dev"}, "/applications/cart/environments/stage/values", `{"target":"main","values":[{"key":"a","value":1}]}`, 404},
		{access.Operator, nil, "/applications/zulu/environments/dev/values", `{"target":"main","values":[{"key":"a","value":1}]}`, 404},
		{access.Reader, nil, "/applications/cart/environments/dev/targets/uninstall", `{"targets":["main"]}`, 403},
		{access.Approver, nil, "/applications/cart/environments/dev/targets/rollback", `{"target":"main","revision":"a1111"}`, 403},
		{access.Operator, []string{"dev"}, "/applications/cart/environments/dev/targets/rollback", `{"target":"main","revision":"a1111"}`, 200},
		{access.Operator, []string{"dev"}, "/applications/cart/environments/dev/targets/deploy", `{"selector":"a=b"}`, 200},
		{access.Operator, []string{"dev"}, "/applications/cart/environments/dev/targets/deploy", `{"selector":"a=b,"}`, 422},
		{access.Operator, []string{"dev"}, "/applications/cart/environments/dev/targets/deploy", `{}`, 422},
		{access.Operator, []string{"dev"}, "/applications/cart/environments/stage/targets/uninstall", `{"targets":["main"]}`, 404},
		{access.Operator, nil, "/applications/zulu/environments/dev/targets/uninstall", `{"targets":["main"]}`, 404},
		{access.Operator, nil, "/environments/dev/values", `{"configMap":"x","values":[{"key":"a","value":"1"}]}`, 403},
		{access.Operator, nil, "/environments/dev/pause", `{"why":"x"}`, 403},
		{access.Operator, nil, "/environments/zulu-env/pause", `{"why":"x"}`, 403},
		{access.Operator, nil, "/tokens", `{"name":"x","role":"admin"}`, 403},
	} {
		a, text := w.send(t.Context(), http.MethodPost, api.Root+c.path, w.token(c.role, "shop", c.environments...), strings.NewReader(c.body))
		if a.StatusCode != c.status {
			t.Errorf("%s of shop in %v: %s: got %d, want %d: %s", c.role, c.environments, c.path, a.StatusCode, c.status, text)
		}
	}
	_, trail := w.send(t.Context(), http.MethodGet, api.Root+"/audit", w.token(access.Admin, ""), nil)
	if want := `grant=\"operator of shop in dev\"`; !strings.Contains(trail, want) {
		t.Errorf("the audit trail does not have %s: %s", want, trail)
	}
	mixed := w.token(access.Reader, "shop", "dev")
	for _, page := range []string{"/plan", "/history/messages", "/environments/dev/pause"} {
		if a, _ := w.send(t.Context(), http.MethodGet, page, mixed, nil); a.StatusCode != http.StatusForbidden && a.StatusCode != http.StatusNotFound {
			t.Errorf("%s: got %d", page, a.StatusCode)
		}
	}
}

// TestPagesAreNotSharedBetweenTeams: the cached part of a page is for those who see the same.
func TestPagesAreNotSharedBetweenTeams(t *testing.T) {
	w := newTeams(t)
	shop, zulu, all := w.token(access.Reader, "shop"), w.token(access.Reader, "zulu-team"), w.token(access.Admin, "")
	for range 2 {
		for token, want := range map[string][2]bool{shop: {true, false}, zulu: {false, true}, all: {true, true}} {
			_, text := w.send(t.Context(), http.MethodGet, "/workloads", token, nil, "Accept", "text/html")
			if got := [2]bool{strings.Contains(text, "/workloads/cart"), strings.Contains(text, "/workloads/zulu")}; got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		}
	}
}

// TestStreamsHaveOnlyOwnSignals: a listener with a role in a workspace gets signals about what it sees, without numbers that count others.
func TestStreamsHaveOnlyOwnSignals(t *testing.T) {
	w := newTeams(t)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // fails the test instead of hanging
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.url+api.Root+"/events", nil)
	w.must(err)
	token, _, err := access.Tokens{Store: w.ledger, Guard: w.pages.Guard}.Create(ctx, access.TokenRequest{Name: "x", Role: access.Reader, Workspaces: []string{"shop"}, Environments: []string{"dev"}}, access.Identity{})
	w.must(err)
	r.Header.Set("Authorization", "Bearer "+token.Reveal())
	a, err := http.DefaultClient.Do(r)
	w.must(err)
	defer a.Body.Close()
	lines := bufio.NewScanner(a.Body)
	var text strings.Builder
	for lines.Scan() {
		text.WriteString(lines.Text() + "\n")
		if strings.HasPrefix(lines.Text(), ": listening") {
			break
		}
	}
	for _, s := range []api.Signal{
		{Type: api.SignalEnvironment, ControlPlane: controlPlane, Environment: "zulu-env", Commit: promoted},
		{Type: api.SignalEnvironment, ControlPlane: controlPlane, Environment: "prod"},
		{Type: api.SignalApplication, ControlPlane: controlPlane, Application: "zulu"},
		{Type: api.SignalReport, Cluster: "zulu-01"},
		{Type: api.SignalCluster, Cluster: "large-zulu"},
		{Type: api.SignalReport, Cluster: "large-03"},
		{Type: api.SignalApplication, ControlPlane: controlPlane, Application: "cart", Environment: "prod"},
		{Type: api.SignalApplication, ControlPlane: controlPlane, Application: "cart"},
		{Type: api.SignalReport, Cluster: "large-01"},
		{Type: api.SignalPromotion, ControlPlane: controlPlane, Environment: "dev", Fetch: []string{"/zulu"}},
	} {
		w.api.Events.Publish(s)
	}
	for lines.Scan() {
		text.WriteString(lines.Text() + "\n")
		if strings.HasPrefix(lines.Text(), "event: promotion") {
			lines.Scan()
			text.WriteString(lines.Text())
			break
		}
	}
	got := text.String()
	for _, want := range []string{`"application":"cart"`, `"cluster":"large-01"`, `"environment":"dev"`, "event: reset"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s: %s", want, got)
		}
	}
	for _, never := range []string{foreign, "id:", "prod", "large-03"} {
		if strings.Contains(got, never) {
			t.Errorf("the stream has %q: %s", never, got)
		}
	}
}

// TestAssistantsHaveTheScopeOfTheirToken calls every tool in the name of a team. A tool that is not listed here has no rule, and fails.
func TestAssistantsHaveTheScopeOfTheirToken(t *testing.T) {
	w := newTeams(t)
	inputs := map[string][]map[string]any{
		"list_environments": {{}}, "get_environment": {{"environment": "dev"}, {"environment": "de"}, {"environment": "dev", "asOf": "2026-11-20T11:30:00Z"}}, "list_discrepancies": {{}, {"environment": "dev"}},
		"get_progress": {{"environment": "dev", "application": "cart"}, {"environment": "dev"}}, "get_promotion": {{"commit": "c" + promoted[1:]}, {"commit": promoted}}, "list_clusters": {{}, {"environment": "dev"}, {"limit": 1}},
		"get_cluster": {{"cluster": "large-01"}, {"cluster": "large"}}, "list_applications": {{}}, "get_application": {{"application": "cart"}, {"application": "car"}}, "list_versions": {{}, {"workload": "c"}},
		"list_history": {{"environment": "dev"}, {"workload": "cart"}, {"cluster": "large-01"}}, "compare": {{"a": "dev", "b": "stage"}, {"a": "dev", "b": "pro"}}, "get_figures": {{}},
	}
	operators := map[string][]map[string]any{"pause": {
		{"environment": "dev", "application": "cart", "why": "x"},
		{"environment": "dev", "application": "car", "why": "x"},
		{"environment": "de", "application": "cart", "why": "x"},
		{"environment": "dev", "why": "x"},
		{"environment": "zulu-env", "why": "x"},
		{"environment": "dev", "application": "zulu", "why": "x"},
	}}
	for role, also := range map[access.Role]map[string][]map[string]any{access.Reader: nil, access.Operator: operators} {
		inputs, tools := maps.Clone(inputs), []string(nil)
		maps.Copy(inputs, also)
		session := w.assistant(w.token(role, "shop", "dev", "stage"))
		all, err := session.ListTools(t.Context(), nil)
		w.must(err)
		for _, tool := range all.Tools {
			if inputs[tool.Name] == nil {
				t.Errorf("a %s of a workspace has the tool %q: decide what it answers", role, tool.Name)
			}
			tools = append(tools, tool.Name)
			for _, input := range inputs[tool.Name] {
				a, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool.Name, Arguments: input})
				w.must(err)
				text, err := json.Marshal(a)
				w.must(err)
				plain := string(text)
				for _, value := range input {
					if asked, ok := value.(string); ok {
						plain = strings.ReplaceAll(plain, asked, "")
					}
				}
				if found := leaks(plain); found != "" {
					t.Errorf("%s %v: …%s…", tool.Name, input, found)
				}
			}
		}
		if len(tools) != len(inputs) {
			t.Errorf("the tools of a %s are %v", role, tools)
		}
	}
}

// TestTeamsPauseTheirOwnWithAnAssistant: by the rules of the operation, and after a confirmation.
func TestTeamsPauseTheirOwnWithAnAssistant(t *testing.T) {
	w := newTeams(t)
	session := w.assistant(w.token(access.Operator, "shop", "dev"))
	pause := func(input map[string]any) (string, bool) {
		a, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "pause", Arguments: input})
		w.must(err)
		return a.Content[len(a.Content)-1].(*mcp.TextContent).Text, a.IsError
	}
	for want, input := range map[string]map[string]any{
		"of the server: name an applicat": {"environment": "dev", "why": "x"},
		`no environment "stage"`:          {"environment": "stage", "application": "cart", "why": "x"},
		`no application "zulu"`:           {"environment": "dev", "application": "zulu", "why": "x"},
		"name the environment, and say w": {"environment": "dev", "application": "cart", "why": " "},
	} {
		if text, failed := pause(input); !failed || !strings.Contains(text, want) {
			t.Errorf("%v: got %s", input, text)
		}
	}
	input := map[string]any{"environment": "dev", "application": "cart", "why": "x"}
	question, _ := pause(input)
	code := regexp.MustCompile(`Pause the promotions of cart into dev\? .* with confirm "([A-Z2-7]+)"`).FindStringSubmatch(question)
	if code == nil {
		t.Fatalf("no question: %s", question)
	}
	input["confirm"] = code[1]
	if text, failed := pause(input); failed || !strings.Contains(text, "Paused: the promotions of cart into dev. To go on: POST /api/v1/applications/cart/environments/dev/resume") {
		t.Errorf("got %s", text)
	}
	_, trail := w.send(t.Context(), http.MethodGet, api.Root+"/audit", w.token(access.Admin, ""), nil)
	if want := `grant=\"operator of shop in dev\"`; !strings.Contains(trail, want) {
		t.Errorf("the audit trail does not have %s: %s", want, trail)
	}
}

// bearing adds a token to requests.
type bearing string

func (b bearing) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

func (w *teams) assistant(token string) *mcp.ClientSession {
	w.t.Helper()
	at, err := url.JoinPath(w.url, api.AssistantPath)
	w.must(err)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(w.t.Context(), &mcp.StreamableClientTransport{Endpoint: at, HTTPClient: &http.Client{Transport: bearing(token)}, DisableStandaloneSSE: true, MaxRetries: -1}, nil)
	w.must(err)
	w.t.Cleanup(func() { _ = session.Close() })
	return session
}
