package ledgertest

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/relational"
)

// The benchmarks' fleet: every cluster has a reconciler that follows the platform branch, and one for each of several
// applications. The state of each reconciler has changed several times.
const (
	// Of clusters, of which 10000 take minutes to fill in, of reconcilers of each cluster, and of facts about each reconciler.
	sizeVariable        = "LEDGER_CLUSTERS"
	reconcilersVariable = "LEDGER_RECONCILERS"
	factsVariable       = "LEDGER_FACTS"
	defaultSize         = 200
	defaultReconcilers  = 50
	defaultFacts        = 10
)

// fleetSQL fills a ledger quickly. :clusters is the size. Both databases support it.
const fleetSQL = `
INSERT INTO branch (id, repository, ref, kind, environment, head)
WITH RECURSIVE k (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM k WHERE k < :reconcilers)
SELECT k, 'https://git.example.com/r' || k, 'prod', CASE k WHEN 1 THEN 'platform' ELSE 'application' END, 'prod', :facts FROM k;
INSERT INTO source (id, branch_id, path) SELECT id, id, CASE id WHEN 1 THEN 'large' ELSE 'p' END FROM branch;
INSERT INTO gitops_commit (branch_id, number, sha, source_commit, committed, recorded)
WITH RECURSIVE j (j) AS (SELECT 1 UNION ALL SELECT j + 1 FROM j WHERE j < :facts)
SELECT b.id, j.j, ':revision' || (100000 + j.j), '', 0, 0 FROM branch b CROSS JOIN j;
INSERT INTO version (branch_id, opened, closed, workload, workspace, target, environment, path, version, build, commit_sha, built)
SELECT branch_id, number, number + 1, 'w' || branch_id, 'team', 't', 'prod', 'p', 'v' || number, '', '', 1 FROM gitops_commit WHERE branch_id > 1;
INSERT INTO assignment (branch_id, opened, closed, cluster_type, target, workload, workspace, environment)
SELECT 1, 1, 9223372036854775807, 'large', 'w' || id || '-t', 'w' || id, 'team', '' FROM branch WHERE id > 1;
INSERT INTO outcome (id, source_id, revision, state, message, applied, health, unhealthy, first_observed, reconcilers)
SELECT 1152921504606846976 + branch_id * 1000 + number, branch_id, sha, 1, 'Applied revision: prod@sha1:' || sha, '', 1, '', :start + number * :step,
       CASE number WHEN :facts THEN :clusters ELSE 0 END FROM gitops_commit;
INSERT INTO cluster (id, name)
WITH RECURSIVE i (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM i WHERE i < :clusters)
SELECT i, 'c' || (100000 + i) FROM i;
INSERT INTO heartbeat (cluster_id, heard) SELECT id, :start FROM cluster;
INSERT INTO registration (id, cluster_id, at, until, labels, credential_hash, public_key, revoked, by_whom)
SELECT id, id, 0, 9223372036854775807, '{}', 'h' || id, '', 0, '' FROM cluster;
INSERT INTO membership (registration_id, environment, cluster_type) SELECT id, 'prod', 'large' FROM cluster;
INSERT INTO reconciler (id, cluster_id, kind, namespace, name)
SELECT (c.id - 1) * :reconcilers + b.id, c.id, 'Kustomization', 'flux-system', 'r' || b.id FROM cluster c CROSS JOIN branch b;
INSERT INTO follower (source_id, reconciler_id)
SELECT b.id, (c.id - 1) * :reconcilers + b.id FROM branch b CROSS JOIN cluster c;
INSERT INTO observation (reconciler_id, observed, received, outcome_id)
SELECT r.id, :start + j.number * :step, :start + j.number * :step + 1000000, 1152921504606846976 + ((r.id - 1) % :reconcilers + 1) * 1000 + j.number
FROM reconciler r CROSS JOIN gitops_commit j WHERE j.branch_id = 1;
INSERT INTO reconciler_state (reconciler_id, source_id, outcome_id, since, confirmed, received)
SELECT r.id, (r.id - 1) % :reconcilers + 1, 1152921504606846976 + ((r.id - 1) % :reconcilers + 1) * 1000 + :facts,
       :start + :facts * :step, :start + :facts * :step, :start + :facts * :step FROM reconciler r;`

// revisionPrefix begins the hashes of the fleet's commits; six digits follow.
const revisionPrefix = "c0ffee0000000000000000000000000000"

// Revision returns the hash of a commit of the fleet, by its number from 1.
func Revision(number int) string { return revisionPrefix + strconv.Itoa(100000+number) }

