package decide_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

const (
	oldCommit = "aaaaaaa000000000000000000000000000000000"
	newCommit = "bbbbbbb000000000000000000000000000000000"
)

// siteFacts are those of the rings canary and others. Cluster west of ring canary is a stage of its own. All stages ran the old commit; the
// ones in ran have run the new one since 10:00.
func siteFacts(west fleet.Stage, ran ...string) decide.Facts {
	west.Name, west.Ring, west.Clusters = "canary.cluster-west", "canary", []string{"west"}
	stages := []fleet.Stage{{Name: "canary", Ring: "canary", Clusters: []string{"c0"}}, west, {Name: "others", Ring: "others", Clusters: []string{"c1"}}}
	f := decide.Facts{
		Line: []string{oldCommit, newCommit}, Merged: map[string]time.Time{newCommit: clock("09:00")},
		Chain: decide.NewRings(decide.Stage{Name: "prod", Promotion: &v1alpha1.Promotion{Rings: []v1alpha1.Ring{{Name: "canary"}, {Name: "others"}}}}, stages),
	}
	for _, s := range stages {
		e := decide.Environment{Name: decide.RingName("prod", s.Name), Commit: oldCommit, Carriers: ranAt(nil, oldCommit, clock("06:00"))}
		if slices.Contains(ran, s.Name) {
			e.Commit, e.Carriers = newCommit, ranAt(e.Carriers, newCommit, clock("10:00"))
		}
		e.Rollout = decide.Rollout{State: decide.RolloutMerged, Commit: e.Commit}
		e.Verdict = comply.Verdict{Commit: e.Commit, Result: comply.Passed, Counts: comply.Counts{Expected: 1, Counted: 1, Required: 1, Reached: 1}}
		f.Environments = append(f.Environments, e)
	}
	return f
}

func until(at time.Time) *metav1.Time {
	t := metav1.NewTime(at)
	return &t
}

// TestAClusterIsChangedWhenItSaysSo checks when the cluster west moves, what the next ring does meanwhile, and what is said.
func TestAClusterIsChangedWhenItSaysSo(t *testing.T) {
	nights := fleet.Stage{Windows: []v1alpha1.Window{{Cron: "0 22 * * *", Duration: metav1.Duration{Duration: time.Hour}}}}
	inventory := func(end *metav1.Time) fleet.Stage {
		return fleet.Stage{Hold: &v1alpha1.Hold{Reason: "inventory", Until: end}}
	}
	for name, tc := range map[string]struct {
		west         fleet.Stage
		ran          []string
		at           time.Time
		moves        string // the stages that move
		west1, other string // parts of the reasons of west and of the others
		env          comply.Result
	}{
		"before its window":         {nights, []string{"canary"}, clock("10:30"), "others", "west waits for its window, which opens at 22:00 UTC", "enters", comply.Waiting},
		"in its window":             {nights, []string{"canary"}, clock("22:30"), "canary.cluster-west", "enters", "does not run in prod/canary.cluster-west", comply.Waiting},
		"after its window":          {nights, []string{"canary"}, clock("23:00"), "others", "opens at 2026-11-21 22:00 UTC", "enters", comply.Waiting},
		"all others ran it":         {nights, []string{"canary", "others"}, clock("10:30"), "", "west waits for its window", "is deployed", comply.Passed},
		"on hold":                   {inventory(nil), []string{"canary"}, clock("10:30"), "others", "west asks not to be disturbed: inventory", "enters", comply.Waiting},
		"on hold until noon":        {inventory(until(clock("12:00"))), []string{"canary"}, clock("11:59"), "others", "west asks not to be disturbed until 12:00 UTC: inventory", "enters", comply.Waiting},
		"at noon":                   {inventory(until(clock("12:00"))), []string{"canary"}, clock("12:00"), "canary.cluster-west", "enters", "does not run in prod/canary.cluster-west", comply.Waiting},
		"on hold for a day":         {inventory(nil), []string{"canary"}, clock("10:00").Add(24 * time.Hour), "", "west asks not to be disturbed", "it waits in prod/canary.cluster-west for longer than 24h: west asks", comply.Waiting},
		"no cluster of its ring":    {inventory(nil), nil, clock("10:30"), "canary", "it does not run in prod/canary", "does not run in prod/canary", comply.Waiting},
		"on hold, and ran it today": {inventory(nil), []string{"canary", "canary.cluster-west"}, clock("10:30"), "others", "is deployed", "enters", comply.Waiting},
	} {
		t.Run(name, func(t *testing.T) {
			f := siteFacts(tc.west, tc.ran...)
			decisions := decide.Decide(f, tc.at)
			var moves []string
			for _, a := range allActions(decisions) {
				if p, ok := a.(decide.Promote); ok {
					moves = append(moves, strings.TrimPrefix(p.Environment, "prod/"))
				}
			}
			if got := strings.Join(moves, " "); got != tc.moves {
				t.Errorf("%q move, want %q", got, tc.moves)
			}
			if !strings.Contains(decisions[1].Reason, tc.west1) || !strings.Contains(decisions[2].Reason, tc.other) {
				t.Errorf("west: %s\nothers: %s", decisions[1].Reason, decisions[2].Reason)
			}
			if v := decide.Together(f, tc.at).Verdict(newCommit); v.Result != tc.env {
				t.Errorf("the environment: %s: %s", v.Result, v.Reason)
			}
		})
	}
}

