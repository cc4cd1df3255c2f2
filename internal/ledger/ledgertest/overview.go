package ledgertest

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

func names(t *testing.T, l ledger.Ledger) {
	record(t, l, 1, ledger.Assignment{ClusterType: "large", Target: "api-west", Workload: "api"})
	recordShop(t, l, 1, shopVersion("1.0", 0))
	take(t, l, report("large-02", 1, 1, ledger.StateReady))
	join(t, l, "large-01", "dev", "large")
	must(t, l.RecordStep(t.Context(), ledger.Step{PromotionID: ledger.PromotionID{Subject: "c", Commit: "1", Environment: "stage"}, Kind: "started", At: at(0)}))
	must(t, l.RecordStep(t.Context(), ledger.Step{PromotionID: ledger.PromotionID{Subject: "c", Commit: "1", Environment: "stage/canary"}, Kind: "started", At: at(0)}))
	for kind, want := range map[ledger.NameKind][]string{
		ledger.NameEnvironment: {"dev", "prod", "stage"},
		ledger.NameWorkload:    {"api", "shop"},
		ledger.NameCluster:     {"large-01", "large-02"},
	} {
		got, err := l.Names(t.Context(), kind)
		must(t, err)
		equal(t, string(kind), got, want)
	}
	if _, err := l.Names(t.Context(), "colour"); err == nil {
		t.Error("names of colours: got no error")
	}
}

// join registers a cluster with one membership.
func join(t *testing.T, l ledger.Ledger, cluster, environment, clusterType string) {
	t.Helper()
	must(t, l.Register(t.Context(), ledger.Registration{
		Cluster: cluster, Memberships: []ledger.Membership{{Environment: environment, ClusterType: clusterType}}, At: at(0),
	}))
}

func wanted(t *testing.T, l ledger.Ledger) {
	east := ledger.Assignment{ClusterType: "large", Target: "shop-east", Workload: "shop", Workspace: "sales"}
	west := ledger.Assignment{ClusterType: "large", Target: "shop-west", Workload: "shop", Workspace: "sales"}
	record(t, l, 1, east)
	record(t, l, 3, east, west)
	recordShop(t, l, 1, shopVersion("1.0", 0))
	recordShop(t, l, 5, shopVersion("2.0", 1))
	for _, tc := range []struct {
		q    ledger.WantedQuery
		want string
	}{
		{ledger.WantedQuery{Environment: "prod"}, "[3 5] [shop-east shop-west] [2.0]"},
		{ledger.WantedQuery{Workload: "shop", Workspace: "sales"}, "[3 5] [shop-east shop-west] [2.0]"},
		{ledger.WantedQuery{Workspace: "art"}, "[3 5] [] []"},
		{ledger.WantedQuery{Environment: "dev"}, "[] [] []"},
		{ledger.WantedQuery{Environment: "prod", AsOf: at(5)}, "[3 1] [shop-east shop-west] [1.0]"},
		{ledger.WantedQuery{Environment: "prod", AsOf: at(2)}, "[1 1] [shop-east] [1.0]"},
		{ledger.WantedQuery{Environment: "prod", AsOf: at(1)}, "[] [] []"},
	} {
		w, err := l.Wanted(t.Context(), tc.q)
		must(t, err)
		heads, targets, versions := []int{}, []string{}, []string{}
		for _, h := range w.Heads {
			heads = append(heads, minute(h.Committed))
		}
		for _, a := range w.Assignments {
			targets = append(targets, a.Target)
			equal(t, "branch", a.Environment+a.Repository+a.Branch, "prod"+platform+"prod")
		}
		for _, v := range w.Versions {
			versions = append(versions, v.Version.Version)
			equal(t, "branch", v.Environment+v.Repository+v.Branch, "prod"+shop+"prod")
		}
		equal(t, fmt.Sprintf("%+v", tc.q), fmt.Sprintln(heads, targets, versions), tc.want+"\n")
	}
}

