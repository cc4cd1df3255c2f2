//go:build unix

package query_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/ledgertest"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
)

// BenchmarkObserver runs the queries of pages on the fleet of the ledger's benchmarks: LEDGER_CLUSTERS clusters with
// 50 reconcilers each. Queries with a fleet use the verdict of the last round, as a server does.
func BenchmarkObserver(b *testing.B) {
	w := newWorld(b)
	clusters := ledgertest.Fill(b, w.Store)
	start := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	alone := &query.Observer{Ledger: w.Ledger, Now: func() time.Time { return start.Add(10 * time.Minute) }}
	server := &query.Observer{Ledger: w.Ledger, Now: alone.Now, Fleet: standing(b, alone)}
	for _, o := range []struct {
		name string
		*query.Observer
	}{{"ledger alone", alone}, {"server", server}} {
		later := &query.Observer{Ledger: o.Ledger, Fleet: o.Fleet, Now: func() time.Time { return start.Add(25 * time.Hour) }}
		for _, q := range slices.Concat(benchmarks(o.Observer), pastBenchmarks(later, start)) {
			b.Run(fmt.Sprintf("%s/%s/clusters=%d", o.name, q.name, clusters), func(b *testing.B) { measure(b, q.ask) })
		}
	}
	b.Run(fmt.Sprintf("in trouble/matrix/clusters=%d", clusters), func(b *testing.B) {
		breakSome(b, w.Ledger, clusters)
		measure(b, func(ctx context.Context) (any, error) {
			return server.Matrix(ctx, query.AssignmentsQuery{Environment: "prod"})
		})
	})
}

// question is a query of a page.
type question struct {
	name string
	ask  func(context.Context) (any, error)
}

func benchmarks(o *query.Observer) []question {
	return []question{
		{"environments", func(ctx context.Context) (any, error) {
			return o.Environments(ctx, query.EnvironmentsQuery{})
		}},
		{"environment", func(ctx context.Context) (any, error) {
			return o.Environment(ctx, query.EnvironmentQuery{Name: "prod"})
		}},
		{"page of 100 clusters", func(ctx context.Context) (any, error) {
			return o.Clusters(ctx, query.ClustersQuery{Environment: "prod"})
		}},
		{"clusters that are behind", func(ctx context.Context) (any, error) {
			return o.Clusters(ctx, query.ClustersQuery{Environment: "prod", State: comply.Behind})
		}},
		{"cluster", func(ctx context.Context) (any, error) {
			return o.Cluster(ctx, query.ClusterQuery{Name: "c100007"})
		}},
		{"page of 100 reconcilers", func(ctx context.Context) (any, error) {
			return o.Reconcilers(ctx, query.ReconcilersQuery{Environment: "prod"})
		}},
		{"matrix", func(ctx context.Context) (any, error) {
			return o.Matrix(ctx, query.AssignmentsQuery{Environment: "prod"})
		}},
		{"workloads", func(ctx context.Context) (any, error) {
			return o.Workloads(ctx, query.WorkloadsQuery{})
		}},
		{"workload", func(ctx context.Context) (any, error) {
			return o.Workload(ctx, "w7")
		}},
		{"versions", func(ctx context.Context) (any, error) {
			return o.Versions(ctx, query.VersionsQuery{})
		}},
		{"discrepancies", func(ctx context.Context) (any, error) {
			return o.Discrepancies(ctx, query.DiscrepanciesQuery{Environment: "prod"})
		}},
		{"history of the environment", func(ctx context.Context) (any, error) {
			return o.History(ctx, query.HistoryQuery{Environment: "prod"})
		}},
		{"figures", func(ctx context.Context) (any, error) {
			return o.Figures(ctx, query.FiguresQuery{})
		}},
	}
}

// pastBenchmarks query two times: one in the middle of the facts, since which
// everything has changed, and one since which nothing has.
func pastBenchmarks(o *query.Observer, start time.Time) []question {
	var all []question
	for _, at := range []struct {
		name string
		time time.Time
	}{{"long ago", start.Add(5 * time.Hour)}, {"lately", start.Add(24 * time.Hour)}} {
		all = append(all, question{"versions " + at.name, func(ctx context.Context) (any, error) {
			return o.Versions(ctx, query.VersionsQuery{Environment: "prod", AsOf: at.time})
		}}, question{"matrix " + at.name, func(ctx context.Context) (any, error) {
			return o.Matrix(ctx, query.AssignmentsQuery{Environment: "prod", AsOf: at.time})
		}}, question{"environment " + at.name, func(ctx context.Context) (any, error) {
			return o.Environment(ctx, query.EnvironmentQuery{Name: "prod", AsOf: at.time})
		}})
	}
	return all
}

func measure(b *testing.B, ask func(context.Context) (any, error)) {
	size, spent := 0, spentCPU()
	for b.Loop() {
		answer, err := ask(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		text, err := json.Marshal(answer)
		if err != nil {
			b.Fatal(err)
		}
		size = len(text)
	}
	b.ReportMetric((spentCPU()-spent)/float64(b.N), "cpu-ms/op")
	b.ReportMetric(float64(size), "bytes")
}

// spentCPU returns the CPU time of the process on all cores, in milliseconds. On a busy machine, it is more
// meaningful than elapsed time.
func spentCPU() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail for the own process
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e6
}

