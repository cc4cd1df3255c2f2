package promote_test

import (
	"slices"
	"testing"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote"
)

// TestAClusterOnHoldHoldsNoOther lets an environment run a commit everywhere but on a cluster that is on hold. The
// stage of that cluster waits for the end of its hold, and does not start again. Meanwhile batches are divided and
// joined.
func TestAClusterOnHoldHoldsNoOther(t *testing.T) {
	b := ringedBy(t, &v1alpha1.Promotion{Rings: []v1alpha1.Ring{{Name: "canary"}, {Name: "others"}}})
	held := fleet.Stage{Name: fleet.StageName("canary", "cluster-c2"), Ring: "canary", Clusters: []string{"c2"}, Hold: &v1alpha1.Hold{Reason: "inventory"}}
	part := func(bits string, clusters ...string) fleet.Stage {
		return fleet.Stage{Name: fleet.StageName("canary", bits), Ring: "canary", Clusters: clusters}
	}
	for _, cluster := range []string{"c2", "c3"} {
		join(t, b.ledger, cluster, "prod")
	}
	b.stages(part("", "c0", "c2", "c3"))
	b.follow()
	b.stages(part("", "c0", "c3"), held)
	b.follow()
	b.merge("two")
	b.follow()
	if b.commits() != of("two", "one", "two") {
		t.Fatalf("the rings run %s", b.commits())
	}
	if o := b.round(); len(o.Did) > 0 {
		t.Errorf("at rest, a round did %q", o.Did)
	}
	b.stages(part("0", "c0"), part("1", "c3"), held)
	b.follow()
	if emptied := b.reasons("prod/canary", promote.Emptied); len(emptied) != 1 {
		t.Errorf("that the batch was divided is recorded %d times", len(emptied))
	}
	b.merge("three")
	b.follow()
	if b.commits() != of("three", "three", "one", "three") || b.at("canary") != revision("prod", sha("three")) {
		t.Errorf("the rings run %s, and the branch of the batch that was divided has %s", b.commits(), b.at("canary"))
	}
	held.Hold = nil
	b.stages(part("", "c0", "c2", "c3"))
	b.fakePipeline.moves = nil
	b.follow()
	if b.at("canary") != revision("prod", sha("three")) || slices.Contains(b.fakePipeline.moves, "prod/canary") {
		t.Errorf("the batch has %s after %q", b.at("canary"), b.fakePipeline.moves)
	}
}
