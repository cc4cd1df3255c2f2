package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"sort"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// rights is who may do what, once more: reader, operator, break-glass, admin, cluster and join, in this order, and
// then reader, approver, operator and break-glass of a workspace, in capitals. A new operation has to be added here
// after deciding about each of them.
var rights = map[string]string{
	"GET /whoami": "robacjRPOB",

	"GET /environments": "robaRPOB", "GET /environments/{name}": "robaRPOB", "GET /environments/{name}/progress": "roba", "GET /environments/{name}/explain": "roba",
	"GET /matrix": "robaRPOB", "GET /map": "robaRPOB",
	"GET /applications/{name}/environments/{environment}/versions": "robaRPOB", "GET /applications/{name}/environments/{environment}/targets/{target}/revisions": "robaRPOB",
	"GET /applications": "robaRPOB", "GET /applications/{name}": "robaRPOB", "GET /applications/{name}/progress": "robaRPOB",
	"GET /workloads": "robaRPOB", "GET /workloads/{name}": "robaRPOB", "GET /targets": "robaRPOB", "GET /environments/{name}/targets/{target}": "robaRPOB", "GET /assignments": "robaRPOB", "GET /versions": "robaRPOB",
	"GET /clusters": "robaRPOB", "GET /clusters/{name}": "robaRPOB", "GET /reconcilers": "robaRPOB", "GET /discrepancies": "robaRPOB", "GET /needs": "robaRPOB",
	"GET /promotions": "robaRPOB", "GET /promotions/{commit}": "robaRPOB", "GET /history": "robaRPOB", "GET /compare/{a}/{b}": "robaRPOB", "GET /figures": "robaRPOB",
	"GET /events": "robaRPOB",

	"POST /environments/{name}/promote": "oba", "POST /environments/{name}/pause": "oba", "POST /environments/{name}/resume": "oba",
	"POST /environments/{name}/abort": "oba", "POST /environments/{name}/rollback": "oba", "POST /environments/{name}/skip": "oba",
	"POST /environments/{name}/approve": "oba", "POST /environments/{name}/bypass": "ba",
	"POST /applications/{name}/environments/{environment}/approve": "obaPOB", "POST /applications/{name}/environments/{environment}/bypass": "baB",
	"POST /applications/{name}/environments/{environment}/promote": "obaOB", "POST /applications/{name}/environments/{environment}/pause": "obaOB",
	"POST /applications/{name}/environments/{environment}/resume": "obaOB", "POST /applications/{name}/environments/{environment}/abort": "obaOB",
	"POST /applications/{name}/environments/{environment}/rollback": "obaOB", "POST /applications/{name}/builds": "obaOB",

	"GET /applications/{name}/environments/{environment}/values": "robaRPOB", "POST /applications/{name}/environments/{environment}/values": "obaOB",
	"POST /applications/{name}/environments/{environment}/targets/rollback": "obaOB", "POST /applications/{name}/environments/{environment}/targets/uninstall": "obaOB",
	"POST /applications/{name}/environments/{environment}/targets/deploy": "obaOB",
	"GET /missing-values":             "robaRPOB",
	"GET /environments/{name}/values": "roba", "POST /environments/{name}/values": "oba",

	"GET /messages": "oba", "GET /replicas": "oba",

	"POST /clusters": "a", "POST /clusters/{name}/rotate": "a", "POST /clusters/{name}/revoke": "a",
	"GET /tokens": "a", "POST /tokens": "a", "POST /tokens/{id}/revoke": "a", "GET /audit": "a", "POST /reports/file": "a",

	"POST /reports": "c", "POST /reports/flux": "c", "POST /reports/argocd": "c",
	"POST /clusters/join": "j",

	"GET /deliveries": "c", "GET /deliveries/archives/{digest}": "c", "GET /deliveries/key": "robacjRPOB",
}

// operations are those of the description: method and path below the root.
func operations(t *testing.T) []string {
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
		for method := range methods {
			all = append(all, strings.ToUpper(method)+" "+strings.TrimPrefix(path, "/api/v1"))
		}
	}
	sort.Strings(all)
	return all
}

