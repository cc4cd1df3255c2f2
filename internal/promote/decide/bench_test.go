package decide_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// BenchmarkDecide decides about 50 environments, each after two others, with windows and a history of 60 steps.
func BenchmarkDecide(b *testing.B) {
	f := largeFacts(50, 40)
	b.ReportAllocs()
	for b.Loop() {
		if d := decide.Decide(f, clock("10:10")); len(d) != 50 {
			b.Fatal(len(d))
		}
	}
}

// BenchmarkSites decides about three rings of 256 clusters each that say when they may be changed, with 20 commits. Only the first ring has
// the newest commit.
func BenchmarkSites(b *testing.B) {
	f := manySites(3, 256, 20)
	b.ReportAllocs()
	for b.Loop() {
		if d := decide.Decide(f, clock("10:10")); len(d) != 3*257 {
			b.Fatal(len(d))
		}
	}
}

func manySites(rings, sites, commits int) decide.Facts {
	f := decide.Facts{Merged: map[string]time.Time{}}
	for i := range commits {
		f.Line = append(f.Line, fmt.Sprintf("%040x", i+1))
		f.Merged[f.Line[i]] = clock("06:00")
	}
	promotion := &v1alpha1.Promotion{}
	var stages []fleet.Stage
	for i := range rings {
		ring := fmt.Sprintf("r%d", i)
		promotion.Rings = append(promotion.Rings, v1alpha1.Ring{Name: ring, OnFailure: v1alpha1.FailureRollback})
		stages = append(stages, fleet.Stage{Name: ring, Ring: ring})
		for n := range sites {
			s := fleet.Stage{Name: fmt.Sprintf("%s.cluster-c%03d", ring, n), Ring: ring, Clusters: []string{fmt.Sprintf("c%03d", n)}}
			for hour := range 4 {
				s.Windows = append(s.Windows, v1alpha1.Window{Cron: fmt.Sprintf("%d %d * * 1-5", n%60, hour), Duration: metav1.Duration{Duration: time.Hour}, TimeZone: "Europe/Berlin"})
			}
			stages = append(stages, s)
		}
	}
	for _, s := range stages {
		e := decide.Environment{Name: decide.RingName("prod", s.Name)}
		has := f.Line[:1]
		if s.Name == "r0" {
			has = f.Line
		}
		for _, commit := range has {
			e.Carriers = ranAt(e.Carriers, commit, clock("07:00"))
			e.Commit, e.Rollout = commit, decide.Rollout{State: decide.RolloutMerged, Commit: commit}
		}
		e.Verdict = comply.Verdict{Commit: e.Commit, Result: comply.Passed, Counts: comply.Counts{Expected: 1, Counted: 1, Required: 1, Reached: 1}}
		f.Environments = append(f.Environments, e)
	}
	f.Chain = decide.NewRings(decide.Stage{Name: "prod", Promotion: promotion}, stages)
	return f
}

func largeFacts(environments, commits int) decide.Facts {
	var f decide.Facts
	for i := range commits {
		f.Line = append(f.Line, fmt.Sprintf("%040x", i+1))
	}
	var stages []decide.Stage
	for i := range environments {
		p := &v1alpha1.Promotion{
			Soak:    &metav1.Duration{Duration: time.Hour},
			Windows: []v1alpha1.Window{{Cron: "0 9 * * 1-4", Duration: metav1.Duration{Duration: 8 * time.Hour}, TimeZone: "Europe/Berlin"}},
		}
		if i > 1 {
			p.After = []string{fmt.Sprintf("e%02d", i-1), fmt.Sprintf("e%02d", i-2)}
		}
		e := decide.Environment{Name: fmt.Sprintf("e%02d", i)}
		for n, commit := range f.Line[:commits/2] {
			at := clock("06:00").Add(time.Duration(n) * time.Minute)
			e.Carriers = then(ranAt(e.Carriers, commit, at), comply.StandingFailed, at.Add(time.Second))
			e.Commit, e.Rollout = commit, decide.Rollout{State: decide.RolloutMerged, Commit: commit}
		}
		e.Verdict = comply.Verdict{Commit: e.Commit, Result: comply.Failed, Reason: "large-07 fails", Counts: comply.Counts{Failed: 1}}
		stages = append(stages, decide.Stage{Name: e.Name, Promotion: p})
		f.Environments = append(f.Environments, e)
	}
	f.Chain, _ = decide.NewChain(stages, nil)
	return f
}
