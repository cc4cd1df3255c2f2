package web

import (
	"testing"

	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// TestEachPageHasARule compares the pages with a list of those for which a role in a workspace is enough. Add a new page here after
// deciding about it, and those with true to the addresses of TestNoTeamSeesAnother.
func TestEachPageHasARule(t *testing.T) {
	decided := map[string]bool{
		"fleet": true, "environment": true, "target": true, "cell": true, "workloads": true, "workload": true, "clusters": true, "cluster": true, "promotions": true, "promotion": true,
		"compare": true, "history": true, "figures": true, "search": true, "needs": true, "map": true,
		"plan": false, "messages": false, "explain": false,
	}
	member := access.Identity{Source: access.BySession, Grants: []access.Grant{{Role: access.Operator, Workspaces: []string{"shop"}}}}
	for _, p := range routes {
		want, ok := decided[p.name]
		if !ok {
			t.Errorf("the page %q has no rule here", p.name)
		}
		if got := ruleOf(p.name).Admit(member) == nil; got != want {
			t.Errorf("a member of a workspace opens %q: %v", p.name, got)
		}
		if ruleOf(p.name).Admit(access.Identity{Role: access.Reader}) != nil || ruleOf(p.name).Admit(access.Identity{Source: access.Anonymous}) == nil {
			t.Errorf("%q: want the role reader", p.name)
		}
	}
	for _, l := range sectionsOf(member) {
		if l.Address == "/plan" {
			t.Error("the navigation has a page that the user cannot open")
		}
	}
}
