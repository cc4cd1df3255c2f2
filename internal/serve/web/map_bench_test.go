package web_test

import (
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	kalypso "github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/ledgertest"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/placement"
)

// The fleet of [BenchmarkMap]: 200 workloads on 10,000 clusters of 100 types, in three rings.
const mapClusters, mapTypes, mapWorkloads = 10_000, 100, 200

// BenchmarkMap requests the map of a fleet with 2 million reconcilers, of which one in a hundred failed, and parts of it. Each request
// renders the page again. With MAP_LISTEN, an address, it serves the pages for a while.
func BenchmarkMap(b *testing.B) {
	if testing.Short() {
		b.Skip("it makes a large fleet")
	}
	w := newWorld(b)
	ledgertest.FillTypes(b, w.ledger.Store, mapClusters, mapTypes, mapWorkloads)
	w.failSome(b)
	w.fleet = fleet{mapStanding()}
	mux := http.NewServeMux()
	w.pages.Register(mux)
	for _, path := range []string{
		"/map?environment=prod", "/map?environment=prod&workload=w7", "/map?environment=prod&policy=policy-3", "/map?environment=prod&clusterType=type-7",
		"/map?environment=prod&state=failed", "/map?environment=prod&cluster=c100007",
	} {
		b.Run(path, func(b *testing.B) { measure(b, mux, path) })
	}
	if address := os.Getenv("MAP_LISTEN"); address != "" {
		server := &http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: time.Second}
		time.AfterFunc(10*time.Minute, func() { _ = server.Close() })
		b.Log(server.ListenAndServe())
	}
}

// failSome makes one reconciler in a hundred fail: a tenth of the workloads on a tenth of the cluster types.
func (w *world) failSome(b *testing.B) {
	b.Helper()
	var reports []ledger.Report
	for i := range mapClusters {
		for k := range mapWorkloads / 10 {
			n := 2 + k
			if i%mapTypes >= mapTypes/10 {
				continue
			}
			reports = append(reports, ledger.Report{
				Reconciler: ledger.ReconcilerID{Cluster: fmt.Sprintf("c%d", 100001+i), Kind: "Kustomization", Namespace: "flux-system", Name: fmt.Sprintf("r%d", n)},
				Outcome: ledger.Outcome{
					Source: ledger.Source{Repository: fmt.Sprintf("https://git.example.com/r%d", n), Ref: "prod", Path: "p"}, Revision: ledgertest.Revision(1), State: ledger.StateFailed, Message: "no image",
				},
				Observed: noon, Received: noon,
			})
		}
	}
	w.must(w.ledger.Report(b.Context(), reports...))
}

// mapStanding returns the state of a server's rounds: 20 policies assign ten workloads each to all cluster types, and a few clusters are
// offline or behind.
func mapStanding() query.ControlPlane {
	s := &kalypso.Snapshot{Environment: "prod", Rings: []kalypso.Ring{{Name: "canary"}, {Name: "early"}, {Name: "broad"}}}
	for i := range mapTypes {
		s.ClusterTypes = append(s.ClusterTypes, &kalypso.ClusterType{Name: fmt.Sprintf("type-%d", i)})
	}
	for n := range mapWorkloads {
		name := fmt.Sprintf("w%d", n+2)
		s.Targets = append(s.Targets, &kalypso.Target{
			Name: name + "-t", ShortName: "t", Workload: name, Workspace: fmt.Sprintf("team-%d", n/10), Labels: map[string]string{"policy": fmt.Sprint(n / 10)},
			Manifests: map[string]string{"repo": fmt.Sprintf("https://git.example.com/r%d", n+2), "branch": "prod", "path": "p"},
		})
	}
	for i := range mapWorkloads / 10 {
		s.Policies = append(s.Policies, &kalypso.Policy{
			Name: fmt.Sprintf("policy-%d", i), Targets: labels.SelectorFromSet(labels.Set{"policy": fmt.Sprint(i)}), ClusterTypes: labels.Everything(),
		})
	}
	v := comply.Verdict{Commit: "c1", Result: comply.Waiting, Reason: "some clusters are behind"}
	for i := range mapClusters {
		c := &kalypso.Cluster{Name: fmt.Sprintf("c%d", 100001+i), Type: fmt.Sprintf("type-%d", i%mapTypes), Ring: "broad"}
		switch {
		case i%100 < 3:
			c.Ring = "canary"
		case i%10 < 3:
			c.Ring = "early"
		}
		s.Clusters = append(s.Clusters, c)
		r := comply.Reconciler{Cluster: c.Name, ClusterType: c.Type, Name: "Kustomization flux-system/r1", State: comply.Reached, Reason: "runs it"}
		switch {
		case i%333 == 0:
			r.State, r.Reason = comply.Offline, "no report since 09:12 UTC"
		case i%100 == 50:
			r.State, r.Reason = comply.Behind, "runs c0"
		}
		v.Reconcilers = append(v.Reconcilers, r)
	}
	return query.ControlPlane{
		URL: "https://git.example.com/acme/control-plane", Environments: []string{"prod"},
		Scheduling: map[string]*query.Scheduled{"prod": {
			At: noon, Outcome: &schedule.Outcome{}, Snapshot: s, Decisions: placement.Decide(s, placement.Options{}),
		}},
		Promotion: &promote.Outcome{Environments: []promote.Standing{{Environment: "prod", Phase: "good", Verdict: v}}},
	}
}
