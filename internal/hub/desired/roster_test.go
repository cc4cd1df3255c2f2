package desired

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// fleet has clusters that are all members of dev, and counts how often they are read.
type fleet struct {
	clusters []ledger.Cluster
	reads    atomic.Int64
	err      error
}

func newFleet(size int) *fleet {
	f := &fleet{}
	for n := range size {
		f.clusters = append(f.clusters, ledger.Cluster{
			Name: fmt.Sprint("edge-", n), Registered: true, Registration: ledger.Registration{Memberships: []ledger.Membership{{Environment: "dev", ClusterType: "large"}}},
		})
	}
	return f
}

func (f *fleet) Clusters(_ context.Context, q ledger.ClusterQuery) ([]ledger.Cluster, error) {
	f.reads.Add(1)
	if f.err != nil || q.Name == "" {
		return f.clusters, f.err
	}
	for _, c := range f.clusters {
		if c.Name == q.Name {
			return []ledger.Cluster{c}, nil
		}
	}
	return nil, nil
}

// ask asks for all clusters once, and returns how often the ledger was read.
func (f *fleet) ask(t testing.TB, w *world) int64 {
	t.Helper()
	before := f.reads.Load()
	for _, c := range f.clusters {
		if all, _, err := w.Of(t.Context(), c.Name); err != nil || len(all) != 2 {
			t.Fatalf("%s: got %d deliveries, %v", c.Name, len(all), err)
		}
	}
	return f.reads.Load() - before
}

func TestClustersThatWaitShareOneReadOfTheLedger(t *testing.T) {
	t.Parallel()
	w, f := newWorld(), newFleet(1000)
	w.Service.Clusters = f
	if got := f.ask(t, w); got != rosterSingle+1 {
		t.Errorf("the ledger was read %d times for 1000 clusters, want %d", got, rosterSingle+1)
	}
	if got := f.ask(t, w); got != 0 {
		t.Errorf("the ledger was read %d times again", got)
	}

	// A cluster that is revoked gets nothing at once.
	f.clusters[7].Registration.Revoked = true
	w.Renew()
	if all, _, err := w.Of(t.Context(), "edge-7"); err != nil || len(all) != 0 {
		t.Errorf("a revoked cluster gets %d deliveries, %v", len(all), err)
	}
	f.clusters[7].Registration.Revoked = false
	w.time = w.time.Add(rosterFresh)
	if got := f.ask(t, w); got != rosterSingle+1 {
		t.Errorf("the ledger was read %d times after %s, want %d", got, rosterFresh, rosterSingle+1)
	}

	// An error is not kept.
	f.err = errors.New("the ledger is away")
	w.Renew()
	if _, _, err := w.Of(t.Context(), "edge-1"); !errors.Is(err, f.err) {
		t.Errorf("got %v", err)
	}
	f.err = nil
	f.ask(t, w)
}

// BenchmarkWaitingClusters: each cluster that waits asks again; ns/op is that of one cluster.
func BenchmarkWaitingClusters(b *testing.B) {
	for _, size := range []int{1000, 10_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			w, f := newWorld(), newFleet(size)
			w.Service.Clusters = f
			f.ask(b, w)
			f.reads.Store(0)
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				if n%size == 0 { // all of them ask once in this time
					w.time = w.time.Add(rosterFresh)
				}
				if _, _, err := w.Of(b.Context(), f.clusters[n%size].Name); err != nil {
					b.Fatal(err)
				}
				n++
			}
			b.ReportMetric(float64(f.reads.Load())*float64(size)/float64(n), "reads/round")
		})
	}
}