// TestAClusterGoesBackWhenItSaysSo checks that a cluster on which a commit fails goes back in its window.
func TestAClusterGoesBackWhenItSaysSo(t *testing.T) {
	nights := fleet.Stage{Windows: []v1alpha1.Window{{Cron: "0 22 * * *", Duration: metav1.Duration{Duration: time.Hour}}}}
	f := siteFacts(nights, "canary", "canary.cluster-west")
	f.Chain = decide.NewRings(decide.Stage{Name: "prod", Promotion: &v1alpha1.Promotion{Rings: []v1alpha1.Ring{
		{Name: "canary", OnFailure: v1alpha1.FailureRollback}, {Name: "others"},
	}}}, []fleet.Stage{
		{Name: "canary", Ring: "canary", Clusters: []string{"c0"}},
		{Name: "canary.cluster-west", Ring: "canary", Clusters: []string{"west"}, Windows: nights.Windows},
		{Name: "others", Ring: "others", Clusters: []string{"c1"}},
	})
	west := &f.Environments[1]
	west.Verdict.Result, west.Verdict.Reason, west.Verdict.Counts = comply.Failed, "west fails", comply.Counts{Expected: 1, Counted: 1, Required: 1, Failed: 1}
	west.Carriers = then(west.Carriers, comply.StandingFailed, clock("10:10"))
	for at, want := range map[string]bool{"10:30": false, "22:30": true} {
		d := decide.Decide(f, clock(at))[1]
		goesBack := slices.ContainsFunc(d.Actions, func(a decide.Action) bool { _, back := a.(decide.ProposeRollback); return back })
		if goesBack != want || !want && (!strings.Contains(d.Reason, "goes back to aaaaaaa later: west waits for its window") || !d.Next.Equal(clock("22:00"))) {
			t.Errorf("%s: goes back %v: %s, until %s", at, goesBack, d.Reason, d.Next)
		}
	}
}

// twoSites are the facts of ring canary with the clusters west and east, which are stages of their own. West may be changed at night, east at
// any time. The new commit failed in east at 10:10, and runs in those in ran.
func twoSites(onFailure v1alpha1.FailureAction, ran ...string) decide.Facts {
	window := func(cron string, hours time.Duration) []v1alpha1.Window {
		return []v1alpha1.Window{{Cron: cron, Duration: metav1.Duration{Duration: hours * time.Hour}}}
	}
	f := siteFacts(fleet.Stage{}, append(ran, "canary.cluster-west")...) // east's facts are those of the site
	east := f.Environments[1]
	east.Name = "prod/canary.cluster-east"
	east.Verdict.Result, east.Verdict.Reason, east.Verdict.Counts = comply.Failed, "east fails", comply.Counts{Expected: 1, Counted: 1, Required: 1, Failed: 1}
	east.Carriers = then(east.Carriers, comply.StandingFailed, clock("10:10"))
	if !slices.Contains(ran, "canary.cluster-west") {
		f.Environments[1] = siteFacts(fleet.Stage{}).Environments[1]
	}
	f.Environments = slices.Insert(f.Environments, 2, east)
	f.Chain = decide.NewRings(decide.Stage{Name: "prod", Promotion: &v1alpha1.Promotion{Rings: []v1alpha1.Ring{
		{Name: "canary", OnFailure: onFailure}, {Name: "others"},
	}}}, []fleet.Stage{
		{Name: "canary", Ring: "canary", Clusters: []string{"c0"}},
		{Name: "canary.cluster-west", Ring: "canary", Clusters: []string{"west"}, Windows: window("0 22 * * *", 1)},
		{Name: "canary.cluster-east", Ring: "canary", Clusters: []string{"east"}, Windows: window("0 0 * * *", 24)},
		{Name: "others", Ring: "others", Clusters: []string{"c1"}},
	})
	return f
}

// ranBetween adds that a stage ran another commit before its last one.
func ranBetween(all []decide.Carrier, commit string) []decide.Carrier {
	last := all[len(all)-1]
	return append(ranAt(all[:len(all)-1], commit, clock("09:30")), last)
}

// goneBack gives a stage of the facts the commit that it ran before the new one.
func goneBack(e *decide.Environment) {
	e.Commit, e.Rollout.Commit = oldCommit, oldCommit
	e.Carriers = ranAt(e.Carriers, oldCommit, clock("10:20"))
	e.Verdict = comply.Verdict{Commit: oldCommit, Result: comply.Passed, Counts: comply.Counts{Expected: 1, Counted: 1, Required: 1, Reached: 1}}
}

