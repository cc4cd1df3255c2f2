package web_test

import (
	"net/http"
	"strings"
	"testing"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

func TestMapShowsWhatIsWrong(t *testing.T) {
	w := newWorld(t).fleetOfThree()
	p := w.see("/map?environment=dev")
	p.wants(".tally", "3 clusters ✕ 1 failed ✓ 2 ready")
	p.wants(".named a text", "✕")
	p.wants(".named a title", "large-03 failed")
	p.wants("svg a text", "hello")
	p.wants("svg g text", "not known")
	p.wants("tbody tr", "large-03 ✕ failed large – no <b>image</b>; 1 target missing 30 min ago")
	p.wants("tbody tr", "hello team-a ? missing 1 missing, 2 ready 1 Open")
	p.wants("p", "Which policies assign workloads is not known")
	p.wants(".tabs a[aria-current=page]", "dev")
	if got := p.texts("h2"); strings.Join(got, ", ") != "Clusters, Workloads, Cluster types" {
		t.Errorf("got the tables %q", got)
	}
}

// TestMapNarrows checks that a filter leaves what belongs to it, and that the page links back to the rest.
func TestMapNarrows(t *testing.T) {
	w := newWorld(t).fleetOfThree()
	p := w.see("/map?environment=dev&state=failed&workload=hello")
	p.wants(".tally", "1 cluster ✕ 1 failed")
	p.wants(".chosen li", "Workload hello ✕")
	if len(p.all("a[href=/map?environment=dev&state=failed]")) != 1 || len(p.all(".chosen a[href=/workloads/hello]")) != 1 {
		t.Error("the filter has no links to the page without it, and to its own page")
	}
	w.see("/map?environment=dev&state=offline").wants(".empty", "Nothing matches. Show the whole environment")
}

// TestMapShowsReconcilersOfACluster checks that a cluster is shown with its reconcilers and the objects that are known.
func TestMapShowsReconcilersOfACluster(t *testing.T) {
	w := newWorld(t).fleetOfThree()
	w.reportOutcome("large-01", "web", ledger.Outcome{
		Source: ledger.Source{Repository: gitOps, Ref: "dev", Path: "large"}, Revision: app1, State: ledger.StateFailed, Health: hub.HealthDegraded,
		Unhealthy: []hub.ObjectHealth{{Kind: "Deployment", Namespace: "shop", Name: "web", Health: hub.HealthDegraded, Message: "CrashLoopBackOff <b>"}},
	}, 5)
	p := w.see("/map?environment=dev&cluster=large-01")
	p.wants(".tree h2", "large-01")
	p.wants(".tree li", "✕ failed ✕ degraded flux-system/web Kustomization")
	p.wants(".tree li li", "✕ degraded Deployment shop/web CrashLoopBackOff <b>")
	p.wants(".tree p", "only those that are not healthy")
}

// TestMapHasADefault checks that the address without an environment leads to the last one of the chain.
func TestMapHasADefault(t *testing.T) {
	w := newWorld(t)
	w.see("/map").wants(".empty", "No environments yet")
	w = newWorld(t).fleetOfThree()
	if a := w.ask("/map?workload=hello"); a.Code != http.StatusSeeOther || a.Header().Get("Location") != "/map?environment=stage&workload=hello" {
		t.Errorf("got %d to %q", a.Code, a.Header().Get("Location"))
	}
}
