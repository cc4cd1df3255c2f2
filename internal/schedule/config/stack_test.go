package config

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// pair is a fleet of one cluster type, two targets and the layers.
func pair(layers ...*fleet.ConfigMap) *fleet.Snapshot {
	return &fleet.Snapshot{
		ClusterTypes: []*fleet.ClusterType{{Name: "small", Labels: map[string]string{"region": "west-us"}}},
		Targets: []*fleet.Target{
			{Name: "shop-test", Workload: "shop", Labels: map[string]string{"tier": "gold"}},
			{Name: "shop-prod", Workload: "shop", Labels: map[string]string{"tier": "gold"}},
		},
		Configs: layers,
	}
}

func oneText(name string, labels map[string]string, value string) *fleet.ConfigMap {
	c := &fleet.ConfigMap{Name: name, Labels: labels, Entries: []fleet.ConfigEntry{{Key: "KEY", Value: text(value)}}}
	c.Digest = fleet.Digest{byte(len(value))}
	return c
}

// The digest follows what can apply on the cluster type, and nothing else.
func TestDigestFollowsTheCandidates(t *testing.T) {
	digestOf := func(s *fleet.Snapshot) fleet.Digest {
		c, _ := NewComposer(s)
		return c.Stack(s.ClusterTypes[0]).Digest()
	}
	base := func() *fleet.Snapshot { return pair(oneText("base", nil, "v")) }
	want := digestOf(base())

	for name, change := range map[string]func(s *fleet.Snapshot){
		"a value changes": func(s *fleet.Snapshot) { s.Configs[0].Digest = fleet.Digest{7} },
		"a layer for a target": func(s *fleet.Snapshot) {
			s.Configs = append(s.Configs, oneText("t", map[string]string{"tier": "gold"}, "v"))
		},
		"a schema that selects": func(s *fleet.Snapshot) { s.Schemas = []*fleet.Schema{{Name: "all", Document: true}} },
		"a schema is named":     func(s *fleet.Snapshot) { s.Targets[0].ConfigSchemas = []string{"later"} },
		"an unreadable layer": func(s *fleet.Snapshot) {
			s.Unreadable = []fleet.Unreadable{{Ref: fleet.Ref{Kind: "ConfigMap", Name: "x"}}}
		},
	} {
		s := base()
		change(s)
		if digestOf(s) == want {
			t.Errorf("%s: the digest stays the same", name)
		}
	}
	for name, change := range map[string]func(s *fleet.Snapshot){
		"a layer of another cluster type": func(s *fleet.Snapshot) {
			s.Configs = append(s.Configs, oneText("o", map[string]string{"cluster-type": "large"}, "v"))
		},
		"a layer that no target has the label for": func(s *fleet.Snapshot) {
			s.Configs = append(s.Configs, oneText("o", map[string]string{"tier": "silver"}, "v"))
		},
		"a schema that is not used": func(s *fleet.Snapshot) { s.Schemas = []*fleet.Schema{{Name: "lonely", Inline: true, Document: true}} },
	} {
		s := base()
		change(s)
		if digestOf(s) != want {
			t.Errorf("%s: the digest changes", name)
		}
	}
}

// Which labels the cluster type meets itself is a part of the digest: the others are asked of each target.
func TestDigestTellsWhoMeetsALabel(t *testing.T) {
	s := pair(oneText("base", map[string]string{"tier": "gold"}, "v"))
	c, _ := NewComposer(s)
	gold := &fleet.ClusterType{Name: "gold", Labels: map[string]string{"tier": "gold"}}
	if c.Stack(s.ClusterTypes[0]).Digest() == c.Stack(gold).Digest() {
		t.Error("the digest is the same")
	}
}

