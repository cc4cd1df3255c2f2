package promotion_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/compliance"
	"github.com/kalypso-io/kalypso/internal/promotion"
)

// BenchmarkDecide decides about 50 environments, each after two others, with windows and a history of 60 steps.
func BenchmarkDecide(b *testing.B) {
	f := largeFacts(50, 40)
	b.ReportAllocs()
	for b.Loop() {
		if d := promotion.Decide(f, clock("10:10")); len(d) != 50 {
			b.Fatal(len(d))
		}
	}
}

func largeFacts(environments, commits int) promotion.Facts {
	var f promotion.Facts
	for i := range commits {
		f.Line = append(f.Line, fmt.Sprintf("%040x", i+1))
	}
	var stages []promotion.Stage
	for i := range environments {
		p := &v1alpha1.Promotion{
			Soak:    &metav1.Duration{Duration: time.Hour},
			Windows: []v1alpha1.Window{{Cron: "0 9 * * 1-4", Duration: metav1.Duration{Duration: 8 * time.Hour}, TimeZone: "Europe/Berlin"}},
		}
		if i > 1 {
			p.After = []string{fmt.Sprintf("e%02d", i-1), fmt.Sprintf("e%02d", i-2)}
		}
		e := promotion.Environment{Name: fmt.Sprintf("e%02d", i)}
		for n, commit := range f.Line[:commits/2] {
			at := clock("06:00").Add(time.Duration(n) * time.Minute)
			e.History = append(e.History, promotion.Step{Kind: promotion.Entered, Commit: commit, At: at},
				promotion.Step{Kind: promotion.Arrived, Commit: commit, Revision: commit, At: at},
				promotion.Step{Kind: promotion.FailedHere, Commit: commit, Revision: commit, At: at})
			e.Commit, e.Rollout = commit, promotion.Rollout{State: promotion.RolloutMerged, Commit: commit}
		}
		e.Verdict = compliance.Verdict{Commit: e.Commit, Result: compliance.Failed, Reason: "large-07 fails", Counts: compliance.Counts{Failed: 1}}
		stages = append(stages, promotion.Stage{Name: e.Name, Promotion: p})
		f.Environments = append(f.Environments, e)
	}
	f.Chain, _ = promotion.NewChain(stages, nil)
	return f
}
