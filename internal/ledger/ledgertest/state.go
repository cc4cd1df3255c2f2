package ledgertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// record records a commit of the platform branch prod.
func record(t *testing.T, l ledger.Ledger, commit int, assignments ...ledger.Assignment) {
	t.Helper()
	must(t, l.RecordCommit(t.Context(), ledger.Commit{
		Repository: platform, Branch: "prod", SHA: sha(commit), Kind: ledger.BranchPlatform, Environment: "prod",
		SourceCommit: sha(commit + 1000), Committed: at(commit), Recorded: at(commit + 1), Assignments: assignments,
	}))
}

// shopVersion returns a version of the shop, built some minutes after the start.
func shopVersion(version string, built int) ledger.Version {
	return ledger.Version{
		Workload: "shop", Workspace: "sales", Target: "east", Environment: "prod", Path: "./east/",
		Version: version, Build: "b" + version, Commit: sha(900), Built: at(built),
	}
}

// recordShop records a commit of the shop's branch prod.
func recordShop(t *testing.T, l ledger.Ledger, commit int, versions ...ledger.Version) {
	t.Helper()
	must(t, l.RecordCommit(t.Context(), ledger.Commit{
		Repository: shop, Branch: "prod", SHA: sha(commit), Kind: ledger.BranchApplication, Environment: "prod",
		Committed: at(commit), Recorded: at(commit + 1), Versions: versions,
	}))
}

func unknownIsCorrelatedLater(t *testing.T, l ledger.Ledger) {
	take(t, l, shopReport("large-01", 3, 2, ledger.StateReady))
	equal(t, "environment", states(t, l, ledger.StateQuery{})[0].Environment, "")
	clusters, err := l.Clusters(t.Context(), ledger.ClusterQuery{})
	must(t, err)
	equal(t, "clusters", clusters, []ledger.Cluster{{Name: "large-01", LastHeard: at(4)}})

	recordShop(t, l, 2, shopVersion("1.0", 0))
	must(t, l.Register(t.Context(), ledger.Registration{Cluster: "large-01", At: at(9)}))
	equal(t, "environment", states(t, l, ledger.StateQuery{Environment: "prod"})[0].Environment, "prod")
	clusters, err = l.Clusters(t.Context(), ledger.ClusterQuery{})
	must(t, err)
	equal(t, "registered", clusters[0].Registered, true)
	all, err := l.Versions(t.Context(), ledger.VersionQuery{Environment: "prod"})
	must(t, err)
	equal(t, "versions", len(all), 1)
}

func pages(t *testing.T, l ledger.Ledger) {
	record(t, l, 1)
	recordShop(t, l, 1)
	for i := range 7 {
		name := fmt.Sprintf("large-%02d", i)
		take(t, l, report(name, 1, 1, ledger.StateReady), shopReport(name, 1, 1, ledger.StateReady))
	}
	for _, asOf := range []time.Time{{}, at(2)} {
		seen := map[ledger.ReconcilerID]bool{}
		q := ledger.StateQuery{Environment: "prod", Limit: 4, AsOf: asOf}
		for {
			page, err := l.States(t.Context(), q)
			must(t, err)
			for _, s := range page.States {
				if seen[s.Reconciler] {
					t.Errorf("%s is on two pages", s.Reconciler)
				}
				seen[s.Reconciler] = true
			}
			if page.Next == "" {
				break
			}
			equal(t, "full page", len(page.States), 4)
			q.After = page.Next
		}
		equal(t, "seen", len(seen), 14)
	}
	if _, err := l.States(t.Context(), ledger.StateQuery{After: "x"}); err == nil {
		t.Error("a cursor that is none: got no error")
	}
}