// Bench fills a ledger and runs the benchmarks on it. LEDGER_CLUSTERS sets the size.
func Bench(b *testing.B, store *relational.Store) {
	b.Helper()
	clusters := Fill(b, store)
	for _, bench := range []struct {
		name string
		run  func(b *testing.B, l ledger.Ledger, clusters int)
	}{
		{"page of 1000 states", benchPage},
		{"states of the platform branch", benchPlatform},
		{"states of a cluster", benchCluster},
		{"members", benchMembers},
		{"discrepancies", benchDiscrepancies},
		{"versions of an environment", benchVersions},
		{"page of 1000 states as of", benchPageAsOf},
		{"platform branch as of", benchPlatformAsOf},
		{"versions of a workload as of", benchVersionsAsOf},
		{"versions of an environment as of", benchEnvironmentAsOf},
		{"history of a cluster", benchTransitions},
		{"history of the platform branch", benchStateHistory},
		{"deployments", benchDeployments},
		{"ingestion of news", benchNews},
		{"ingestion of repetitions", benchRepetitions},
		{"ingestion of duplicates", benchDuplicates},
		{"heartbeats", benchHeartbeats},
	} {
		b.Run(fmt.Sprintf("%s/clusters=%d", bench.name, clusters), func(b *testing.B) { bench.run(b, store, clusters) })
	}
}

// Fill fills a ledger with the benchmarks' fleet: clusters c100001 and so on, all of type large in prod, which follow
// the platform branch, and a branch for each workload w2 to w50. It returns the number of clusters.
func Fill(b testing.TB, store *relational.Store) (clusters int) {
	b.Helper()
	clusters = size(b)
	fillFleet(b, store, clusters, reconcilersEach(b), factsEach(b), time.Hour)
	return clusters
}

// FillTypes fills a ledger with clusters c100001 and so on, of the cluster types type-0, type-1 and so on in turn, each of which runs the
// workloads w2 and so on, and the platform.
func FillTypes(b testing.TB, store *relational.Store, clusters, types, workloads int) {
	b.Helper()
	fillFleet(b, store, clusters, workloads+1, 1, time.Hour)
	for _, statement := range []string{
		fmt.Sprintf("UPDATE membership SET cluster_type = 'type-' || ((registration_id - 1) %% %d)", types),
		"DELETE FROM assignment",
		fmt.Sprintf(`INSERT INTO assignment (branch_id, opened, closed, cluster_type, target, workload, workspace, environment)
WITH RECURSIVE k (k) AS (SELECT 0 UNION ALL SELECT k + 1 FROM k WHERE k < %d)
SELECT 1, 1, 9223372036854775807, 'type-' || k, 'w' || id || '-t', 'w' || id, 'team', '' FROM branch CROSS JOIN k WHERE id > 1`, types-1),
	} {
		if _, err := store.Write.ExecContext(b.Context(), statement); err != nil {
			b.Fatalf("%s: %v", statement, err)
		}
	}
}

func factsEach(b testing.TB) int { return number(b, factsVariable, defaultFacts) }

func reconcilersEach(b testing.TB) int { return number(b, reconcilersVariable, defaultReconcilers) }

func size(b testing.TB) int {
	b.Helper()
	return number(b, sizeVariable, defaultSize)
}

// number returns the number in an environment variable, which is optional.
func number(b testing.TB, variable string, otherwise int) int {
	b.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		b.Fatalf("%s=%q is not a positive number", variable, text)
	}
	return n
}

// fillFleet fills a ledger with facts about each reconciler, one after each step of time.
func fillFleet(b testing.TB, store *relational.Store, clusters, reconcilers, facts int, step time.Duration) {
	b.Helper()
	text := strings.NewReplacer(":revision", revisionPrefix, ":clusters", strconv.Itoa(clusters), ":reconcilers", strconv.Itoa(reconcilers),
		":facts", strconv.Itoa(facts), ":step", strconv.FormatInt(step.Microseconds(), 10), ":start", strconv.FormatInt(start.UnixMicro(), 10)).Replace(fleetSQL)
	began := time.Now()
	for statement := range strings.SplitSeq(text, ";\n") {
		if _, err := store.Write.ExecContext(b.Context(), statement); err != nil {
			b.Fatalf("%s: %v", statement, err)
		}
	}
	if store.Read == store.Write { // PostgreSQL analyzes tables on its own, but later; ledgers of SQLite have no statistics
		if _, err := store.Write.ExecContext(b.Context(), "ANALYZE"); err != nil {
			b.Fatal(err)
		}
	}
	b.Logf("filled with %d states and %d facts in %s", clusters*reconcilers, clusters*reconcilers*facts, time.Since(began).Round(time.Second))
}

