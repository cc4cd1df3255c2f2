package promote_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
)

// BenchmarkPreview gathers the facts of one environment of 10,000 clusters from sqlite, and decides. Each cluster has five more
// reconcilers that follow applications; half of the clusters are behind, at one of 20 earlier commits.
func BenchmarkPreview(b *testing.B) {
	l := openLedger(b)
	const clusters = 10_000
	at := noon.Add(-time.Minute)
	var all []ledger.Report
	for i := range clusters {
		name := fmt.Sprintf("large-%05d", i)
		join(b, l, name, "dev")
		runs := sha("one")
		if i%2 == 1 {
			runs = sha(fmt.Sprint("old ", i%20))
		}
		all = append(all, ledger.Report{
			Reconciler: ledger.ReconcilerID{Cluster: name, Kind: "Kustomization", Namespace: "flux-system", Name: "platform"},
			Outcome: ledger.Outcome{
				Source:   ledger.Source{Repository: "https://git.example/platform/gitops", Ref: "dev", Path: "large"},
				Revision: revision("dev", runs), State: ledger.StateReady,
			},
			Observed: at, Received: at,
		})
		for app := range 5 {
			r := all[len(all)-1]
			r.Reconciler.Name = fmt.Sprint("app-", app)
			r.Source.Repository = fmt.Sprint("https://git.example/apps/gitops-", app)
			all = append(all, r)
		}
	}
	for len(all) > 0 {
		n := min(len(all), 5000)
		if err := l.Report(b.Context(), all[:n]...); err != nil {
			b.Fatal(err)
		}
		all = all[n:]
	}
	p := &promote.Promoter{Ledger: l, Ancestry: &equals{}, Now: func() time.Time { return noon }}
	pipeline := newFakePipeline(map[string]*v1alpha1.Promotion{"dev": {}}, "one")
	if _, err := p.Round(b.Context(), pipeline); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		o, err := p.Preview(b.Context(), pipeline)
		if err != nil || o.Environments[0].Verdict.Counts.Behind != clusters/2 {
			b.Fatal(err, o)
		}
	}
}
