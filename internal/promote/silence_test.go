package promote_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// TestACanaryThatGoesQuietInASoakPausesTheClock lets the only canary be silent for less time than a ledger keeps by itself, and more than the
// gate permits, while no server runs. The server that runs afterwards knows it from the ledger only.
func TestACanaryThatGoesQuietInASoakPausesTheClock(t *testing.T) {
	const soak, quiet = 10 * time.Minute, 90 * time.Second
	b := ringedBy(t, &v1alpha1.Promotion{
		Gate:  &v1alpha1.Gate{OfflineAfter: &metav1.Duration{Duration: 30 * time.Second}},
		Rings: []v1alpha1.Ring{{Name: "canary", Soak: &metav1.Duration{Duration: soak}}, {Name: "others"}},
	})
	live := func(minutes int) {
		t.Helper()
		for range minutes {
			b.now = b.now.Add(time.Minute)
			b.hear("c0", b.now.Add(-40*time.Second), b.now.Add(-20*time.Second), b.now)
			b.hear("c1", b.now.Add(-40*time.Second), b.now.Add(-20*time.Second), b.now)
			for _, s := range b.fakePipeline.place("prod").Rings.Stages {
				reports(t, b.ledger, s.Branch, s.Commit, b.now, s.Clusters...)
			}
			b.roundNow()
		}
	}
	others := func() string { return b.fakePipeline.place("prod").Rings.Stages[1].Commit[12:18] }
	b.round()
	b.follow()
	live(15)
	b.merge("two")
	b.roundNow()
	live(5)
	if got := b.commits(); got != of("two", "one") {
		t.Fatalf("in the soak, the rings run %s", got)
	}

	b.now = b.now.Add(quiet)
	b.hear("c0", b.now)
	b.hear("c1", b.now)
	b.promoter = b.newPromoter(nil)
	b.roundNow()
	silences, err := b.ledger.Silences(t.Context(), ledger.SilenceQuery{Cluster: "c0", From: b.now.Add(-quiet)})
	if err != nil || len(silences) == 0 {
		t.Fatalf("the ledger kept %v, %v", silences, err)
	}
	for left := 5; left > 1; left-- {
		if others() != sha("one")[:6] {
			t.Fatalf("%d minutes too early, the others run %s: the silence counted as running", left, others())
		}
		live(1)
	}
	live(2)
	o := b.roundNow()
	if others() != sha("two")[:6] {
		t.Errorf("after the soak without the silence, the others run %s: %s", others(), o.Environments[0].Reason)
	}
}

// hear records heartbeats of a cluster.
func (b *bench) hear(cluster string, times ...time.Time) {
	b.Helper()
	for _, at := range times {
		if err := b.ledger.Heard(b.Context(), cluster, at); err != nil {
			b.Fatal(err)
		}
	}
}
