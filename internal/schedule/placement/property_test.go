package placement

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// pair is an assignment by names.
type pair struct {
	ClusterType, Target string
	Policies            []string
}

func pairs(s *fleet.Snapshot, d *Decisions) []pair {
	var all []pair
	for _, ct := range sortedByName(s.ClusterTypes, func(ct *fleet.ClusterType) string { return ct.Name }) {
		for _, a := range d.For(ct.Name) {
			all = append(all, pair{a.ClusterType.Name, a.Target.Name, a.Policies})
		}
	}
	return all
}

// naivePairs is the definition of scheduling: check every policy for every pair.
func naivePairs(s *fleet.Snapshot) []pair {
	var all []pair
	for _, ct := range sortedByName(s.ClusterTypes, func(ct *fleet.ClusterType) string { return ct.Name }) {
		for _, t := range sortedByName(s.Targets, func(t *fleet.Target) string { return t.Name }) {
			var names []string
			for _, p := range s.Policies {
				if (p.Workspace == "" || p.Workspace == t.Workspace) &&
					p.Targets.Matches(labels.Set(t.Labels)) && p.ClusterTypes.Matches(labels.Set(ct.Labels)) {
					names = append(names, p.Name)
				}
			}
			if slices.Sort(names); len(names) > 0 {
				all = append(all, pair{ct.Name, t.Name, names})
			}
		}
	}
	return all
}

func TestDecideIsTheTripleLoop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		d := Decide(s, Options{})
		if diff := cmp.Diff(pairs(s, d), naivePairs(s)); diff != "" {
			t.Fatalf("pairs (-got +want):\n%s", diff)
		}
	})
}

func TestOrderOfObjectsDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		shuffled := &fleet.Snapshot{
			Environment:  s.Environment,
			Targets:      rapid.Permutation(s.Targets).Draw(t, "targets"),
			ClusterTypes: rapid.Permutation(s.ClusterTypes).Draw(t, "cluster types"),
			Policies:     rapid.Permutation(s.Policies).Draw(t, "policies"),
		}
		a, b := Decide(s, Options{}), Decide(shuffled, Options{})
		if diff := cmp.Diff(pairs(s, a), pairs(s, b)); diff != "" {
			t.Fatalf("pairs differ (-sorted +shuffled):\n%s", diff)
		}
		if diff := cmp.Diff(a.Unused(), b.Unused()); diff != "" {
			t.Fatalf("warnings differ (-sorted +shuffled):\n%s", diff)
		}
	})
}

func TestNoPairIsLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		d := Decide(s, Options{})
		assigned := map[[2]string][]string{}
		for _, p := range pairs(s, d) {
			assigned[[2]string{p.Target, p.ClusterType}] = p.Policies
		}
		for _, target := range s.Targets {
			for _, ct := range s.ClusterTypes {
				e, err := d.Explain(target.Name, ct.Name)
				if err != nil {
					t.Fatal(err)
				}
				checkExplanation(t, e, assigned[[2]string{target.Name, ct.Name}], len(s.Policies))
			}
		}
	})
}

// checkExplanation compares an explanation with the policies that the decision names.
func checkExplanation(t *rapid.T, e Explanation, decided []string, policies int) {
	var selects []string
	for _, p := range e.Policies {
		if p.Selects != (len(p.Failed) == 0) {
			t.Fatalf("policy %s: selects is %v with %d failed requirements", p.Policy, p.Selects, len(p.Failed))
		}
		if p.Selects {
			selects = append(selects, p.Policy)
		}
	}
	if len(e.Policies) != policies {
		t.Fatalf("%d of %d policies have a reason", len(e.Policies), policies)
	}
	if e.Assigned != (len(decided) > 0) {
		t.Fatalf("%s on %s: explained as assigned %v, decided by %q", e.Target, e.ClusterType, e.Assigned, decided)
	}
	if diff := cmp.Diff(selects, decided); diff != "" {
		t.Fatalf("policies (-explained +decided):\n%s", diff)
	}
}

func TestUnusedPoliciesAreThoseThatSelectNoPair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		used := map[string]bool{}
		for _, p := range naivePairs(s) {
			for _, name := range p.Policies {
				used[name] = true
			}
		}
		var want []string
		for _, p := range s.Policies {
			if !used[p.Name] {
				want = append(want, p.Name)
			}
		}
		var got []string
		for _, p := range Decide(s, Options{}).Unused() {
			got = append(got, p.Object.Name)
			if p.Hint == "" {
				t.Fatalf("no hint for %s", p.Object.Name)
			}
		}
		slices.Sort(want)
		if diff := cmp.Diff(got, want); diff != "" {
			t.Fatalf("unused (-got +want):\n%s", diff)
		}
	})
}

// Few names, values and requirements, so that selectors match often and policies overlap.
var (
	names      = rapid.StringMatching(`[a-e]{1,3}`)
	workspaces = rapid.SampledFrom([]string{"", "kaizen", "library"})
	labelKeys  = rapid.SampledFrom([]string{"edge", "region", "size"})
	labelTexts = rapid.SampledFrom([]string{"", "1", "2", "3", "true"})
	operators  = []selection.Operator{
		selection.Equals, selection.DoubleEquals, selection.NotEquals, selection.In, selection.NotIn,
		selection.Exists, selection.DoesNotExist, selection.GreaterThan, selection.LessThan,
	}
	labelSets = rapid.MapOfN(labelKeys, labelTexts, 0, 3)
)

func drawSnapshot(t *rapid.T) *fleet.Snapshot {
	s := &fleet.Snapshot{Environment: "dev"}
	unique := func(what string, atMost int) []string {
		return rapid.SliceOfNDistinct(names, 0, atMost, rapid.ID[string]).Draw(t, what)
	}
	for _, name := range unique("targets", 12) {
		s.Targets = append(s.Targets, newTarget("app/"+name, workspaces.Draw(t, "workspace"), labelSets.Draw(t, "labels")))
	}
	for _, name := range unique("cluster types", 4) {
		s.ClusterTypes = append(s.ClusterTypes, &fleet.ClusterType{Name: name, Labels: labelSets.Draw(t, "labels")})
	}
	for _, name := range unique("policies", 8) {
		s.Policies = append(s.Policies, &fleet.Policy{
			Name:         name,
			Workspace:    workspaces.Draw(t, "workspace"),
			Targets:      drawSelector(t),
			ClusterTypes: drawSelector(t),
		})
	}
	return s
}

func drawSelector(t *rapid.T) labels.Selector {
	if rapid.IntRange(0, 20).Draw(t, "nothing") == 20 {
		return labels.Nothing()
	}
	s := labels.Everything()
	for range rapid.SampledFrom([]int{0, 0, 1, 1, 1, 2, 3}).Draw(t, "requirements") {
		s = s.Add(drawRequirement(t))
	}
	return s
}

func drawRequirement(t *rapid.T) labels.Requirement {
	operator := rapid.SampledFrom(operators).Draw(t, "operator")
	var values []string
	switch operator {
	case selection.In, selection.NotIn:
		values = rapid.SliceOfN(labelTexts, 1, 3).Draw(t, "values")
	case selection.GreaterThan, selection.LessThan:
		values = []string{rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, "value")}
	case selection.Equals, selection.DoubleEquals, selection.NotEquals:
		values = []string{labelTexts.Draw(t, "value")}
	}
	r, err := labels.NewRequirement(labelKeys.Draw(t, "key"), operator, values)
	if err != nil {
		t.Fatal(err)
	}
	return *r
}