func appearances(t *testing.T, l ledger.Ledger) {
	record(t, l, 1)
	recordShop(t, l, 1, shopVersion("1.0", 0))
	takeEach(t, l, report("large-01", 3, 1, ledger.StateReady), shopReport("large-01", 4, 1, ledger.StateFailed), shopReport("large-02", 5, 1, ledger.StateFailed),
		shopReport("large-01", 6, 1, ledger.StateReady), shopReport("large-02", 7, 1, ledger.StateReady))
	for _, tc := range []struct {
		q    ledger.AppearanceQuery
		want []string
	}{
		{ledger.AppearanceQuery{Environment: "prod"}, []string{"6 east ready 2 shop 1.0", "4 east failed 0 shop 1.0", "3 large ready 1  "}},
		{ledger.AppearanceQuery{Workload: "shop", Running: true}, []string{"6 east ready 2 shop 1.0"}},
		{ledger.AppearanceQuery{Environment: "prod", Kind: ledger.BranchApplication}, []string{"6 east ready 2 shop 1.0", "4 east failed 0 shop 1.0"}},
		{ledger.AppearanceQuery{Environment: "prod", Kind: ledger.BranchPlatform}, []string{"3 large ready 1  "}},
		{ledger.AppearanceQuery{From: at(4), To: at(6)}, []string{"4 east failed 0 shop 1.0"}},
		{ledger.AppearanceQuery{Source: ledger.Source{Repository: platform, Ref: "prod", Path: "./large"}}, []string{"3 large ready 1  "}},
		{ledger.AppearanceQuery{Limit: 1}, []string{"6 east ready 2 shop 1.0"}},
		{ledger.AppearanceQuery{Environment: "dev"}, nil},
	} {
		all, err := l.Appearances(t.Context(), tc.q)
		must(t, err)
		var got []string
		for _, a := range all {
			got = append(got, fmt.Sprintf("%d %s %s %d %s %s", minute(a.At), a.Source.Path, a.State, a.Reconcilers, a.Workload, a.Version))
		}
		equal(t, fmt.Sprintf("%+v", tc.q), got, tc.want)
	}
}

func members(t *testing.T, l ledger.Ledger) {
	record(t, l, 1)
	join(t, l, "large-01", "prod", "large")
	join(t, l, "large-02", "prod", "large")
	join(t, l, "small-01", "prod", "small")
	join(t, l, "small-02", "dev", "small")
	must(t, l.Register(t.Context(), ledger.Registration{Cluster: "small-03", Revoked: true, At: at(0)}))
	take(t, l, report("large-01", 1, 1, ledger.StateReady), report("large-02", 1, 1, ledger.StateFailed), report("small-01", 1, 1, ledger.StateReady),
		report("small-02", 1, 1, ledger.StateReady), report("small-03", 1, 1, ledger.StateReady))
	got, err := l.Members(t.Context(), ledger.MembersQuery{Environment: "prod"})
	must(t, err)
	equal(t, "members", got, []ledger.MemberCount{{ClusterType: "large", Count: 2}, {ClusterType: "small", Count: 1}})
	must(t, l.Register(t.Context(), ledger.Registration{Cluster: "large-02", Revoked: true, At: at(5)}))
	for range 2 { // the second answer may be the first one again
		got, err = l.Members(t.Context(), ledger.MembersQuery{Environment: "prod"})
		must(t, err)
		equal(t, "members after a revocation", got, []ledger.MemberCount{{ClusterType: "large", Count: 1}, {ClusterType: "small", Count: 1}})
	}
	got, err = l.Members(t.Context(), ledger.MembersQuery{Environment: "dev"})
	must(t, err)
	equal(t, "members of another environment", got, []ledger.MemberCount{{ClusterType: "small", Count: 1}})
	for asOf, want := range map[int]int{-1: 0, 4: 2, 5: 1} {
		got, err = l.Members(t.Context(), ledger.MembersQuery{Environment: "prod", AsOf: at(asOf)})
		must(t, err)
		large := 0
		for _, m := range got {
			if m.ClusterType == "large" {
				large = m.Count
			}
		}
		equal(t, fmt.Sprintf("large members as of %d", asOf), large, want)
	}
	must(t, l.Register(t.Context(), ledger.Registration{Cluster: "large-02", Memberships: member("prod"), At: at(6)}))
	got, err = l.Members(t.Context(), ledger.MembersQuery{Environment: "prod", Source: ledger.Source{Repository: platform, Ref: "prod", Path: "./large/"}})
	must(t, err)
	equal(t, "states", got, []ledger.MemberCount{
		{ClusterType: "large", State: ledger.StateReady, Count: 1},
		{ClusterType: "large", State: ledger.StateFailed, Count: 1},
		{ClusterType: "small", State: ledger.StateReady, Count: 1},
	})
	got, err = l.Members(t.Context(), ledger.MembersQuery{Environment: "prod", Source: ledger.Source{Repository: platform, Ref: "prod", Path: "large"}, Unready: true})
	must(t, err)
	equal(t, "unready", got, []ledger.MemberCount{{ClusterType: "large", State: ledger.StateFailed, Count: 1}})
	join(t, l, "small-04", "prod", "small")
	must(t, l.Heard(t.Context(), "small-04", at(2)))
	got, err = l.Members(t.Context(), ledger.MembersQuery{Environment: "prod", Silent: true})
	must(t, err)
	equal(t, "silent", got, []ledger.MemberCount{{ClusterType: "small", Count: 1}})
}

