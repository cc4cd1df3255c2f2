package promote_test

import (
	"slices"
	"testing"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote"
)

// TestAClusterKeepsAGoodCommitWhenItJoinsItsBatchAgain puts the two clusters of a canary ring on hold, one before
// and one after a commit ran well there. When the holds end, both are in one batch again: neither gets an older
// commit there than it ran.
func TestAClusterKeepsAGoodCommitWhenItJoinsItsBatchAgain(t *testing.T) {
	held := &v1alpha1.Hold{Reason: "inventory"}
	own := func(cluster string) fleet.Stage {
		return fleet.Stage{Name: fleet.StageName("canary", "cluster-"+cluster), Ring: "canary", Clusters: []string{cluster}, Hold: held}
	}
	batch := func(clusters ...string) fleet.Stage {
		return fleet.Stage{Name: "canary", Ring: "canary", Clusters: clusters}
	}
	for name, ended := range map[string][]fleet.Stage{
		"both holds end":                            {batch("c0", "c2")},
		"the hold of the one that is ahead ends":    {batch("c0"), own("c2")},
		"the hold of the one that is behind ends":   {batch("c2"), own("c0")},
		"another cluster joins while both are held": {batch("c3"), own("c0"), own("c2")},
	} {
		t.Run(name, func(t *testing.T) {
			b := ringedBy(t, &v1alpha1.Promotion{Rings: []v1alpha1.Ring{{Name: "canary"}, {Name: "others"}}})
			join(t, b.ledger, "c2", "prod")
			b.stages(batch("c0", "c2"))
			b.follow()
			b.stages(batch("c0"), own("c2"))
			b.follow()
			b.merge("two")
			fails := "c1 " + revision("prod", sha("two")) // in the last ring, so that the environment does not run it everywhere
			b.follow(fails)
			if b.commits() != of("two", "one", "two") {
				t.Fatalf("the rings run %s", b.commits())
			}
			b.stages(own("c0"), own("c2"))
			b.follow(fails)
			b.stages(ended...)
			if got := b.at("canary"); got != revision("prod", sha("two")) { // clusters follow it before the next round
				t.Errorf("while both clusters are on hold, the branch of their batch is moved to %s", got)
			}
			b.round()
			if got := b.at("canary"); got != revision("prod", sha("two")) {
				t.Errorf("the batch starts at %s", got)
			}
		})
	}
}

// stages sets the stages of the canary ring, which come before the others. Their branches stay where they are.
func (b *bench) stages(canary ...fleet.Stage) {
	rings := b.fakePipeline.place("prod").Rings
	all := slices.Concat(rings.Stages, rings.Former)
	state := func(s fleet.Stage) promote.RingState {
		is := promote.RingState{Stage: s, Branch: fleet.RingBranch("prod", s.Name)}
		if i := slices.IndexFunc(all, func(had promote.RingState) bool { return had.Name == s.Name }); i >= 0 {
			is.Head, is.Commit = all[i].Head, all[i].Commit
		}
		return is
	}
	rings.Former = slices.DeleteFunc(slices.Clone(all), func(had promote.RingState) bool {
		return had.Ring != "canary" || had.Head == "" || slices.ContainsFunc(canary, func(s fleet.Stage) bool { return s.Name == had.Name })
	})
	for i := range rings.Former {
		rings.Former[i].Clusters = nil
	}
	others := rings.Stages[len(rings.Stages)-1]
	rings.Stages = nil
	for _, s := range canary {
		rings.Stages = append(rings.Stages, state(s))
	}
	rings.Stages = append(rings.Stages, others)
}

// at returns the commit of a branch of the rings.
func (b *bench) at(stage string) string {
	rings := b.fakePipeline.place("prod").Rings
	for _, s := range slices.Concat(rings.Stages, rings.Former) {
		if s.Name == stage {
			return s.Commit
		}
	}
	return ""
}