// Templates are evaluated for each assignment, equal texts once; equal results share one configuration.
func TestTemplatesShareByTheirResults(t *testing.T) {
	s := pair(oneText("base", nil, "{{ x }}"), oneText("more", map[string]string{"tier": "gold"}, "{{ x }}"),
		oneText("plain", map[string]string{"region": "west-us", "tier": "gold"}, "plain"))
	c, _ := NewComposer(s)
	stack := c.Stack(s.ClusterTypes[0])
	var asked []string
	eval := func(result string) Eval {
		return func(text string) (string, error) {
			asked = append(asked, text)
			return result, nil
		}
	}
	a := stack.Compose(s.Targets[0], eval("same"))
	b := stack.Compose(s.Targets[1], eval("same"))
	other := stack.Compose(s.Targets[1], eval("other"))
	if a.Composed != b.Composed {
		t.Error("equal results do not share a configuration")
	}
	if a.Composed == other.Composed {
		t.Error("different results share a configuration")
	}
	if diff := cmp.Diff([]string{"{{ x }}", "{{ x }}", "{{ x }}"}, asked); diff != "" {
		t.Errorf("asked to evaluate (-want +got):\n%s", diff)
	}
	if got := []string{a.Keys()[0].Over[0].Value, a.Keys()[0].Over[1].Value}; !slices.Equal(got, []string{"same", "same"}) {
		t.Errorf("overridden templates are not evaluated: %q", got)
	}
}

// What differs for every target is not kept, and is right all the same.
func TestManyResultsAreNotKept(t *testing.T) {
	s := pair(oneText("base", nil, "{{ x }}"))
	c, _ := NewComposer(s)
	stack := c.Stack(s.ClusterTypes[0])
	for i := range 2 * maxEvaluated {
		want := strings.Repeat("x", i)
		r := stack.Compose(s.Targets[0], func(string) (string, error) { return want, nil })
		if r.Data["KEY"] != want {
			t.Fatalf("got %q, want %q", r.Data["KEY"], want)
		}
	}
	if got := len(stack.compositions); got != maxEvaluated {
		t.Errorf("%d configurations are kept, want %d", got, maxEvaluated)
	}
}

// One target's failure is not another's.
func TestFailureOfATemplateIsOfOneTarget(t *testing.T) {
	s := pair(oneText("base", nil, "{{ x }}"))
	c, _ := NewComposer(s)
	stack := c.Stack(s.ClusterTypes[0])
	bad := stack.Compose(s.Targets[0], func(string) (string, error) { return "", errors.New("no x here") })
	good := stack.Compose(s.Targets[1], func(string) (string, error) { return "fine", nil })
	if !bad.Hold || len(bad.Problems) != 1 || !strings.Contains(bad.Problems[0].Message, "evaluate KEY: no x here") {
		t.Errorf("the failure is not reported: %+v", bad)
	}
	if good.Hold || len(good.Problems) != 0 || good.Data["KEY"] != "fine" {
		t.Errorf("the other target suffers: %+v", good)
	}
}

// A target that is not the snapshot's own, but like one of them, has the same configuration.
func TestTargetsAreComparedByWhatTheySay(t *testing.T) {
	s := pair(oneText("base", map[string]string{"tier": "gold"}, "v"))
	c, _ := NewComposer(s)
	stack := c.Stack(s.ClusterTypes[0])
	like := *s.Targets[0]
	like.Labels = maps.Clone(like.Labels)
	if stack.Compose(&like, nil).Composed != stack.Compose(s.Targets[0], nil).Composed {
		t.Error("an equal target has a configuration of its own")
	}
}

// The digest of a configuration tells all data apart that templates could print differently.
func TestDigestIdentifiesData(t *testing.T) {
	all := []map[string]any{
		{},
		{"a": ""},
		{"a": "1"},
		{"a": 1},
		{"a": 1.5},
		{"a": true},
		{"a": "true"},
		{"a": nil},
		{"a": "null"},
		{"a": map[string]any{}},
		{"a": []any{}},
		{"a": []any{"b", "c"}},
		{"a": []any{"bc"}},
		{"a": "bc"},
		{"ab": "c"},
		{"a": []any{"b", "cd"}},
		{"a": []any{"bc", "d"}},
	}
	seen := map[fleet.Digest]int{}
	for i, data := range all {
		if j, taken := seen[digest(data, nil)]; taken {
			t.Errorf("%v and %v have one digest", all[j], data)
		}
		seen[digest(data, nil)] = i
		if digest(data, nil) != digest(maps.Clone(data), nil) {
			t.Errorf("the digest of %v varies", data)
		}
	}
}