// allStates: a ledger may read all states of sources in another way than pages of them.
func allStates(t *testing.T, l ledger.Ledger) {
	record(t, l, 1)
	queries := []ledger.StateQuery{
		{},
		{Environment: "prod"},
		{Repository: platform},
		{Repository: platform, Ref: "prod"},
		{Repository: shop, Ref: "prod"},
		{Source: ledger.Source{Repository: platform, Ref: "prod", Path: "large"}},
	}
	compare := func(tb rapid.TB, q ledger.StateQuery, limit int) {
		all, err := l.States(t.Context(), q)
		if err != nil || all.Next != "" {
			tb.Fatalf("%+v: next %q, %v", q, all.Next, err)
		}
		var paged []ledger.ReconcilerState
		for q.Limit = limit; ; {
			page, err := l.States(t.Context(), q)
			if err != nil {
				tb.Fatal(err)
			}
			paged = append(paged, page.States...)
			if q.After = page.Next; q.After == "" {
				break
			}
		}
		if diff := cmp.Diff(paged, all.States, cmpopts.EquateEmpty()); diff != "" {
			tb.Fatalf("%+v (-pages +all):\n%s", q, diff)
		}
	}
	rapid.Check(t, func(r *rapid.T) {
		reports := make([]ledger.Report, rapid.IntRange(1, 20).Draw(r, "reports"))
		for i := range reports {
			cluster := fmt.Sprintf("large-%02d", rapid.IntRange(1, 9).Draw(r, "cluster"))
			one := report(cluster, rapid.IntRange(1, 30).Draw(r, "minute"), rapid.IntRange(1, 3).Draw(r, "commit"),
				rapid.SampledFrom([]ledger.State{ledger.StateReady, ledger.StateProgressing, ledger.StateSuspended, ledger.StateFailed}).Draw(r, "state"))
			one.Reconciler.Name = rapid.SampledFrom([]string{"platform", "shop", "other"}).Draw(r, "name")
			one.Source = ledger.Source{
				Repository: rapid.SampledFrom([]string{platform, shop}).Draw(r, "repository"), Ref: rapid.SampledFrom([]string{"prod", "dev"}).Draw(r, "ref"),
				Path: rapid.SampledFrom([]string{"", "large"}).Draw(r, "path"),
			}
			if rapid.Bool().Draw(r, "degraded") {
				one.Applied, one.Health, one.Unhealthy = sha(1), hub.HealthDegraded, []hub.ObjectHealth{{Kind: "Deployment", Name: "web", Health: hub.HealthDegraded}}
			}
			reports[i] = one
		}
		if err := l.Report(t.Context(), reports...); err != nil {
			r.Fatal(err)
		}
		compare(r, rapid.SampledFrom(queries).Draw(r, "query"), 7)
	})
	// More outcomes than a statement has arguments.
	var reports []ledger.Report
	for n := range 1200 {
		reports = append(reports, report(fmt.Sprintf("small-%04d", n), 40, n, ledger.StateReady))
	}
	take(t, l, reports...)
	for _, q := range queries {
		compare(t, q, 500)
	}
}

func filters(t *testing.T, l ledger.Ledger) {
	record(t, l, 1)
	recordShop(t, l, 1, shopVersion("1.0", 0))
	take(t, l, report("large-01", 1, 1, ledger.StateReady), shopReport("large-01", 1, 1, ledger.StateFailed),
		report("large-02", 1, 1, ledger.StateFailed), shopReport("large-02", 1, 1, ledger.StateReady))
	for _, tc := range []struct {
		q    ledger.StateQuery
		want int
	}{
		{ledger.StateQuery{}, 4},
		{ledger.StateQuery{Cluster: "large-01"}, 2},
		{ledger.StateQuery{Workload: "shop"}, 2},
		{ledger.StateQuery{Workload: "shop", State: ledger.StateFailed}, 1},
		{ledger.StateQuery{Repository: platform, Ref: "prod"}, 2},
		{ledger.StateQuery{Repository: platform, Ref: "dev"}, 0},
		{ledger.StateQuery{Source: ledger.Source{Repository: shop + "/", Ref: "prod", Path: "./east"}}, 2},
		{ledger.StateQuery{Source: ledger.Source{Repository: shop, Ref: "prod", Path: "east"}, State: ledger.StateFailed}, 1},
		{ledger.StateQuery{Source: ledger.Source{Repository: shop, Ref: "prod"}}, 0},
		{ledger.StateQuery{Environment: "dev"}, 0},
		{ledger.StateQuery{Cluster: "large-02", Workload: "shop"}, 1},
	} {
		for _, tc.q.AsOf = range []time.Time{{}, at(5)} {
			equal(t, fmt.Sprintf("%+v", tc.q), len(states(t, l, tc.q)), tc.want)
		}
	}
}