// Year fills a ledger with a year in which ten reconcilers of each cluster get a new version each week. It measures questions about the
// past, how much a compaction deletes and how long it takes, and the questions after it. size returns the bytes of the database.
func Year(b *testing.B, store *relational.Store, bytes func() int64) {
	b.Helper()
	const reconcilers, weeks, week = 10, 52, 7 * 24 * time.Hour
	clusters := size(b)
	fillFleet(b, store, clusters, reconcilers, weeks, week)
	now := start.Add(weeks*week + 48*time.Hour)
	ask := func(b *testing.B, name string, asOf time.Time) {
		b.Helper()
		for _, q := range []struct {
			name string
			ask  func() error
		}{
			{"platform branch", func() error {
				_, err := store.States(b.Context(), ledger.StateQuery{Repository: "https://git.example.com/r1", Ref: "prod", AsOf: asOf})
				return err
			}},
			{"versions of the environment", func() error {
				_, err := store.Versions(b.Context(), ledger.VersionQuery{Environment: "prod", AsOf: asOf})
				return err
			}},
			{"history of a cluster", func() error {
				_, err := store.Transitions(b.Context(), ledger.TransitionQuery{Cluster: "c100001"})
				return err
			}},
			{"deployments of the year", func() error {
				_, err := store.Deployments(b.Context(), ledger.DeploymentQuery{Environment: "prod"})
				return err
			}},
		} {
			b.Run(fmt.Sprintf("%s/%s/clusters=%d", name, q.name, clusters), func(b *testing.B) {
				for b.Loop() {
					if err := q.ask(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
	compact := func(name string, retention time.Duration) {
		began := time.Now()
		removed, err := ledger.Retain(b.Context(), store, retention, now)
		if err != nil {
			b.Fatal(err)
		}
		took := time.Since(began) // once: nothing is left for a repetition
		b.Run(fmt.Sprintf("%s/clusters=%d", name, clusters), func(b *testing.B) {
			b.ReportMetric(took.Seconds(), "s")
			b.ReportMetric(float64(removed), "deleted")
			b.ReportMetric(float64(bytes())/1e6, "MB")
		})
	}
	ask(b, "half a year ago", start.Add(weeks/2*week))
	compact("compaction without a retention", 0)
	compact("compaction with a retention of 13 weeks", 13*week)
	ask(b, "four weeks ago, after compaction", now.Add(-4*week))
}

// lastTuesday is in the middle of the recorded time.
func lastTuesday(b *testing.B) time.Time {
	b.Helper()
	return start.Add(time.Duration(max(factsEach(b)/2, 1)) * time.Hour)
}

func benchStates(b *testing.B, l ledger.Ledger, q ledger.StateQuery, want int) {
	for b.Loop() {
		page, err := l.States(b.Context(), q)
		if err != nil || len(page.States) != want {
			b.Fatalf("got %d states, %v, want %d", len(page.States), err, want)
		}
	}
}

func benchPage(b *testing.B, l ledger.Ledger, _ int) {
	benchStates(b, l, ledger.StateQuery{Environment: "prod", Limit: 1000}, 1000)
}

func benchPlatform(b *testing.B, l ledger.Ledger, clusters int) {
	benchStates(b, l, ledger.StateQuery{Repository: "https://git.example.com/r1", Ref: "prod"}, clusters)
}

func benchPageAsOf(b *testing.B, l ledger.Ledger, _ int) {
	benchStates(b, l, ledger.StateQuery{Environment: "prod", Limit: 1000, AsOf: lastTuesday(b)}, 1000)
}

func benchPlatformAsOf(b *testing.B, l ledger.Ledger, clusters int) {
	benchStates(b, l, ledger.StateQuery{Repository: "https://git.example.com/r1", Ref: "prod", AsOf: lastTuesday(b)}, clusters)
}

func benchCluster(b *testing.B, l ledger.Ledger, _ int) {
	benchStates(b, l, ledger.StateQuery{Cluster: "c100007"}, reconcilersEach(b))
}

func benchMembers(b *testing.B, l ledger.Ledger, clusters int) {
	for b.Loop() {
		all, err := l.Clusters(b.Context(), ledger.ClusterQuery{Environment: "prod"})
		if err != nil || len(all) != clusters {
			b.Fatalf("got %d clusters, %v", len(all), err)
		}
	}
}

func benchDiscrepancies(b *testing.B, l ledger.Ledger, _ int) {
	for b.Loop() {
		if all, err := l.Discrepancies(b.Context(), "prod"); err != nil || len(all) != 0 {
			b.Fatalf("got %d discrepancies, %v", len(all), err)
		}
	}
}

func benchVersionsOf(b *testing.B, l ledger.Ledger, q ledger.VersionQuery, want int) {
	for b.Loop() {
		if all, err := l.Versions(b.Context(), q); err != nil || len(all) != want {
			b.Fatalf("got %d versions, %v", len(all), err)
		}
	}
}

func benchVersions(b *testing.B, l ledger.Ledger, _ int) {
	benchVersionsOf(b, l, ledger.VersionQuery{Environment: "prod"}, reconcilersEach(b)-1)
}

func benchVersionsAsOf(b *testing.B, l ledger.Ledger, _ int) {
	benchVersionsOf(b, l, ledger.VersionQuery{Workload: "w7", AsOf: lastTuesday(b)}, 1)
}

func benchEnvironmentAsOf(b *testing.B, l ledger.Ledger, _ int) {
	benchVersionsOf(b, l, ledger.VersionQuery{Environment: "prod", AsOf: lastTuesday(b)}, reconcilersEach(b)-1)
}

func benchTransitions(b *testing.B, l ledger.Ledger, _ int) {
	for b.Loop() {
		all, err := l.Transitions(b.Context(), ledger.TransitionQuery{Cluster: "c100007"})
		if err != nil || len(all) != reconcilersEach(b)*factsEach(b) {
			b.Fatalf("got %d transitions, %v", len(all), err)
		}
	}
}

func benchStateHistory(b *testing.B, l ledger.Ledger, clusters int) {
	q := ledger.StateHistoryQuery{Repository: "https://git.example.com/r1", Ref: "prod", From: lastTuesday(b)}
	for b.Loop() {
		if all, err := l.StateHistory(b.Context(), q); err != nil || len(all) < clusters {
			b.Fatalf("got %d transitions, %v", len(all), err)
		}
	}
}

func benchDeployments(b *testing.B, l ledger.Ledger, _ int) {
	for b.Loop() {
		all, err := l.Deployments(b.Context(), ledger.DeploymentQuery{Environment: "prod"})
		if err != nil || len(all) != (reconcilersEach(b)-1)*factsEach(b) {
			b.Fatalf("got %d deployments, %v", len(all), err)
		}
	}
}

// reportRound counts the rounds of reports, across benchmarks and their
// repetitions, so that each is later than all others.
var reportRound atomic.Int64

// clusterReports returns the reports of one cluster about all its reconcilers.
func clusterReports(cluster, reconcilers int, revision string, observed time.Time) []ledger.Report {
	reports := make([]ledger.Report, reconcilers)
	for k := range reports {
		reports[k] = ledger.Report{
			Reconciler: ledger.ReconcilerID{Cluster: fmt.Sprintf("c%d", 100001+cluster), Kind: "Kustomization", Namespace: "flux-system", Name: fmt.Sprintf("r%d", k+1)},
			Outcome: ledger.Outcome{
				Source:   ledger.Source{Repository: fmt.Sprintf("https://git.example.com/r%d", k+1), Ref: "prod", Path: []string{"large", "p"}[min(k, 1)]},
				Revision: revision, State: ledger.StateReady, Message: "Applied revision: prod@sha1:" + revision,
			},
			Observed: observed, Received: observed.Add(time.Second),
		}
	}
	return reports
}

// stride is how far apart clusters are that report after each other. It is a prime number, so that each cluster reports once in a round.
const stride = 7919

// ingest lets clusters report concurrently, each about all its reconcilers.
func ingest(b *testing.B, l ledger.Ledger, clusters int, revision func(round int64) string, observed func(round int64) time.Time) {
	reconcilers := reconcilersEach(b)
	began := time.Now()
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			n := reportRound.Add(1)
			round := n / int64(clusters)
			// Clusters report in no order: few of a transaction are neighbours in the database.
			cluster := int(n * stride % int64(clusters))
			if err := l.Report(context.Background(), clusterReports(cluster, reconcilers, revision(round), observed(round))...); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N*reconcilers)/time.Since(began).Seconds(), "reports/s")
}

// benchHeartbeats lets clusters send heartbeats concurrently, a minute after each other.
func benchHeartbeats(b *testing.B, l ledger.Ledger, clusters int) {
	b.SetParallelism(32)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			n := reportRound.Add(1)
			at := benchFrom.AddDate(2, 0, 0).Add(time.Duration(n/int64(clusters)) * time.Minute)
			if err := l.Heard(context.Background(), fmt.Sprintf("c%d", 100001+n*stride%int64(clusters)), at); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// benchFrom is later than all recorded facts.
var benchFrom = start.Add(1000 * time.Hour)

func benchNews(b *testing.B, l ledger.Ledger, clusters int) {
	ingest(b, l, clusters, func(round int64) string { return fmt.Sprintf("n%d", round) },
		func(round int64) time.Time { return benchFrom.Add(time.Duration(round) * time.Minute) })
}

func benchRepetitions(b *testing.B, l ledger.Ledger, clusters int) {
	ingest(b, l, clusters, func(int64) string { return "same" },
		func(round int64) time.Time { return benchFrom.Add(time.Duration(round) * time.Minute) })
}

func benchDuplicates(b *testing.B, l ledger.Ledger, clusters int) {
	ingest(b, l, clusters, func(int64) string { return "last" }, func(int64) time.Time { return benchFrom.AddDate(1, 0, 0) })
}
