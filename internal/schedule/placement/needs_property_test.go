package placement

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// drawNeeds draws a fleet with every rule, dependencies, and policies of mode onDemand.
func drawNeeds(t *rapid.T) *fleet.Snapshot {
	s := drawRules(t)
	for _, target := range s.Targets {
		// Few workloads, so that several targets meet one dependency.
		target.Workload = rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "workload")
		target.ShortName = target.Name
		for range rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "dependencies") {
			dep := fleet.Dependency{Workload: rapid.SampledFrom([]string{"a", "b", "c", "d", "none"}).Draw(t, "needed")}
			if rapid.Bool().Draw(t, "named") {
				dep.Target = rapid.SampledFrom(s.Targets).Draw(t, "target").ShortName
			}
			target.DependsOn = append(target.DependsOn, dep)
		}
	}
	for _, p := range s.Policies {
		if rapid.IntRange(0, 2).Draw(t, "on demand") == 0 {
			p.Mode, p.Max, p.Preferences, p.Spread, p.MoveThreshold = v1alpha1.PolicyOnDemand, 0, nil, nil, 0
		}
	}
	return s
}

// full is everything that decisions say about an environment.
func full(s *fleet.Snapshot, d *Decisions) map[Pair]string {
	all := map[Pair]string{}
	for _, ct := range s.ClusterTypes {
		for _, a := range d.For(ct.Name) {
			text := strings.Join(a.Policies, ",")
			for _, other := range a.DependsOn {
				text += " after " + other.Name
			}
			if a.Held != nil {
				text += " held: " + a.Held.Message
			}
			all[Pair{Target: a.Target.Name, ClusterType: ct.Name}] = text
		}
	}
	return all
}

func TestOrderOfObjectsDoesNotMatterForNeeds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := drawNeeds(t)
		s := changed(t, before)
		o := Options{Published: published(before, Decide(before, Options{}))}
		shuffled := &fleet.Snapshot{
			Environment:  s.Environment,
			Targets:      rapid.Permutation(s.Targets).Draw(t, "targets"),
			ClusterTypes: rapid.Permutation(s.ClusterTypes).Draw(t, "cluster types"),
			Policies:     rapid.Permutation(s.Policies).Draw(t, "policies"),
		}
		a, b := Decide(s, o), Decide(shuffled, o)
		if diff := cmp.Diff(full(s, a), full(s, b)); diff != "" {
			t.Fatalf("assignments differ (-sorted +shuffled):\n%s", diff)
		}
		if diff := cmp.Diff(a.Problems(), b.Problems()); diff != "" {
			t.Fatalf("problems differ (-sorted +shuffled):\n%s", diff)
		}
	})
}

// TestNeedsAreMetOrReported compares decisions with the definition: what is not held has all its dependencies, and what a policy of
// mode onDemand assigns is needed by something.
func TestNeedsAreMetOrReported(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawNeeds(t)
		d := Decide(s, Options{})
		modes := map[string]v1alpha1.PolicyMode{}
		for _, p := range s.Policies {
			modes[p.Name] = p.Mode
		}
		for _, ct := range s.ClusterTypes {
			assigned := d.For(ct.Name)
			for _, a := range assigned {
				for _, dep := range a.Target.DependsOn {
					meets := func(other *fleet.Target) bool {
						return other.Workload == dep.Workload && (dep.Target == "" || other.ShortName == dep.Target)
					}
					if a.Held == nil && !slices.ContainsFunc(a.DependsOn, meets) {
						t.Fatalf("%s on %s lacks %s and is not held", a.Target, ct.Name, dep)
					}
				}
				if a.Held != nil && !slices.ContainsFunc(d.Problems(), func(p fleet.Problem) bool {
					return p.Kind == fleet.KindDependency && p.Object.Name == a.Target.Name
				}) {
					t.Fatalf("%s on %s is held without a problem", a.Target, ct.Name)
				}
				for _, other := range a.DependsOn {
					i := slices.IndexFunc(assigned, func(b Assignment) bool { return b.Target == other })
					if assigned[i].Held != nil || assigned[i].Wave >= a.Wave {
						t.Fatalf("%s in wave %d on %s comes after %s in wave %d", a.Target, a.Wave, ct.Name, other, assigned[i].Wave)
					}
				}
				onDemand := slices.ContainsFunc(a.Policies, func(p string) bool { return modes[p] == v1alpha1.PolicyOnDemand })
				needed := slices.ContainsFunc(assigned, func(b Assignment) bool { return slices.Contains(b.DependsOn, a.Target) })
				if onDemand && !needed && a.Held == nil {
					t.Fatalf("nothing needs %s on %s, held are %v", a.Target, ct.Name, d.Problems())
				}
			}
		}
	})
}

func TestDecidingNeedsAgainChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawNeeds(t)
		// What is held is not published when it is new.
		live := func(d *Decisions) Published {
			return func(yield func(Pair, []string) bool) {
				for _, ct := range s.ClusterTypes {
					for _, a := range d.For(ct.Name) {
						if a.Held == nil && !yield(Pair{Target: a.Target.Name, ClusterType: ct.Name}, a.Policies) {
							return
						}
					}
				}
			}
		}
		first := Decide(s, Options{})
		second := Decide(s, Options{Published: live(first)})
		third := Decide(s, Options{Published: live(second)})
		for pair, was := range full(s, second) {
			if now := full(s, third)[pair]; now != was && !strings.Contains(was, "held") && !strings.Contains(now, "held") {
				t.Fatalf("%v: %s became %s", pair, was, now)
			}
		}
	})
}
