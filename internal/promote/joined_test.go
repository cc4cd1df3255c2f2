package promote_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
)

// register registers a cluster of dev at the time of the bench.
func (b *bench) register(cluster, clusterType string, labels map[string]string) {
	b.Helper()
	r := ledger.Registration{Cluster: cluster, At: b.now, Labels: labels}
	if r.Revoked = clusterType == ""; !r.Revoked {
		r.Memberships = []ledger.Membership{{Environment: "dev", ClusterType: clusterType}}
	}
	if err := b.ledger.Register(b.Context(), r); err != nil {
		b.Fatal(err)
	}
}

// TestAClusterThatIsRegisteredAgainIsNotForgiven lets a commit reach one of two clusters at once and the other one after 20 minutes. Meanwhile
// that one is registered. The soak begins when both run the commit if it was there before, and at once if it joined late.
func TestAClusterThatIsRegisteredAgainIsNotForgiven(t *testing.T) {
	for name, test := range map[string]struct {
		register func(b *bench)
		want     string // what stage gets after the soak of the first cluster
	}{
		"not at all":   {func(*bench) {}, "one"},
		"with a label": {func(b *bench) { b.register("c1", "large", map[string]string{"region": "eu"}) }, "one"},
		"twice, as it was before": {func(b *bench) {
			b.register("c1", "large", nil)
			b.now = b.now.Add(time.Second)
			b.register("c1", "large", nil)
		}, "one"},
		"after it was revoked": {func(b *bench) {
			b.register("c1", "", nil)
			b.now = b.now.Add(time.Second)
			b.register("c1", "large", nil)
		}, "two"},
		"after it was of another type": {func(b *bench) {
			b.register("c1", "small", nil)
			b.now = b.now.Add(time.Second)
			b.register("c1", "large", nil)
		}, "two"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, map[string]*v1alpha1.Promotion{
				"dev": {}, "stage": {After: []string{"dev"}, Soak: &metav1.Duration{Duration: 15 * time.Minute}},
			}, "one")
			join(t, b.ledger, "c0", "dev")
			join(t, b.ledger, "c1", "dev")
			live := func(minutes int, second string) {
				for range minutes {
					b.round()
					reports(t, b.ledger, "dev", revision("dev", b.fakePipeline.place("dev").Commit), b.now, "c0")
					reports(t, b.ledger, "dev", revision("dev", sha(second)), b.now, "c1")
				}
				b.roundNow()
			}
			live(40, "one")
			b.release("two")
			live(10, "one")
			test.register(b)
			b.promoter = b.newPromoter(nil)
			live(10, "one")
			live(5, "two")
			if got := b.fakePipeline.place("stage").Commit; got != sha(test.want) {
				t.Errorf("stage got %s: %+v", got[:6], b.round().Environments[1].Reason)
			}
			live(15, "two")
			if got := b.fakePipeline.place("stage").Commit; got != sha("two") {
				t.Errorf("after the soak, stage got %s: %+v", got[:6], b.round().Environments[1].Reason)
			}
		})
	}
}

// release adds a commit to main.
func (b *bench) release(letters string) {
	b.fakePipeline.reading.Line = append(b.fakePipeline.reading.Line, promote.Commit{SHA: sha(letters)})
}