func asOf(t *testing.T, l ledger.Ledger) {
	record(t, l, 1)
	takeEach(t, l, report("large-01", 10, 1, ledger.StateReady), report("large-01", 20, 2, ledger.StateFailed), report("large-01", 30, 3, ledger.StateReady))
	moved := report("large-01", 40, 3, ledger.StateReady)
	moved.Source.Ref = "stage"
	take(t, l, moved)
	for minute, want := range map[int]string{9: "", 10: sha(1), 19: sha(1), 20: sha(2), 39: sha(3), 40: "", 99: ""} {
		got := ""
		for _, s := range states(t, l, ledger.StateQuery{Environment: "prod", AsOf: at(minute)}) {
			got = s.Revision
		}
		equal(t, fmt.Sprintf("revision at %d", minute), got, want)
	}
	s := states(t, l, ledger.StateQuery{Cluster: "large-01", AsOf: at(25)})[0]
	equal(t, "since", minute(s.Since), 20)
}

func transitions(t *testing.T, l ledger.Ledger) {
	recordShop(t, l, 1, shopVersion("1.0", 0))
	take(t, l, report("large-01", 1, 1, ledger.StateReady), report("large-01", 5, 2, ledger.StateReady), shopReport("large-01", 3, 1, ledger.StateReady))
	equal(t, "story", story(t, l, "large-01"), []string{"platform ready 5", "shop ready 3", "platform ready 1-5"})
	for _, tc := range []struct {
		q    ledger.TransitionQuery
		want int
	}{
		{ledger.TransitionQuery{Workload: "shop"}, 1},
		{ledger.TransitionQuery{Cluster: "large-01", From: at(3)}, 2},
		{ledger.TransitionQuery{Cluster: "large-01", From: at(1), To: at(3)}, 1},
		{ledger.TransitionQuery{Cluster: "large-01", Limit: 2}, 2},
	} {
		all, err := l.Transitions(t.Context(), tc.q)
		must(t, err)
		equal(t, fmt.Sprintf("%+v", tc.q), len(all), tc.want)
	}
	if _, err := l.Transitions(t.Context(), ledger.TransitionQuery{}); err == nil {
		t.Error("of nothing: got no error")
	}
}

func versions(t *testing.T, l ledger.Ledger) {
	v1, v2 := shopVersion("1.0", 0), shopVersion("2.0", 5)
	recordShop(t, l, 1, v1)
	recordShop(t, l, 2, v2)
	takeEach(t, l, shopReport("large-01", 10, 1, ledger.StateReady), shopReport("large-02", 11, 1, ledger.StateReady),
		shopReport("large-02", 20, 2, ledger.StateReady), shopReport("large-03", 20, 2, ledger.StateFailed))
	for _, tc := range []struct {
		asOf time.Time
		want []string
	}{
		{time.Time{}, []string{"1.0 ready 1", "2.0 ready 1", "2.0 failed 1"}},
		{at(15), []string{"1.0 ready 2"}},
		{at(5), nil},
	} {
		all, err := l.Versions(t.Context(), ledger.VersionQuery{Environment: "prod", Workload: "shop", Workspace: "sales", AsOf: tc.asOf})
		must(t, err)
		var got []string
		for _, v := range all {
			got = append(got, fmt.Sprintf("%s %s %d", v.Version.Version, v.State, v.Reconcilers))
		}
		equal(t, "versions as of "+tc.asOf.String(), got, tc.want)
		whole, err := l.Versions(t.Context(), ledger.VersionQuery{Environment: "prod", AsOf: tc.asOf})
		must(t, err)
		equal(t, "versions of the environment as of "+tc.asOf.String(), whole, all)
	}
	all, err := l.Versions(t.Context(), ledger.VersionQuery{Environment: "dev"})
	must(t, err)
	equal(t, "versions in dev", len(all), 0)
}

