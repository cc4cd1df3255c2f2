package promote_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote"
)

// TestABatchThatIsDividedContinuesItsSoak divides a canary ring of two clusters after 24 minutes of its soak of an hour.
func TestABatchThatIsDividedContinuesItsSoak(t *testing.T) {
	b := ringedBy(t, &v1alpha1.Promotion{Rings: []v1alpha1.Ring{{Name: "canary", Soak: &metav1.Duration{Duration: time.Hour}}, {Name: "others"}}})
	rings := b.fakePipeline.place("prod").Rings
	join(t, b.ledger, "c2", "prod")
	rings.Stages[0].Clusters = append(rings.Stages[0].Clusters, "c2")
	for range 4 {
		b.follow() // the first commit soaks, too
	}
	b.merge("two")
	b.follow() // 24 minutes
	if b.commits() != of("two", "one") {
		t.Fatalf("the rings run %s", b.commits())
	}
	rings = b.fakePipeline.place("prod").Rings
	part := func(bits, cluster string) promote.RingState {
		name := fleet.StageName("canary", bits)
		return promote.RingState{Stage: fleet.Stage{Name: name, Ring: "canary", Clusters: []string{cluster}}, Branch: fleet.RingBranch("prod", name)}
	}
	rings.Former = []promote.RingState{rings.Stages[0]}
	rings.Former[0].Clusters = nil
	rings.Stages = []promote.RingState{part("0", "c0"), part("1", "c2"), rings.Stages[1]}
	b.follow()
	if b.commits() != of("two", "two", "one") {
		t.Fatalf("after 48 minutes, the rings run %s", b.commits())
	}
	b.promoter = b.newPromoter(nil) // the evidence is read from the ledger again
	if o := b.follow(); b.commits() != of("two", "two", "two") {
		t.Errorf("after 72 minutes, the rings run %s: %s", b.commits(), o.Environments[0].Reason)
	}
}
