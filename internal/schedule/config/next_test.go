package config

import (
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// A composer made from an earlier one composes what a new one does, and what it takes for unchanged is.
func TestNextIsNew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawFleet(t, drawnValue)
		digests := 0
		edited := func(c *fleet.ConfigMap) *fleet.ConfigMap {
			digests++
			c.Digest = fleet.Digest{byte(digests)}
			return c
		}
		for _, c := range s.Configs {
			edited(c)
		}
		earlier, _ := NewComposer(s)
		for range rapid.IntRange(1, 3).Draw(t, "rounds") {
			next := *s
			next.Configs = slices.Clone(s.Configs)
			for i, c := range next.Configs {
				if rapid.Bool().Draw(t, "change") {
					labels := c.Labels
					if rapid.IntRange(0, 9).Draw(t, "relabel") == 0 {
						labels = map[string]string{"region": "a"}
					}
					next.Configs[i] = edited(drawLayer(t, c.Name, labels, drawnValue))
				}
			}
			got, _ := earlier.Next(&next)
			want, _ := NewComposer(&next)
			for _, ct := range s.ClusterTypes {
				compareStacks(t, got.Stack(ct), want.Stack(ct), s.Targets)
				if before := earlier.Candidates(ct); got.Unchanged(before) && before.Digest() != want.Candidates(ct).Digest() {
					t.Fatalf("the candidates of %s have changed", ct.Name)
				}
			}
			s, earlier = &next, got
		}
	})
}

func compareStacks(t *rapid.T, got, want *Stack, targets []*fleet.Target) {
	if got.Digest() != want.Digest() {
		t.Fatal("the digests differ")
	}
	for _, target := range targets {
		if diff := gocmp.Diff(got.Compose(target, nil), want.Compose(target, nil), compareResults); diff != "" {
			t.Fatalf("%s differs (-next +new):\n%s", target.Name, diff)
		}
	}
}

// A changed value concerns only the clusters that the layer can apply to.
func TestChangedValueConcernsFew(t *testing.T) {
	fleetOf := func(value string) *fleet.Snapshot {
		s := pair(oneText("base", nil, "v"))
		for _, cluster := range []string{"west-1", "west-2"} {
			s.Configs = append(s.Configs, oneText(cluster, map[string]string{labelCluster: cluster}, "v"))
		}
		s.Configs = append(s.Configs, oneText("zone", map[string]string{labelCluster: "west-2", "tier": "gold"}, value))
		return s
	}
	s := fleetOf("v")
	clusterOf := func(name string) *fleet.ClusterType { return s.ClusterTypes[0].Of(&fleet.Cluster{Name: name}) }
	c, _ := NewComposer(s)
	one, two := c.Candidates(clusterOf("west-1")), c.Candidates(clusterOf("west-2"))

	next, _ := c.Next(fleetOf("another"))
	if !next.Unchanged(one) || next.Unchanged(two) {
		t.Error("the value of west-2 does not concern west-2 alone")
	}
	if next, _ = c.Next(s); !next.Unchanged(one) || !next.Unchanged(two) {
		t.Error("nothing has changed")
	}

	for name, change := range map[string]func(s *fleet.Snapshot){
		"another label":    func(s *fleet.Snapshot) { s.Configs[3] = oneText("zone", map[string]string{"tier": "gold"}, "another") },
		"another name":     func(s *fleet.Snapshot) { s.Configs[3] = oneText("zones", s.Configs[3].Labels, "another") },
		"a layer more":     func(s *fleet.Snapshot) { s.Configs = append(s.Configs, oneText("zzz", nil, "v")) },
		"a target's label": func(s *fleet.Snapshot) { s.Targets[0].Labels, s.Targets[1].Labels = nil, nil },
		"a named schema":   func(s *fleet.Snapshot) { s.Targets[0].ConfigSchemas = []string{"later"} },
		"a schema":         func(s *fleet.Snapshot) { s.Schemas = []*fleet.Schema{{Name: "all", Document: true}} },
		"what is unreadable": func(s *fleet.Snapshot) {
			s.Unreadable = []fleet.Unreadable{{Ref: fleet.Ref{Kind: "ConfigMap", Name: "x"}}}
		},
		"many values": func(s *fleet.Snapshot) {
			for i := range few + 1 {
				s.Configs = append(s.Configs, oneText(fmt.Sprint("more-", i), nil, "v"))
			}
		},
	} {
		s := fleetOf("v")
		change(s)
		if next, _ := c.Next(s); next.Unchanged(one) {
			t.Errorf("%s: west-1 is taken for unchanged", name)
		}
	}
}
