package promote_test

import (
	"context"
	"slices"
	"testing"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// forgetful is a ledger that lost what was recorded for people.
type forgetful struct{ *sqlite.Ledger }

func (l forgetful) Steps(ctx context.Context, q ledger.StepQuery) ([]ledger.Step, error) {
	steps, err := l.Ledger.Steps(ctx, q)
	return slices.DeleteFunc(steps, func(s ledger.Step) bool {
		kind := decide.StepKind(s.Kind)
		return kind == decide.StepStarted || kind == decide.StepDeployed || kind == decide.StepFailed || kind == promote.StateChanged
	}), err
}

// forget starts a promoter whose ledger lost what was recorded for people.
func (b *bench) forget() {
	b.promoter = b.newPromoter(nil)
	b.promoter.Ledger = forgetful{b.ledger}
}

// withAndWithoutRecords runs a test with all records, and with those lost that are for people.
func withAndWithoutRecords(t *testing.T, test func(t *testing.T, forget func(b *bench))) {
	t.Run("with all records", func(t *testing.T) { test(t, func(*bench) {}) })
	t.Run("without records", func(t *testing.T) { test(t, (*bench).forget) })
}

// TestABatchDoesNotStartAtWhatFailed lets a commit fail on one of two clusters, each with a stage of its own, and joins
// them to a batch.
func TestABatchDoesNotStartAtWhatFailed(t *testing.T) {
	withAndWithoutRecords(t, func(t *testing.T, forget func(b *bench)) {
		b := ringedBy(t, &v1alpha1.Promotion{Rings: []v1alpha1.Ring{{Name: "canary"}, {Name: "others"}}})
		join(t, b.ledger, "c2", "prod")
		own := func(cluster string) fleet.Stage {
			return fleet.Stage{
				Name: fleet.StageName("canary", "cluster-"+cluster), Ring: "canary", Clusters: []string{cluster}, Hold: &v1alpha1.Hold{Reason: "inventory"},
			}
		}
		batch := func(clusters ...string) fleet.Stage {
			return fleet.Stage{Name: "canary", Ring: "canary", Clusters: clusters}
		}
		b.stages(batch("c0", "c2"))
		b.follow()
		b.stages(batch("c0"), own("c2"))
		b.follow()
		b.merge("two")
		fails := "c0 " + revision("prod", sha("two"))
		b.follow(fails)
		b.stages(own("c0"), own("c2"))
		b.follow(fails)
		if b.commits() != of("two", "one", "one") {
			t.Fatalf("the rings run %s", b.commits())
		}
		forget(b)
		b.stages(batch("c0", "c2"))
		b.round()
		if got := b.at("canary"); got != revision("prod", sha("one")) {
			t.Errorf("the batch starts at %s", got)
		}
	})
}

// TestRingsWithNewClustersStartOneByOne gives an environment rings after all clusters left that ran its first commit.
// Nothing is known of the second one, which enters the first ring only.
func TestRingsWithNewClustersStartOneByOne(t *testing.T) {
	withAndWithoutRecords(t, func(t *testing.T, forget func(b *bench)) {
		b := newBench(t, map[string]*v1alpha1.Promotion{"prod": {Rings: []v1alpha1.Ring{{Name: "canary"}, {Name: "others"}}}}, "one")
		join(t, b.ledger, "old", "prod")
		for range 3 {
			reports(t, b.ledger, "prod", revision("prod", sha("one")), b.now, "old")
			b.round()
		}
		if err := b.ledger.Register(t.Context(), ledger.Registration{Cluster: "old", Revoked: true, At: b.now}); err != nil {
			t.Fatal(err)
		}
		forget(b)
		b.divide("canary", "others")
		b.merge("two")
		b.round()
		b.round()
		if got := b.at("others"); b.at("canary") != revision("prod", sha("two")) || got != "" {
			t.Errorf("canary starts at %s, and others at %q", b.at("canary"), got)
		}
	})
}

// TestRingsOfARunningEnvironmentStartAtOnce gives rings to an environment whose clusters run a commit: each keeps it.
func TestRingsOfARunningEnvironmentStartAtOnce(t *testing.T) {
	withAndWithoutRecords(t, func(t *testing.T, forget func(b *bench)) {
		b := newBench(t, map[string]*v1alpha1.Promotion{"prod": {Rings: []v1alpha1.Ring{{Name: "canary"}, {Name: "others"}}}}, "one")
		for _, c := range []string{"c0", "c1"} {
			join(t, b.ledger, c, "prod")
		}
		for range 3 {
			reports(t, b.ledger, "prod", revision("prod", sha("one")), b.now, "c0", "c1")
			b.round()
		}
		forget(b)
		b.divide("canary", "others")
		b.round()
		if b.commits() != of("one", "one") {
			t.Errorf("the rings start at %s", b.commits())
		}
	})
}
