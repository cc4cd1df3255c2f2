package placement

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/fleettest"

	"k8s.io/apimachinery/pkg/api/resource"
)

// drawRules draws a fleet whose policies have every rule but expressions, which need no properties of their own.
func drawRules(t *rapid.T) *fleet.Snapshot {
	s := drawSnapshot(t)
	for _, ct := range s.ClusterTypes {
		if rapid.Bool().Draw(t, "limited") {
			ct.Capacity = map[string]resource.Quantity{"assignments": *resource.NewQuantity(rapid.Int64Range(0, 6).Draw(t, "capacity"), resource.DecimalSI)}
		}
		if rapid.IntRange(0, 3).Draw(t, "tainted") == 0 {
			ct.Taints = []v1alpha1.Taint{{Key: "t", Effect: rapid.SampledFrom([]v1alpha1.TaintEffect{
				v1alpha1.NoSchedule, v1alpha1.PreferNoSchedule, v1alpha1.NoExecute,
			}).Draw(t, "effect")}}
		}
	}
	for _, p := range s.Policies {
		p.Mode = rapid.SampledFrom([]v1alpha1.PolicyMode{
			v1alpha1.PolicyInclude, v1alpha1.PolicyInclude, v1alpha1.PolicyInclude, v1alpha1.PolicyExclusive, v1alpha1.PolicyExclude,
		}).Draw(t, "mode")
		if p.Mode == v1alpha1.PolicyExclude {
			continue
		}
		p.Priority = rapid.IntRange(0, 2).Draw(t, "priority")
		p.Preempts = rapid.Bool().Draw(t, "preempts")
		p.Max = rapid.IntRange(0, 3).Draw(t, "maximum")
		if p.Max > 0 && rapid.Bool().Draw(t, "spreads") {
			p.Spread = []fleet.Spread{{Key: "region", MaxSkew: rapid.IntRange(1, 2).Draw(t, "skew"), Soft: rapid.Bool().Draw(t, "soft")}}
		}
		if p.Max > 0 && rapid.Bool().Draw(t, "prefers") {
			p.Preferences = []fleet.Preference{{Weight: rapid.IntRange(-50, 50).Draw(t, "weight"), Selector: drawSelector(t)}}
			p.MoveThreshold = rapid.SampledFrom([]int{0, 20}).Draw(t, "threshold")
		}
	}
	return s
}

// published returns the assignments of a decision as those of the GitOps branch.
func published(s *fleet.Snapshot, d *Decisions) Published {
	all := pairs(s, d)
	return func(yield func(Pair, []string) bool) {
		for _, p := range all {
			if !yield(Pair{Target: p.Target, ClusterType: p.ClusterType}, p.Policies) {
				return
			}
		}
	}
}

func byPair(s *fleet.Snapshot, d *Decisions) map[Pair][]string {
	all := map[Pair][]string{}
	for _, p := range pairs(s, d) {
		all[Pair{Target: p.Target, ClusterType: p.ClusterType}] = p.Policies
	}
	return all
}

// changed returns a snapshot with one object more or less, or none.
func changed(t *rapid.T, s *fleet.Snapshot) *fleet.Snapshot {
	c := *s
	drop := func(n int) int { return rapid.IntRange(0, max(n-1, 0)).Draw(t, "which") }
	switch rapid.IntRange(0, 3).Draw(t, "change") {
	case 0:
		if len(c.ClusterTypes) > 0 {
			i := drop(len(c.ClusterTypes))
			c.ClusterTypes = slices.Delete(slices.Clone(c.ClusterTypes), i, i+1)
		}
	case 1:
		if len(c.Targets) > 0 {
			i := drop(len(c.Targets))
			c.Targets = slices.Delete(slices.Clone(c.Targets), i, i+1)
		}
	case 2:
		if len(c.Policies) > 0 {
			i := drop(len(c.Policies))
			c.Policies = slices.Delete(slices.Clone(c.Policies), i, i+1)
		}
	}
	return &c
}

func TestDecidingAgainChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := drawRules(t)
		first := Decide(before, Options{})
		now := changed(t, before)
		second := Decide(now, Options{Published: published(before, first)})
		third := Decide(now, Options{Published: published(now, second)})
		if diff := cmp.Diff(pairs(now, second), pairs(now, third)); diff != "" {
			t.Fatalf("a decision that is published is decided otherwise (-before +after):\n%s", diff)
		}
	})
}

// A decision that is published is decided again as it is, right away: also after policies, targets or cluster types have changed.
func TestASecondRunChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := drawRules(t)
		for _, p := range before.Policies {
			p.Preempts = false // what has to make room may come back where another one leaves
		}
		o := Options{Published: published(before, Decide(before, Options{}))}
		now := changed(t, changed(t, before))
		first := Decide(now, o)
		second := Decide(now, Options{Published: published(now, first)})
		if diff := cmp.Diff(pairs(now, first), pairs(now, second)); diff != "" {
			t.Fatalf("a second run differs (-first +second):\n%s", diff)
		}
	})
}

func TestRulesHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := drawRules(t)
		s := changed(t, before)
		o := Options{Published: published(before, Decide(before, Options{}))}
		d := Decide(s, o)
		assigned := byPair(s, d)
		was := map[Pair]bool{}
		for p := range o.Published {
			was[p] = true
		}
		for _, ct := range s.ClusterTypes {
			if limit, limited := ct.Capacity["assignments"]; limited && int64(len(d.For(ct.Name))) > limit.Value() {
				t.Fatalf("%s has %d assignments, capacity %s", ct.Name, len(d.For(ct.Name)), limit.String())
			}
			for _, a := range d.For(ct.Name) {
				pair := Pair{Target: a.Target.Name, ClusterType: ct.Name}
				for _, taint := range ct.Taints {
					if taint.Effect == v1alpha1.NoExecute || taint.Effect == v1alpha1.NoSchedule && !was[pair] {
						t.Fatalf("%v in spite of taint %s", pair, taint.Effect)
					}
				}
			}
		}
		for _, p := range s.Policies {
			chosen := map[string][]string{}
			for pair, policies := range assigned {
				if slices.Contains(policies, p.Name) {
					chosen[pair.Target] = append(chosen[pair.Target], pair.ClusterType)
				}
			}
			for target, clusterTypes := range chosen {
				if p.Max > 0 && len(clusterTypes) > p.Max {
					t.Fatalf("policy %s has %s on %v, its maximum is %d", p.Name, target, clusterTypes, p.Max)
				}
			}
			if p.Mode == v1alpha1.PolicyExclude {
				for pair := range assigned {
					e, err := d.Explain(pair.Target, pair.ClusterType)
					if err != nil {
						t.Fatal(err)
					}
					for _, reason := range e.Policies {
						if reason.Policy == p.Name && reason.Selects {
							t.Fatalf("%v is assigned, and excluded by %s", pair, p.Name)
						}
					}
				}
			}
		}
	})
}

func TestEveryPairHasAReason(t *testing.T) {
	filters := compiledFilters(t)
	rapid.Check(t, func(t *rapid.T) {
		before := drawRules(t)
		drawConditions(t, before, filters)
		s := changed(t, before)
		d := Decide(s, Options{Published: published(before, Decide(before, Options{}))})
		assigned := byPair(s, d)
		for _, target := range s.Targets {
			for _, ct := range s.ClusterTypes {
				e, err := d.Explain(target.Name, ct.Name)
				if err != nil {
					t.Fatal(err)
				}
				var selects []string
				for _, p := range e.Policies {
					if p.Selects && p.Mode != v1alpha1.PolicyExclude {
						selects = append(selects, p.Policy)
					}
					if p.Selects == (p.Step != "") {
						t.Fatalf("%v on %v by %s: selects is %v with step %q", target, ct.Name, p.Policy, p.Selects, p.Step)
					}
					if p.Step != "" && p.Step != StepSelectors && p.Reason == "" {
						t.Fatalf("%v on %v by %s: no reason for step %s", target, ct.Name, p.Policy, p.Step)
					}
				}
				if diff := cmp.Diff(selects, assigned[Pair{Target: target.Name, ClusterType: ct.Name}]); diff != "" {
					t.Fatalf("%v on %v (-explained +decided):\n%s", target, ct.Name, diff)
				}
			}
		}
	})
}

// compiledFilters are filters about a cluster type, a target and a pair, with and without a message.
func compiledFilters(t *testing.T) []fleet.Filter {
	t.Helper()
	s := fleet.Assemble(fleettest.Inputs("dev", map[string]string{"env/policy.yaml": `
apiVersion: scheduler.kalypso.io/v1alpha1
kind: SchedulingPolicy
metadata: {name: filters}
spec:
  deploymentTargetSelector: {}
  clusterTypeSelector: {}
  filters:
  - expression: clusterType.name < 'm'
  - expression: target.name < 'm'
    message: its name is too late in the alphabet
  - expression: clusterType.name < target.name
`}))
	if len(s.Policies) != 1 || len(s.Policies[0].Filters) != 3 {
		t.Fatal(s.Problems)
	}
	return s.Policies[0].Filters
}

// drawConditions adds filters and required features to policies and targets.
func drawConditions(t *rapid.T, s *fleet.Snapshot, filters []fleet.Filter) {
	features := func() []fleet.RequiredFeature {
		return rapid.SampledFrom([][]fleet.RequiredFeature{nil, nil, nil, {{Name: "gpu"}}}).Draw(t, "features")
	}
	for _, p := range s.Policies {
		if p.Mode != v1alpha1.PolicyExclude {
			p.Filters = rapid.SliceOfN(rapid.SampledFrom(filters), 0, 2).Draw(t, "filters")
			p.RequiredFeatures = features()
		}
	}
	for _, target := range s.Targets {
		target.RequiredFeatures = features()
	}
}