func memberStates(t *testing.T, l ledger.Ledger) {
	record(t, l, 1)
	recordShop(t, l, 1, shopVersion("1.0", 0))
	take(t, l, report("large-01", 1, 1, ledger.StateReady), report("large-02", 1, 1, ledger.StateFailed), report("large-03", 1, 1, ledger.StateFailed),
		shopReport("large-01", 1, 1, ledger.StateProgressing))
	large, east := ledger.Source{Repository: platform, Ref: "prod", Path: "large"}, ledger.Source{Repository: shop, Ref: "prod", Path: "east"}
	for _, tc := range []struct {
		q    ledger.MemberStatesQuery
		want []ledger.MemberStates
	}{
		{ledger.MemberStatesQuery{Environment: "prod", Unready: true}, []ledger.MemberStates{
			{Source: large, State: ledger.StateFailed, Clusters: []string{"large-02", "large-03"}},
			{Source: east, State: ledger.StateProgressing, Clusters: []string{"large-01"}},
		}},
		{ledger.MemberStatesQuery{Environment: "prod", Source: ledger.Source{Repository: platform + ".git", Ref: "prod", Path: "./large/"}}, []ledger.MemberStates{
			{Source: large, State: ledger.StateReady, Clusters: []string{"large-01"}},
			{Source: large, State: ledger.StateFailed, Clusters: []string{"large-02", "large-03"}},
		}},
		{ledger.MemberStatesQuery{Environment: "stage"}, nil},
	} {
		got, err := l.MemberStates(t.Context(), tc.q)
		must(t, err)
		for _, m := range got {
			slices.Sort(m.Clusters)
		}
		slices.SortFunc(got, func(a, b ledger.MemberStates) int { return cmp.Compare(b.Source.Path, a.Source.Path) })
		equal(t, fmt.Sprintf("%+v", tc.q), got, tc.want)
	}
}

func registered(t *testing.T, l ledger.Ledger) {
	for minute, cluster := range []string{"large-01", "large-02", "large-01"} {
		must(t, l.Register(t.Context(), ledger.Registration{Cluster: cluster, Memberships: member([]string{"dev", "prod", "prod"}[minute]), At: at(minute)}))
	}
	for _, tc := range []struct {
		q    ledger.RegistrationQuery
		want string
	}{
		{ledger.RegistrationQuery{}, "[large-01 2 large-02 1 large-01 0]"},
		{ledger.RegistrationQuery{Cluster: "large-01"}, "[large-01 2 large-01 0]"},
		{ledger.RegistrationQuery{Environment: "prod"}, "[large-01 2 large-02 1]"},
		{ledger.RegistrationQuery{From: at(1), To: at(2)}, "[large-02 1]"},
		{ledger.RegistrationQuery{Limit: 1}, "[large-01 2]"},
	} {
		all, err := l.Registered(t.Context(), tc.q)
		must(t, err)
		var got []any
		for _, r := range all {
			equal(t, "memberships", len(r.Memberships), 1)
			got = append(got, r.Cluster, minute(r.At))
		}
		equal(t, fmt.Sprintf("%+v", tc.q), fmt.Sprint(got), tc.want)
	}
}