func discrepancies(t *testing.T, l ledger.Ledger) {
	record(t, l, 1)
	record(t, l, 2)
	for _, name := range []string{"behind", "failed", "fine", "missing", "unready", "revoked", "elsewhere"} {
		environment := "prod"
		if name == "elsewhere" {
			environment = "dev"
		}
		must(t, l.Register(t.Context(), ledger.Registration{
			Cluster: name, Memberships: []ledger.Membership{{Environment: environment, ClusterType: "large"}}, At: at(0), Revoked: name == "revoked",
		}))
	}
	take(t, l, report("behind", 5, 1, ledger.StateReady), report("failed", 5, 2, ledger.StateFailed), report("fine", 5, 2, ledger.StateReady),
		report("unready", 5, 2, ledger.StateProgressing), report("revoked", 5, 1, ledger.StateReady), shopReport("missing", 5, 1, ledger.StateReady))
	all, err := l.Discrepancies(t.Context(), "prod")
	must(t, err)
	var got []string
	for _, d := range all {
		got = append(got, fmt.Sprintf("%s is %s", d.Cluster, d.Kind))
		equal(t, "expected", d.Expected, sha(2))
		equal(t, "cluster type", d.ClusterType, "large")
	}
	equal(t, "discrepancies", got, []string{"behind is behind", "failed is failed", "missing is missing", "unready is unready"})
	equal(t, "since", minute(all[0].Since), 5)
	equal(t, "revision", all[0].Outcome.Revision, sha(1))
}