// TestRights tries every operation of the description as everybody.
func TestRights(t *testing.T) {
	w := newWorld(t)
	credential := w.register("large-07")
	everybody := map[string]string{
		"r": w.tokens[access.Reader], "o": w.tokens[access.Operator], "a": w.tokens[access.Admin], "c": credential,
		"j": w.store(ledger.Token{ID: "join", Role: "join", Scope: `{"memberships":[]}`}, access.Join),
		"R": w.scoped(access.Reader, "shop"), "P": w.scoped(access.Approver, "shop"), "O": w.scoped(access.Operator, "shop"),
		"b": w.store(ledger.Token{ID: "b", Role: "break-glass"}, access.BreakGlass), "B": w.scoped(access.BreakGlass, "shop"),
	}
	page, err := os.ReadFile("../../../docs/reference/api.md")
	if err != nil {
		t.Fatal(err)
	}
	all := operations(t)
	if len(all) != len(rights) {
		t.Errorf("%d operations are described, and the rights of %d are known", len(all), len(rights))
	}
	for _, operation := range all {
		may, known := rights[operation]
		if !known {
			t.Errorf("%s: no role is defined", operation)
			continue
		}
		if !strings.Contains(string(page), "`"+operation+"`") {
			t.Errorf("docs/reference/api.md does not have %s", operation)
		}
		method, path, _ := strings.Cut(operation, " ")
		path = "/api/v1" + strings.NewReplacer("{name}", "x", "{commit}", commit("a"), "{a}", "x", "{b}", "y", "{id}", "x").Replace(path)
		for who, token := range everybody {
			got := w.status(method, path, token)
			denied := got == http.StatusForbidden || got == http.StatusUnauthorized
			if may := strings.Contains(may, who); denied == may || !may && got != http.StatusForbidden {
				t.Errorf("%s as %q: got %d", operation, who, got)
			}
		}
		if got := w.status(method, path, ""); got != http.StatusUnauthorized && may != "robacjRPOB" {
			t.Errorf("%s without a token: got %d", operation, got)
		}
	}
}

// scoped stores a token with a role in a workspace.
func (w *world) scoped(role access.Role, workspace string, environments ...string) string {
	w.t.Helper()
	limit, err := json.Marshal(access.Grant{Role: role, Workspaces: []string{workspace}, Environments: environments})
	if err != nil {
		w.t.Fatal(err)
	}
	id := fmt.Sprint(role, "-", workspace, environments)
	return w.store(ledger.Token{ID: id, Description: id, Role: string(access.Scoped), Scope: string(limit)}, access.Scoped)
}

// status asks an operation that does not get what it needs: it gets past the door, and no further.
func (w *world) status(method, path, token string) int {
	w.t.Helper()
	if method == http.MethodPost {
		return w.post(path+"?unknown=1", token, "{}").status
	}
	return w.call(method, path+"?unknown=1", token, nil).status
}

func TestNobodyHearsHowToComeIn(t *testing.T) {
	w := newWorld(t)
	a := w.call(http.MethodGet, "/api/v1/environments", "", nil)
	p := wantProblem(t, a, http.StatusUnauthorized)
	if got := a.header.Get("WWW-Authenticate"); got != `Bearer realm="kalypso"` || p.Next == "" {
		t.Errorf("got %q and %+v", got, p)
	}
	a = w.call(http.MethodGet, "/api/v1/whoami", "kal_not-one", nil)
	wantProblem(t, a, http.StatusUnauthorized)
	if got := a.header.Get("WWW-Authenticate"); !strings.Contains(got, "invalid_token") {
		t.Errorf("got %q", got)
	}
}

func TestWhoAmI(t *testing.T) {
	w := newWorld(t)
	who := decode[access.Identity](t, w.call(http.MethodGet, "/api/v1/whoami", w.tokens[access.Operator], nil), http.StatusOK)
	if who.Name != "operator" || who.Role != access.Operator || who.Source != access.ByToken {
		t.Errorf("got %+v", who)
	}
	who = decode[access.Identity](t, w.call(http.MethodGet, "/api/v1/whoami", "", nil), http.StatusOK)
	if who.Role != "" || who.Source != access.Anonymous {
		t.Errorf("anonymous: got %+v", who)
	}
	w.server.Guard.Anonymous = access.AnonymousLocal
	who = decode[access.Identity](t, w.call(http.MethodGet, "/api/v1/whoami", "", nil), http.StatusOK)
	if who.Role != access.Reader {
		t.Errorf("on this machine: got %+v", who)
	}
}
