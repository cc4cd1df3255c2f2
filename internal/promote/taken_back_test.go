package promote_test

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// rollBack takes a commit back from an environment or ring.
func (b *bench) rollBack(name, commit string) {
	b.Helper()
	b.command(name, func(c *promote.Control, ctx context.Context, w promote.Command) error {
		w.Commit = commit
		return c.RollBack(ctx, w)
	})
}

// TestACommitThatFailedInARingIsNoPlaceToReturnTo lets a commit fail in the second ring, which goes back, and its fix pass. The commit that
// failed never ran in the third ring: it is not deployed by its fix, and a rollback goes to the one before.
func TestACommitThatFailedInARingIsNoPlaceToReturnTo(t *testing.T) {
	b := ringed(t, v1alpha1.FailureRollback)
	b.follow()
	b.merge("bad")
	b.follow("c1 " + revision("prod", sha("bad")))
	b.merge("fix")
	o := b.follow()
	if b.commits() != of("fix", "fix", "fix") || o.Environments[0].Phase != decide.Good {
		t.Fatalf("the rings run %s: %s", b.commits(), o.Environments[0].Reason)
	}
	for _, target := range o.Environments[0].Targets {
		if target.Commit == sha("bad") && target.Good {
			t.Errorf("a rollback can go to the commit that failed: %s", target.Why)
		}
	}
	if s := b.fakePipeline.statuses[sha("bad")+" prod"]; s.State != decide.Failure {
		t.Errorf("the status of the commit that failed is %+v", s)
	}
	for _, s := range b.deployed("prod") {
		if s == sha("bad") {
			t.Error("the commit that failed is recorded as deployed")
		}
	}
	b.rollBack("prod", sha("fix"))
	b.round()
	if got := b.fakePipeline.place("prod").Commit; got != sha("one") {
		t.Errorf("the rollback goes to %s, want %s", got[:6], sha("one")[:6])
	}
}

// TestACommitTakenBackFromARingDoesNotGoOn lets a user roll back one ring while the next environment waits for its soak.
func TestACommitTakenBackFromARingDoesNotGoOn(t *testing.T) {
	for _, rollBack := range []bool{false, true} {
		b := newBench(t, map[string]*v1alpha1.Promotion{
			"prod": {Rings: []v1alpha1.Ring{{Name: "canary"}, {Name: "others"}}},
			"late": {After: []string{"prod"}, Soak: &metav1.Duration{Duration: 30 * time.Minute}},
		}, "one")
		b.divide("canary", "others")
		for range 4 {
			b.follow()
		}
		b.merge("two")
		b.follow()
		if b.commits() != of("two", "two") || b.fakePipeline.place("late").Commit != sha("one") {
			t.Fatalf("before the soak, the rings run %s", b.commits())
		}
		want := "two"
		if rollBack {
			b.rollBack("prod/canary", b.fakePipeline.place("prod").Rings.Stages[0].Commit)
			want = "one"
		}
		for range 4 {
			b.follow()
		}
		if got := b.fakePipeline.place("late").Commit; got != sha(want) {
			t.Errorf("with a rollback %v, the next environment got %s", rollBack, got[:6])
		}
	}
}

// TestARingDoesNotReturnToWhatItsEnvironmentWasRolledBackFrom lets a user roll back the environment, which is a new commit of its GitOps
// branch, and then one of its rings.
func TestARingDoesNotReturnToWhatItsEnvironmentWasRolledBackFrom(t *testing.T) {
	b := ringed(t, "")
	b.follow()
	for _, letters := range []string{"two", "bad"} {
		b.merge(letters)
		b.follow()
	}
	b.rollBack("prod", sha("bad"))
	b.round()
	place := b.fakePipeline.place("prod")
	if place.Commit != sha("two") {
		t.Fatalf("the rollback goes to %s", place.Commit[:6])
	}
	place.Rollout.Commit = strings.Repeat("b", 12) + sha("two")[:28]
	place.Rings.Line = append(place.Rings.Line, promote.Commit{SHA: place.Rollout.Commit})
	b.follow()
	if b.commits() != of("two", "two", "two") {
		t.Fatalf("after the rollback of the environment, the rings run %s", b.commits())
	}
	b.rollBack("prod/early", b.fakePipeline.place("prod").Rings.Stages[1].Commit)
	b.follow()
	if strings.Contains(b.commits(), sha("bad")[:6]) {
		t.Errorf("after the rollback of a ring, the rings run %s", b.commits())
	}
	if early := strings.Fields(b.commits())[1]; early != sha("one")[:6] {
		t.Errorf("early went back to %s, want what ran before both", early)
	}
}

// deployed returns the commits that are recorded as deployed.
func (b *bench) deployed(environment string) []string {
	b.Helper()
	steps, err := b.ledger.Steps(b.Context(), ledger.StepQuery{Environment: environment, Kind: string(decide.StepDeployed)})
	if err != nil {
		b.Fatal(err)
	}
	var all []string
	for _, s := range steps {
		all = append(all, s.Commit)
	}
	return all
}

// divide gives prod rings with one cluster each: c0, c1 and so on.
func (b *bench) divide(rings ...string) {
	b.Helper()
	place := b.fakePipeline.place("prod")
	place.Rings = &promote.Rings{Line: []promote.Commit{{SHA: place.Rollout.Commit}}}
	for i, name := range rings {
		cluster := "c" + string(rune('0'+i))
		place.Rings.Stages = append(place.Rings.Stages, promote.RingState{
			Stage: fleet.Stage{Name: name, Ring: name, Clusters: []string{cluster}}, Branch: fleet.RingBranch("prod", name),
		})
		join(b.T, b.ledger, cluster, "prod")
	}
}