// standing returns a fleet whose last round judged all clusters.
func standing(b *testing.B, alone *query.Observer) query.Fleet {
	b.Helper()
	d, err := alone.Environment(b.Context(), query.EnvironmentQuery{Name: "prod"})
	if err != nil || d.Gate == nil {
		b.Fatalf("no verdict: %v", err)
	}
	v := comply.Verdict{Commit: d.Gate.Commit, Result: d.Gate.Result, Reason: d.Gate.Reason, Counts: d.Gate.Counts}
	for i := range d.Counts.Clusters {
		v.Reconcilers = append(v.Reconcilers, comply.Reconciler{
			Cluster: fmt.Sprintf("c%d", 100001+i), ClusterType: "large", Name: "Kustomization flux-system/r1", State: comply.Reached, Reason: "runs it",
		})
	}
	o := &promote.Outcome{Environments: []promote.Standing{{Environment: "prod", Phase: "good", Verdict: v}}}
	return planes{{URL: controlPlane, Promotion: o}}
}

// breakSome makes one workload in ten fail on one cluster in a hundred.
func breakSome(b *testing.B, l ledger.Ledger, clusters int) {
	b.Helper()
	var reports []ledger.Report
	at := time.Date(2026, 3, 3, 10, 0, 0, 0, time.UTC)
	for i := 0; i < clusters; i += 100 {
		for k := 10; k <= 50; k += 10 {
			reports = append(reports, ledger.Report{
				Reconciler: ledger.ReconcilerID{Cluster: fmt.Sprintf("c%d", 100001+i), Kind: "Kustomization", Namespace: "flux-system", Name: fmt.Sprintf("r%d", k)},
				Outcome: ledger.Outcome{
					Source:   ledger.Source{Repository: fmt.Sprintf("https://git.example.com/r%d", k), Ref: "prod", Path: "p"},
					Revision: ledgertest.Revision(10), State: ledger.StateFailed, Message: "no image",
				},
				Observed: at, Received: at,
			})
		}
	}
	if err := l.Report(b.Context(), reports...); err != nil {
		b.Fatal(err)
	}
}

// The fleet of [BenchmarkCrowd]: 200 workloads on 20 clusters of each of 100 types.
const types, clustersOf, workloads = 100, 20, 200

// BenchmarkCrowd runs queries about 20,000 cells and 400,000 reconcilers, of which one in a hundred failed. Then one
// of the clusters is new and has not reported yet.
func BenchmarkCrowd(b *testing.B) {
	w := newWorld(b)
	at := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	w.crowd(b, at)
	o := &query.Observer{Ledger: w.Ledger, Now: func() time.Time { return at.Add(time.Minute) }}
	matrix := func(ctx context.Context) (any, error) {
		return o.Matrix(ctx, query.AssignmentsQuery{Environment: "prod", Paging: query.Paging{Limit: workloads}})
	}
	b.Run("matrix", func(b *testing.B) { measure(b, matrix) })
	b.Run("figures", func(b *testing.B) {
		measure(b, func(ctx context.Context) (any, error) {
			f, parts, err := o.Course(ctx, query.FiguresQuery{}, 15)
			if incidents := f.Total.OpenIncidents; err == nil && (incidents != types*clustersOf*workloads/100 || len(parts) != 15) {
				err = fmt.Errorf("got %d incidents and %d parts", incidents, len(parts))
			}
			return f, err
		})
	})
	w.join(b, 7, clustersOf, at)
	b.Run("matrix when a cluster is new", func(b *testing.B) { measure(b, matrix) })
}

// join registers a cluster of a type.
func (w *world) join(b *testing.B, kind, i int, at time.Time) string {
	b.Helper()
	name := fmt.Sprintf("type-%03d-%02d", kind, i)
	err := w.Ledger.Register(b.Context(), ledger.Registration{
		Cluster: name, Memberships: []ledger.Membership{{Environment: "prod", ClusterType: name[:8]}}, At: at,
	})
	if err != nil {
		b.Fatal(err)
	}
	return name
}

// crowd makes all clusters of the large fleet report.
func (w *world) crowd(b *testing.B, at time.Time) {
	b.Helper()
	platform := ledger.Commit{Repository: "platform", Branch: "prod", SHA: "p1", Kind: ledger.BranchPlatform, Environment: "prod", Recorded: at}
	apps := ledger.Commit{Repository: "apps", Branch: "prod", SHA: "a1", Kind: ledger.BranchApplication, Environment: "prod", Recorded: at}
	for n := range workloads {
		workload := fmt.Sprintf("workload-%03d", n)
		apps.Versions = append(apps.Versions, ledger.Version{Workload: workload, Target: "prod", Environment: "prod", Path: workload, Version: "1.0"})
		for kind := range types {
			platform.Assignments = append(platform.Assignments, ledger.Assignment{
				ClusterType: fmt.Sprintf("type-%03d", kind), Target: workload + "-prod", Workload: workload,
			})
		}
	}
	if err := errors.Join(w.Ledger.RecordCommit(b.Context(), platform), w.Ledger.RecordCommit(b.Context(), apps)); err != nil {
		b.Fatal(err)
	}
	for kind := range types {
		var reports []ledger.Report
		for i := range clustersOf {
			cluster := w.join(b, kind, i, at)
			for n := range workloads {
				state := ledger.StateReady
				if (kind*7+i*13+n)%100 == 0 {
					state = ledger.StateFailed
				}
				workload := fmt.Sprintf("workload-%03d", n)
				reports = append(reports, ledger.Report{
					Reconciler: ledger.ReconcilerID{Cluster: cluster, Kind: "Kustomization", Name: workload},
					Outcome:    ledger.Outcome{Source: ledger.Source{Repository: "apps", Ref: "prod", Path: workload}, Revision: "a1", State: state},
					Observed:   at, Received: at,
				})
			}
		}
		if err := w.Ledger.Report(b.Context(), reports...); err != nil {
			b.Fatal(err)
		}
	}
}