// recordedBetween selects commits by the time of recording and by whether they are heads, and steps by kind.
func recordedBetween(t *testing.T, l ledger.Ledger) {
	for _, minute := range []int{1, 3, 5} {
		record(t, l, minute)
	}
	commits, err := l.Commits(t.Context(), ledger.CommitQuery{From: at(4), To: at(6)})
	must(t, err)
	equal(t, "commits", len(commits), 1)
	equal(t, "commit", commits[0].SHA, sha(3))
	record(t, l, 1) // the branch was moved back
	commits, err = l.Commits(t.Context(), ledger.CommitQuery{Environment: "prod", Heads: true})
	must(t, err)
	equal(t, "heads", len(commits), 1)
	equal(t, "head", commits[0].SHA, sha(1))

	id := ledger.PromotionID{Subject: "c", Commit: "1", Environment: "prod"}
	for minute, kind := range []string{"started", "stateChanged", "stateChanged", "deployed"} {
		must(t, l.RecordStep(t.Context(), ledger.Step{PromotionID: id, Kind: kind, At: at(minute)}))
	}
	steps, err := l.Steps(t.Context(), ledger.StepQuery{Kind: "stateChanged", Limit: 1})
	must(t, err)
	equal(t, "steps", steps, []ledger.Step{{PromotionID: id, Kind: "stateChanged", At: start.Add(2 * time.Minute)}})
}

// sharedBranch records a branch that two environments share. It has no environment; its assignments do.
func sharedBranch(t *testing.T, l ledger.Ledger) {
	dev := ledger.Assignment{ClusterType: "large", Target: "shop-east", Workload: "shop", Environment: "dev"}
	stage := ledger.Assignment{ClusterType: "large", Target: "shop-east", Workload: "shop", Environment: "stage"}
	must(t, l.RecordCommit(t.Context(), ledger.Commit{
		Repository: platform, Branch: "fleet", SHA: sha(1), Kind: ledger.BranchPlatform, Committed: at(1), Recorded: at(1),
		Assignments: []ledger.Assignment{stage, dev},
	}))
	c, err := l.Commit(t.Context(), platform, "fleet", "")
	must(t, err)
	equal(t, "assignments", c.Assignments, []ledger.Assignment{dev, stage})
	theirs := stage
	theirs.Environment = "" // the environment is that of the assignment
	for _, asOf := range []int{0, 5} {
		q := ledger.WantedQuery{Environment: "stage"}
		if asOf > 0 {
			q.AsOf = at(asOf)
		}
		wanted, err := l.Wanted(t.Context(), q)
		must(t, err)
		equal(t, "wanted", wanted.Assignments, []ledger.WantedAssignment{{Environment: "stage", Repository: platform, Branch: "fleet", Assignment: theirs}})
		equal(t, "heads", len(wanted.Heads), 1)
	}
	for environment, want := range map[string]int{"dev": 1, "stage": 1, "prod": 0} {
		commits, err := l.Commits(t.Context(), ledger.CommitQuery{Environment: environment, Heads: true})
		must(t, err)
		equal(t, "heads of "+environment, len(commits), want)
	}
	names, err := l.Names(t.Context(), ledger.NameEnvironment)
	must(t, err)
	equal(t, "environments", names, []string{"dev", "stage"})

	join(t, l, "large-01", "dev", "large")
	join(t, l, "large-02", "stage", "large")
	behind := report("large-02", 3, 7, ledger.StateReady)
	behind.Source.Ref = "fleet"
	take(t, l, behind)
	for environment, want := range map[string]string{"dev": "missing large-01", "stage": "behind large-02"} {
		all, err := l.Discrepancies(t.Context(), environment)
		must(t, err)
		var got []string
		for _, d := range all {
			got = append(got, string(d.Kind)+" "+d.Cluster)
		}
		equal(t, "discrepancies of "+environment, got, []string{want})
		appeared, err := l.Appearances(t.Context(), ledger.AppearanceQuery{Environment: environment})
		must(t, err)
		equal(t, "appearances in "+environment, len(appeared), 1)
	}
}
