package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// people signs users in by a header with their name and their groups, as an issuer would.
type people struct{}

func (people) Authenticate(r *http.Request) (access.Identity, bool, error) {
	words := strings.Fields(r.Header.Get("Test-Person"))
	if len(words) == 0 {
		return access.Identity{}, false, nil
	}
	return access.Identity{Name: words[0], Groups: words[1:], Role: access.Operator, Source: access.BySignOn}, true, nil
}

// TestApprovalsAndBypasses checks who may approve and bypass what.
func TestApprovalsAndBypasses(t *testing.T) {
	w := newWorld(t)
	rules := &v1alpha1.Promotion{Verify: []v1alpha1.Verification{
		{Name: "release", Approval: &v1alpha1.ApprovalVerification{Groups: []string{"release"}, NotAuthor: true}},
		{Name: "anyone", Approval: &v1alpha1.ApprovalVerification{}},
		{HTTP: &v1alpha1.HTTPVerification{URL: "https://shop.example"}},
		{Name: "done", HTTP: &v1alpha1.HTTPVerification{URL: "https://shop.example"}},
	}}
	w.server.Observer.Fleet = fleet{{URL: controlPlane, Promotion: &promote.Outcome{
		Subject: controlPlane, Environments: []promote.Standing{{
			Environment: "dev", Commit: commit("c"), Rules: rules, Authors: []string{"Dora", "dora@example.com"},
			Checks: []decide.CheckProgress{{Name: "done", State: decide.CheckPassed}},
		}},
	}, Applications: []*query.Application{hello()}}}
	ring := &w.server.Observer.Fleet.(fleet)[0].Promotion.Environments[0]
	ring.Rules.Rings = []v1alpha1.Ring{{Name: "canary", Verify: []v1alpha1.Verification{{Name: "slow", Approval: &v1alpha1.ApprovalVerification{NotAuthor: true}}}}}
	ring.Rings = []promote.RingStanding{{Name: "canary", Ring: "canary", Commit: commit("f"), Authors: []string{"emma"}}}
	w.server.Guard.Others = append(w.server.Guard.Others, people{})
	for name, tc := range map[string]struct {
		person, token, operation, ring, check, commit, why string
		status                                             int
		says                                               string
	}{
		"a member":                         {person: "anna staff release", operation: "approve", check: "release", status: 202},
		"not a member":                     {person: "carl staff", operation: "approve", check: "release", status: 403, says: "approved by members of release"},
		"the author":                       {person: "Dora@example.com release", operation: "approve", check: "release", status: 403, says: "is the author of the commit"},
		"a token has no groups":            {token: "admin", operation: "approve", check: "release", status: 403, says: "members of release"},
		"a token, where groups are open":   {token: "operator", operation: "approve", check: "anyone", status: 202},
		"a reader":                         {token: "reader", operation: "approve", check: "anyone", status: 403, says: "needs operator"},
		"another commit":                   {person: "anna release", operation: "approve", check: "release", commit: commit("d"), status: 409, says: `\"dev\" has the commit ccccccc, and not ddddddd`},
		"nothing to approve":               {person: "anna release", operation: "approve", check: "verification 3", status: 409, says: "it is of kind http"},
		"an unknown verification":          {person: "anna release", operation: "approve", check: "realease", status: 404, says: "release"},
		"in a ring":                        {person: "anna", operation: "approve", ring: "canary", check: "slow", commit: commit("f"), status: 202},
		"the author, in a ring":            {person: "emma", operation: "approve", ring: "canary", check: "slow", commit: commit("f"), status: 403, says: "is the author"},
		"of the environment, in a ring":    {person: "anna release", operation: "approve", ring: "canary", check: "release", commit: commit("f"), status: 404, says: "release"},
		"an unknown ring":                  {person: "anna", operation: "approve", ring: "early", check: "slow", commit: commit("f"), status: 404, says: "canary"},
		"a bypass":                         {token: "admin", operation: "bypass", check: "verification 3", why: "the test is broken", status: 202},
		"a bypass of an operator":          {token: "operator", operation: "bypass", check: "verification 3", why: "the test is broken", status: 403, says: "needs break-glass"},
		"a bypass without a reason":        {token: "admin", operation: "bypass", check: "verification 3", why: " ", status: 422, says: "say why"},
		"a bypass of what has passed":      {token: "admin", operation: "bypass", check: "done", why: "no", status: 409, says: "has passed already"},
		"a bypass of an unknown one":       {token: "admin", operation: "bypass", check: "smoke", why: "no", status: 404, says: "smoke"},
		"a bypass of the commit of others": {token: "admin", operation: "bypass", check: "done", commit: commit("a"), why: "no", status: 409, says: "and not aaaaaaa"},
	} {
		body := map[string]string{"check": tc.check, "commit": commit("c"), "why": tc.why}
		if tc.commit != "" {
			body["commit"] = tc.commit
		}
		a := w.post("/api/v1/environments/dev/"+tc.operation+"?ring="+tc.ring, w.tokens[access.Role(tc.token)], body, "Test-Person", tc.person)
		if a.status != tc.status || !strings.Contains(string(a.body), tc.says) {
			t.Errorf("%s: got %d %s", name, a.status, a.body)
		}
		if tc.status == http.StatusAccepted {
			if got := decode[api.Accepted](t, a, http.StatusAccepted); got.Check != tc.check || got.Commit != body["commit"] || got.Ring != tc.ring {
				t.Errorf("%s: got %+v", name, got)
			}
		}
	}
	want := map[string]string{
		"approved dev anna": `{"check":"release","groups":["release"]}`, "approved dev/canary anna": `{"check":"slow"}`, "approved dev operator": `{"check":"anyone"}`, "bypassed dev admin": `{"check":"verification 3"}`,
	}
	got := map[string]string{}
	steps, err := w.ledger.Steps(t.Context(), ledger.StepQuery{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range steps {
		got[s.Kind+" "+s.Environment+" "+s.By] = string(s.Detail)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}