func TestOrderOfObjectsDoesNotMatterForRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawRules(t)
		o := Options{Published: published(s, Decide(changed(t, s), Options{}))}
		shuffled := &fleet.Snapshot{
			Environment: s.Environment, Targets: rapid.Permutation(s.Targets).Draw(t, "targets"),
			ClusterTypes: rapid.Permutation(s.ClusterTypes).Draw(t, "cluster types"), Policies: rapid.Permutation(s.Policies).Draw(t, "policies"),
		}
		if diff := cmp.Diff(pairs(s, Decide(s, o)), pairs(s, Decide(shuffled, o))); diff != "" {
			t.Fatalf("pairs differ (-sorted +shuffled):\n%s", diff)
		}
	})
}

// churnFleet has n cluster types, of which each of the targets takes k.
func churnFleet(n, targets, k int) *fleet.Snapshot {
	s := &fleet.Snapshot{Environment: "dev"}
	for i := range n {
		s.ClusterTypes = append(s.ClusterTypes, &fleet.ClusterType{Name: fmt.Sprint("type-", i), Labels: map[string]string{"region": fmt.Sprint("r", i%3)}})
	}
	for i := range targets {
		s.Targets = append(s.Targets, newTarget(fmt.Sprint("app/", i), "", nil))
	}
	s.Policies = []*fleet.Policy{{Name: "some", Max: k}}
	return s
}

// moved counts the assignments of a that b does not have.
func moved(a, b map[Pair][]string) int {
	n := 0
	for pair := range a {
		if _, stays := b[pair]; !stays {
			n++
		}
	}
	return n
}

// One cluster type more or less of n moves at most its share of the assignments, with or without knowledge of what is
// published: ties are broken by rendezvous hashing, and what is published stays.
func TestAClusterTypeMoreOrLessMovesItsShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, k := rapid.IntRange(4, 20).Draw(t, "cluster types"), rapid.IntRange(1, 3).Draw(t, "maximum")
		s := churnFleet(n, 300, k)
		gone := rapid.IntRange(0, n-1).Draw(t, "gone")
		fewer := *s
		fewer.ClusterTypes = slices.Delete(slices.Clone(s.ClusterTypes), gone, gone+1)
		all, less := Decide(s, Options{}), Decide(&fewer, Options{})
		with, without := byPair(s, all), byPair(&fewer, less)
		share := len(all.For(s.ClusterTypes[gone].Name))
		if got := moved(with, without); got != share {
			t.Fatalf("without %s, %d assignments move, it had %d", s.ClusterTypes[gone].Name, got, share)
		}
		if limit := 300 * k * 2 / n; share > limit {
			t.Fatalf("one of %d cluster types has %d of %d assignments", n, share, 300*k)
		}
		// With what is published, a cluster type that is added moves nothing at all, and one that goes moves its own only.
		again := Decide(s, Options{Published: published(&fewer, less)})
		if got := moved(without, byPair(s, again)); got != 0 {
			t.Fatalf("with %s, %d published assignments move", s.ClusterTypes[gone].Name, got)
		}
		after := Decide(&fewer, Options{Published: published(s, all)})
		if got := moved(with, byPair(&fewer, after)); got != share {
			t.Fatalf("without %s, %d published assignments move, it had %d", s.ClusterTypes[gone].Name, got, share)
		}
	})
}

// With capacity and spread, too, a cluster type that goes moves only its own assignments, and one that comes moves none.
func TestPublishedAssignmentsStayUnderAllRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(6, 15).Draw(t, "cluster types")
		s := churnFleet(n, 200, 2)
		s.Policies[0].Spread = []fleet.Spread{{Key: "region", MaxSkew: 1}}
		for _, ct := range s.ClusterTypes {
			ct.Capacity = map[string]resource.Quantity{"assignments": *resource.NewQuantity(int64(400*3/2/n), resource.DecimalSI)}
		}
		first := Decide(s, Options{})
		gone := rapid.IntRange(0, n-1).Draw(t, "gone")
		fewer := *s
		fewer.ClusterTypes = slices.Delete(slices.Clone(s.ClusterTypes), gone, gone+1)
		second := Decide(&fewer, Options{Published: published(s, first)})
		if got, share := moved(byPair(s, first), byPair(&fewer, second)), len(first.For(s.ClusterTypes[gone].Name)); got != share {
			t.Fatalf("without %s, %d assignments move, it had %d", s.ClusterTypes[gone].Name, got, share)
		}
		third := Decide(s, Options{Published: published(&fewer, second)})
		if got := moved(byPair(&fewer, second), byPair(s, third)); got != 0 {
			t.Fatalf("with %s again, %d assignments move", s.ClusterTypes[gone].Name, got)
		}
	})
}

func TestExplainKeepsDecisionsAsTheyAre(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawRules(t)
		d := Decide(s, Options{})
		before := maps.Clone(byPair(s, d))
		for _, target := range s.Targets {
			for _, ct := range s.ClusterTypes {
				if _, err := d.Explain(target.Name, ct.Name); err != nil {
					t.Fatal(err)
				}
			}
		}
		if diff := cmp.Diff(before, byPair(s, d)); diff != "" {
			t.Fatal(diff)
		}
	})
}