// TestACommitThatFailedOnAClusterEntersNoOther checks that west does not get in its window what failed in east, until a user lets it pass.
func TestACommitThatFailedOnAClusterEntersNoOther(t *testing.T) {
	const failed = "bbbbbbb waits: it failed in prod/canary.cluster-east"
	contains := func(f *decide.Facts, between string) { // west could get a commit that east has never run by itself
		f.Line = slices.Insert(f.Line, 1, between)
		canary := &f.Environments[0]
		canary.Carriers = ranBetween(canary.Carriers, between)
	}
	skip := []decide.Skip{{Commit: newCommit, By: "anna", Why: "east is broken"}}
	request := &decide.Request{ID: "1", Commit: newCommit, By: "anna"}
	for name, tc := range map[string]struct {
		onFailure v1alpha1.FailureAction
		change    func(f *decide.Facts)
		enters    string
		want      string // part of the reason
	}{
		"stop":                    {v1alpha1.FailureStop, nil, "", failed},
		"not recorded yet":        {v1alpha1.FailureStop, func(f *decide.Facts) { e := &f.Environments[2]; e.Carriers = e.Carriers[:1] }, "", failed},
		"rollback":                {v1alpha1.FailureRollback, nil, "", failed},
		"the ring went back":      {v1alpha1.FailureRollback, func(f *decide.Facts) { goneBack(&f.Environments[0]); goneBack(&f.Environments[2]) }, "", "prod/canary went back from it"},
		"requested":               {v1alpha1.FailureStop, func(f *decide.Facts) { f.Environments[1].Request = request }, "", "requested by anna, it failed in prod/canary.cluster-east"},
		"skipped in east":         {v1alpha1.FailureStop, func(f *decide.Facts) { f.Environments[2].Skips = skip }, newCommit, "enters"},
		"requested in east again": {v1alpha1.FailureRollback, func(f *decide.Facts) { goneBack(&f.Environments[2]); f.Environments[2].Request = request }, newCommit, "enters"},
		"east recovered": {v1alpha1.FailureStop, func(f *decide.Facts) {
			e := &f.Environments[2]
			e.Carriers, e.Verdict = then(e.Carriers, comply.StandingHolds, clock("10:20")), f.Environments[0].Verdict
		}, newCommit, "enters"},
		"a commit that it contains": {v1alpha1.FailureStop, func(f *decide.Facts) { contains(f, "ccccccc000000000000000000000000000000000") }, "", failed},
		"a commit that ran before it": {v1alpha1.FailureStop, func(f *decide.Facts) {
			between := "ccccccc000000000000000000000000000000000"
			contains(f, between)
			f.Environments[2].Carriers = ranBetween(f.Environments[2].Carriers, between)
		}, "ccccccc000000000000000000000000000000000", "ccccccc enters"},
	} {
		t.Run(name, func(t *testing.T) {
			f := twoSites(tc.onFailure, "canary")
			if tc.change != nil {
				tc.change(&f)
			}
			west := decide.Decide(f, clock("22:30"))[1]
			enters := ""
			for _, a := range west.Actions {
				if p, ok := a.(decide.Promote); ok {
					enters = p.Commit
				}
			}
			if enters != tc.enters || !strings.Contains(west.Reason, tc.want) {
				t.Errorf("%q enters: %s\nwant %q: %s", enters, west.Reason, tc.enters, tc.want)
			}
		})
	}
}

// TestAClusterGoesBackWithItsRing checks that west, where the new commit is well, goes back in its window when it failed in east.
func TestAClusterGoesBackWithItsRing(t *testing.T) {
	for name, tc := range map[string]struct {
		onFailure v1alpha1.FailureAction
		at        string
		skipped   bool
		back      bool
		want      string // part of the reason
	}{
		"before its window":    {v1alpha1.FailureRollback, "10:30", false, false, "it failed in prod/canary.cluster-east; goes back to aaaaaaa later: west waits for its window, which opens at 22:00 UTC"},
		"in its window":        {v1alpha1.FailureRollback, "22:30", false, true, "goes back to aaaaaaa, because it failed in prod/canary.cluster-east"},
		"stop":                 {v1alpha1.FailureStop, "22:30", false, false, "is deployed"},
		"east does not matter": {v1alpha1.FailureRollback, "22:30", true, false, "is deployed"},
	} {
		t.Run(name, func(t *testing.T) {
			f := twoSites(tc.onFailure, "canary", "canary.cluster-west")
			if tc.skipped {
				f.Environments[2].Skips = []decide.Skip{{Commit: newCommit, By: "anna", Why: "east is broken"}}
			}
			west := decide.Decide(f, clock(tc.at))[1]
			back := slices.ContainsFunc(west.Actions, func(a decide.Action) bool {
				b, ok := a.(decide.ProposeRollback)
				return ok && b.To == oldCommit
			})
			if back != tc.back || !strings.Contains(west.Reason, tc.want) {
				t.Errorf("goes back %v: %s\nwant %v: %s", back, west.Reason, tc.back, tc.want)
			}
		})
	}
}