// rings is the rule that a cluster follows the branch of its ring instead of that of its environment.
func rings(t *testing.T, l ledger.Ledger) {
	record(t, l, 1)
	record(t, l, 2)
	derived := func(ring string, commit, origin, recorded int) {
		must(t, l.RecordCommit(t.Context(), ledger.Commit{
			Repository: platform, Branch: "prod-ring-" + ring, SHA: sha(commit), Kind: ledger.BranchRing, Environment: "prod",
			SourceCommit: sha(origin + 1000), Origin: sha(origin), Committed: at(origin), Recorded: at(recorded),
		}))
	}
	derived("canary", 31, 1, 3)
	derived("canary", 32, 2, 4)
	derived("others", 41, 1, 3)
	for _, name := range []string{"canary-behind", "canary-fine", "others-fine", "missing"} {
		must(t, l.Register(t.Context(), ledger.Registration{Cluster: name, Memberships: member("prod"), At: at(0)}))
	}
	follow := func(cluster, ring string, commit int) {
		r := report(cluster, 5, commit, ledger.StateReady)
		r.Source.Ref = "prod-ring-" + ring
		take(t, l, r)
	}
	follow("canary-behind", "canary", 31)
	follow("canary-fine", "canary", 32)
	follow("others-fine", "others", 41)
	all, err := l.Discrepancies(t.Context(), "prod")
	must(t, err)
	var got []string
	for _, d := range all {
		got = append(got, fmt.Sprintf("%s is %s, expected %s", d.Cluster, d.Kind, d.Expected[36:]))
	}
	equal(t, "discrepancies", got, []string{"canary-behind is behind, expected " + sha(32)[36:], "missing is missing, expected " + sha(2)[36:]})
	for _, s := range states(t, l, ledger.StateQuery{Cluster: "others-fine"}) {
		equal(t, "environment of "+s.Source.Ref, s.Environment, "prod")
	}

	commits, err := l.Commits(t.Context(), ledger.CommitQuery{Environment: "prod", Kind: ledger.BranchRing, Heads: true})
	must(t, err)
	equal(t, "heads of rings", len(commits), 2)
	equal(t, "origin", commits[0].Origin, sha(2))
	commits, err = l.Commits(t.Context(), ledger.CommitQuery{Environment: "prod", WithoutKind: ledger.BranchRing})
	must(t, err)
	equal(t, "other commits", len(commits), 2)
	wanted, err := l.Wanted(t.Context(), ledger.WantedQuery{Environment: "prod"})
	must(t, err)
	equal(t, "heads", len(wanted.Heads), 1)

	for what, c := range map[string]ledger.Commit{
		"a ring without an origin":    {Kind: ledger.BranchRing},
		"a branch with an origin":     {Kind: ledger.BranchPlatform, Origin: sha(1)},
		"a ring with its own content": {Kind: ledger.BranchRing, Origin: sha(1), Assignments: []ledger.Assignment{{ClusterType: "large", Target: "east"}}},
	} {
		c.Repository, c.Branch, c.SHA = platform, "prod-ring-late", sha(1)
		if err := l.RecordCommit(t.Context(), c); !errors.Is(err, ledger.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func deployments(t *testing.T, l ledger.Ledger) {
	v1, v2, v3 := shopVersion("1.0", 0), shopVersion("2.0", 15), shopVersion("3.0", 30)
	recordShop(t, l, 1, v1)
	recordShop(t, l, 2, v2)
	recordShop(t, l, 3, v3)
	takeEach(t, l, shopReport("large-01", 12, 1, ledger.StateReady), shopReport("large-02", 10, 1, ledger.StateReady),
		shopReport("large-01", 20, 2, ledger.StateFailed), shopReport("large-01", 22, 2, ledger.StateFailed),
		shopReport("large-02", 21, 2, ledger.StateReady), shopReport("large-01", 26, 1, ledger.StateReady),
		// One outage of two clusters, of which one fails twice.
		shopReport("large-02", 24, 2, ledger.StateFailed), shopReport("large-02", 25, 2, ledger.StateProgressing),
		shopReport("large-02", 27, 2, ledger.StateFailed), shopReport("large-02", 30, 1, ledger.StateReady),
		shopReport("large-01", 40, 3, ledger.StateFailed))
	promoteToProd(t, l)
	q := ledger.DeploymentQuery{Environment: "prod", Workload: "shop"}
	all, err := l.Deployments(t.Context(), q)
	must(t, err)
	var got []string
	for _, d := range all {
		line := d.Version.Version
		if !d.Deployed.IsZero() {
			line += fmt.Sprintf(" deployed %d", minute(d.Deployed))
		}
		if !d.Failed.IsZero() {
			line += fmt.Sprintf(" failed %d", minute(d.Failed))
		}
		got = append(got, line)
	}
	equal(t, "deployments", got, []string{"3.0 failed 40", "2.0 deployed 21 failed 20", "1.0 deployed 10"})

	incidents, err := l.Incidents(t.Context(), q)
	must(t, err)
	got = nil
	for _, i := range incidents {
		got = append(got, outage(i))
	}
	equal(t, "incidents", got, []string{"shop: 1 from 40", "shop: 3 from 20 to 30"})

	equal(t, "performance", ledger.Perform(all, incidents, 24*time.Hour), ledger.Performance{
		Deployments: 2, PerDay: 2, LeadTime: 6 * time.Minute, ChangeFailureRate: 2.0 / 3, TimeToRestore: 10 * time.Minute, OpenIncidents: 1,
	})

	all, err = l.Deployments(t.Context(), ledger.DeploymentQuery{From: at(20), To: at(30)})
	must(t, err)
	equal(t, "deployments of a time", len(all), 1)
	incidents, err = l.Incidents(t.Context(), ledger.DeploymentQuery{From: at(22), To: at(40)})
	must(t, err)
	equal(t, "incidents that began in a time", len(incidents), 0)

	q = ledger.DeploymentQuery{Environment: "prod", From: at(100)}
	all, err = l.Deployments(t.Context(), q)
	must(t, err)
	incidents, err = l.Incidents(t.Context(), q)
	must(t, err)
	got = nil
	for _, d := range all {
		text := d.ControlPlane + " " + d.Commit[:4]
		if !d.Deployed.IsZero() {
			text += fmt.Sprintf(" deployed %d", minute(d.Deployed))
		}
		if !d.Failed.IsZero() {
			text += fmt.Sprintf(" failed %d", minute(d.Failed))
		}
		got = append(got, text)
	}
	for _, i := range incidents {
		got = append(got, outage(i))
	}
	equal(t, "platform", got, []string{
		controlPlane + " " + sha(6)[:4] + " failed 130", controlPlane + " " + sha(5)[:4] + " deployed 126 failed 128",
		controlPlane + " " + sha(2)[:4] + " deployed 120", controlPlane + " " + sha(1)[:4] + " deployed 110 failed 112", controlPlane + ": 2 from 112 to 120",
	})
	equal(t, "performance of the platform", ledger.Perform(all, incidents, 24*time.Hour), ledger.Performance{
		Deployments: 3, PerDay: 3, LeadTime: 5 * time.Minute, ChangeFailureRate: 3.0 / 4, TimeToRestore: 8 * time.Minute,
	})
}

const controlPlane = "https://git.example.com/platform/control-plane"

// promoteToProd records promotions of commits of a control plane: the first fails twice after it was deployed, and the second
// repairs that. Users take back the third, abort the fourth while it is rolled out, and the fifth before it is. The promotion of an application is not one of the platform, and the rings of an environment are not environments.
func promoteToProd(t *testing.T, l ledger.Ledger) {
	t.Helper()
	for _, s := range []struct {
		subject, commit, environment, kind string
		at                                 int
	}{
		{controlPlane, sha(1), "dev", "started", 100},
		{controlPlane, sha(1), "prod", "started", 108},
		{controlPlane, sha(1), "prod", "deployed", 110},
		{controlPlane, sha(1), "prod", "failed", 112},
		{controlPlane, sha(1), "prod", "failed", 114},
		{controlPlane, sha(2), "prod", "started", 115},
		{controlPlane, sha(2), "prod", "deployed", 120},
		{controlPlane, sha(5), "prod", "started", 125},
		{controlPlane, sha(5), "prod", "deployed", 126},
		{controlPlane, sha(5), "prod", "rolledBack", 128},
		{controlPlane, sha(6), "prod", "published", 129},
		{controlPlane, sha(6), "prod", "aborted", 130},
		{controlPlane, sha(7), "prod", "aborted", 131},
		{controlPlane, sha(3), "prod/canary", "deployed", 121},
		{controlPlane, sha(4), "prod/canary", "failed", 122},
		{shop + "#shop", sha(1), "prod", "started", 116},
		{shop + "#shop", sha(1), "prod", "deployed", 118},
	} {
		must(t, l.RecordStep(t.Context(), ledger.Step{
			PromotionID: ledger.PromotionID{Subject: s.subject, Commit: s.commit, Environment: s.environment}, Kind: s.kind, At: at(s.at),
		}))
	}
}

func outage(i ledger.Incident) string {
	text := fmt.Sprintf("%s: %d from %d", i.ControlPlane+i.Workload, i.Failures, minute(i.Failed))
	if !i.Restored.IsZero() {
		text += fmt.Sprintf(" to %d", minute(i.Restored))
	}
	return text
}

// readTogether: of the first and the last reconciler of the ledger, which are of one cluster, each report has one that is ready.
func readTogether(t *testing.T, l ledger.Ledger) {
	flip := func(minute int) []ledger.Report {
		first, last := report("large-01", minute, 1, ledger.StateReady), report("large-01", minute, 1, ledger.StateFailed)
		last.Reconciler.Name = "last"
		if minute%2 == 0 {
			first.State, last.State = last.State, first.State
		}
		return []ledger.Report{first, last}
	}
	take(t, l, flip(1)[0])
	var others []ledger.Report
	for i := range 2000 {
		other := report("large-02", 1, 1, ledger.StateReady)
		other.Reconciler.Name = fmt.Sprintf("other-%d", i)
		others = append(others, other)
	}
	take(t, l, others...)
	take(t, l, flip(1)...)
	ctx, stop := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	defer wait.Wait()
	defer stop()
	wait.Go(func() {
		for minute := 2; ctx.Err() == nil; minute++ {
			if err := l.Report(ctx, flip(minute)...); err != nil && ctx.Err() == nil {
				t.Error(err)
				return
			}
		}
	})
	for range 50 {
		ready := 0
		for _, s := range states(t, l, ledger.StateQuery{Repository: platform, Ref: "prod"}) {
			if s.Reconciler.Cluster == "large-01" && s.State == ledger.StateReady {
				ready++
			}
		}
		if ready != 1 {
			t.Fatalf("%d reconcilers are ready, want 1, as in each report", ready)
		}
	}
}
