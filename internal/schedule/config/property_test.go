package config

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// drawFleet draws a fleet in which layers match often: few labels, few values, few keys.
func drawFleet(t *rapid.T, value *rapid.Generator[string]) *fleet.Snapshot {
	keys := rapid.SampledFrom([]string{"region", "size", "tier", labelWorkload, labelClusterType, labelTarget})
	values := rapid.SampledFrom([]string{"", "a", "b"})
	names := rapid.SampledFrom([]string{"a", "b"})
	labels := rapid.MapOfN(keys, values, 0, 3)

	s := &fleet.Snapshot{}
	for i := range rapid.IntRange(1, 3).Draw(t, "cluster types") {
		name := names.Draw(t, "cluster type")
		s.ClusterTypes = append(s.ClusterTypes, &fleet.ClusterType{Name: name, Labels: labels.Draw(t, fmt.Sprint("labels of cluster type ", i))})
	}
	for range rapid.IntRange(1, 3).Draw(t, "targets") {
		s.Targets = append(s.Targets, &fleet.Target{
			Name: names.Draw(t, "target"), Workload: names.Draw(t, "workload"), Labels: labels.Draw(t, "labels of target"),
		})
	}
	for i := range rapid.IntRange(0, 8).Draw(t, "layers") {
		s.Configs = append(s.Configs, drawLayer(t, fmt.Sprintf("layer-%d", i), labels.Draw(t, "labels"), value))
	}
	return s
}

func drawLayer(t *rapid.T, name string, labels map[string]string, value *rapid.Generator[string]) *fleet.ConfigMap {
	c := &fleet.ConfigMap{Name: name, Labels: labels}
	c.Position.File = name + ".yaml"
	entries := rapid.MapOfN(rapid.SampledFrom([]string{"K", "L", "M"}), value, 0, 3).Draw(t, "data")
	for i, key := range slices.Sorted(maps.Keys(entries)) {
		node := &yaml.Node{Kind: yaml.ScalarNode, Style: yaml.LiteralStyle, Tag: "!!str", Value: entries[key], Line: 100 * (i + 1)}
		c.Entries = append(c.Entries, fleet.ConfigEntry{Key: key, Value: node})
	}
	return c
}

// plainText draws texts that are neither maps nor templates.
var plainText = rapid.StringMatching(`[xyz]{0,2}`)

// drawnValue draws texts, many of which are maps with lists in them.
var drawnValue = rapid.Custom(func(t *rapid.T) string {
	if rapid.Bool().Draw(t, "plain") {
		return plainText.Draw(t, "text")
	}
	text, err := yaml.Marshal(drawMap(t, 3))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
})

func drawMap(t *rapid.T, depth int) map[string]any {
	m := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "fields") {
		key := rapid.SampledFrom([]string{"name", "p", "q", "r.s"}).Draw(t, "key")
		m[key] = drawAny(t, depth-1)
	}
	return m
}

func drawAny(t *rapid.T, depth int) any {
	what := rapid.IntRange(0, 5).Draw(t, "what")
	switch {
	case what == 0 && depth > 0:
		return drawMap(t, depth)
	case what == 1 && depth > 0:
		items := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			items = append(items, drawMap(t, depth))
		}
		return items
	case what == 2 && depth > 0:
		return []any{drawAny(t, depth-1)}
	case what == 3:
		return rapid.IntRange(0, 2).Draw(t, "number")
	case what == 4:
		return nil
	default:
		return plainText.Draw(t, "text")
	}
}

// Layers of texts: the configuration is what the rule says, computed in the simplest way.
func TestLastOfTheMatchingLayersWins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawFleet(t, plainText)
		c, _ := NewComposer(s)
		for _, ct := range s.ClusterTypes {
			stack := c.Stack(ct)
			for _, target := range s.Targets {
				got := stack.Compose(target, nil)
				data, layers := naive(s.Configs, ct, target)
				if diff := gocmp.Diff(data, got.Data); diff != "" {
					t.Fatalf("%s on %s (-naive +got):\n%s", target.Name, ct.Name, diff)
				}
				if diff := gocmp.Diff(layers, got.Layers.Names()); diff != "" {
					t.Fatalf("layers of %s on %s (-naive +got):\n%s", target.Name, ct.Name, diff)
				}
			}
		}
	})
}

func naive(configs []*fleet.ConfigMap, ct *fleet.ClusterType, t *fleet.Target) (data map[string]any, layers []string) {
	sorted := slices.SortedFunc(slices.Values(configs), func(a, b *fleet.ConfigMap) int {
		return cmp.Or(cmp.Compare(len(a.Labels), len(b.Labels)), cmp.Compare(a.Name, b.Name))
	})
	data = map[string]any{}
	for _, c := range sorted {
		if naiveMatch(c.Labels, ct, t) {
			layers = append(layers, c.Name)
			for _, e := range c.Entries {
				data[e.Key] = e.Value.Value
			}
		}
	}
	return data, layers
}

func naiveMatch(labels map[string]string, ct *fleet.ClusterType, t *fleet.Target) bool {
	for key, value := range labels {
		ofType, onType := ct.Labels[key]
		ofTarget, onTarget := t.Labels[key]
		met := onType && ofType == value || onTarget && ofTarget == value
		switch key {
		case labelClusterType:
			met = ct.Name == value
		case labelTarget:
			met = t.Name == value
		case labelWorkload:
			met = t.Workload == value
		}
		if !met {
			return false
		}
	}
	return true
}

// The order in which objects are listed does not matter, nor who asks first.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawFleet(t, drawnValue)
		shuffled := *s
		shuffled.Configs = rapid.Permutation(s.Configs).Draw(t, "order of layers")
		shuffled.Targets = rapid.Permutation(s.Targets).Draw(t, "order of targets")
		a, _ := NewComposer(s)
		b, _ := NewComposer(&shuffled)
		for _, ct := range s.ClusterTypes {
			first, second := a.Stack(ct), b.Stack(ct)
			if first.Digest() != second.Digest() {
				t.Fatalf("the digests of %s differ", ct.Name)
			}
			composeAll(second, shuffled.Targets)
			for _, target := range s.Targets {
				x, y := first.Compose(target, nil), second.Compose(target, nil)
				if diff := gocmp.Diff(x, y, compareResults); diff != "" {
					t.Fatalf("%s on %s differs:\n%s", target.Name, ct.Name, diff)
				}
				if gocmp.Diff(a.Precedence(first, target), b.Precedence(second, target)) != "" {
					t.Fatalf("the precedence of %s on %s differs", target.Name, ct.Name)
				}
			}
		}
	})
}

// compareResults compares results without how they are computed.
var compareResults = gocmp.Transformer("result", func(r Result) any {
	return []any{r.Data, r.Keys(), r.Layers.Names(), r.Digest, r.Schemas, r.Problems, r.Hold}
})

func composeAll(s *Stack, targets []*fleet.Target) {
	for _, t := range targets {
		s.Compose(t, nil)
	}
}

// Every leaf of the data has exactly one key, and the value of a key stands in the layer and line that it names.
func TestProvenanceIsComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawFleet(t, drawnValue)
		c, _ := NewComposer(s)
		written := map[string]bool{}
		for _, l := range c.layers {
			for _, e := range l.entries {
				e.value.eachLeaf(e.key, func(_ string, leaf *node) {
					written[fmt.Sprint(leaf.place(), leaf.text())] = true
				})
			}
		}
		for _, ct := range s.ClusterTypes {
			stack := c.Stack(ct)
			for _, target := range s.Targets {
				checkProvenance(t, stack.Compose(target, nil), written)
			}
		}
	})
}

func checkProvenance(t *rapid.T, r Result, written map[string]bool) {
	got := map[string]string{}
	for _, key := range r.Keys() {
		if _, twice := got[key.Path]; twice {
			t.Fatalf("%s is there twice", key.Path)
		}
		got[key.Path] = key.Value
		if !written[fmt.Sprint(key.From, key.Value)] {
			t.Fatalf("%s = %q is not written at %v", key.Path, key.Value, key.From)
		}
		if !slices.Contains(r.Layers.Names(), key.From.ConfigMap) {
			t.Fatalf("%s comes from %s, which does not apply", key.Path, key.From.ConfigMap)
		}
		strongest := slices.Index(r.Layers.Names(), key.From.ConfigMap)
		for _, o := range key.Over {
			next := slices.Index(r.Layers.Names(), o.ConfigMap)
			if next < 0 || next > strongest {
				t.Fatalf("%s: %s is not weaker than what precedes it", key.Path, o.ConfigMap)
			}
			strongest = next
		}
	}
	want := map[string]string{}
	for key, value := range r.Data {
		leavesOf(key, value, want)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Fatalf("the keys are not the leaves of the data (-data +keys):\n%s", diff)
	}
}

// leavesOf lists the leaves of plain data by their path, written apart from what it checks.
func leavesOf(path string, v any, into map[string]string) {
	switch v := v.(type) {
	case map[string]any:
		if len(v) == 0 {
			into[path] = "{}"
		}
		for key, field := range v {
			if strings.Contains(key, ".") {
				key = `"` + key + `"`
			}
			leavesOf(path+"."+key, field, into)
		}
	case []any:
		if len(v) == 0 {
			into[path] = "[]"
		}
		taken := map[string]bool{}
		for i, item := range v {
			leavesOf(path+"["+address(item, i, taken)+"]", item, into)
		}
	case nil:
		into[path] = "null"
	default:
		into[path] = fmt.Sprint(v)
	}
}

func address(item any, i int, taken map[string]bool) string {
	m, _ := item.(map[string]any)
	if name, ok := m["name"].(string); ok && !taken[name] {
		taken[name] = true
		if name == "" {
			return `""`
		}
		return name
	}
	return fmt.Sprint(i)
}

// Targets with equal layers share one configuration, even if several goroutines request it at the same time.
func TestConfigurationsAreShared(t *testing.T) {
	s := largeFleet(50, 2, 20)
	c, _ := NewComposer(s)
	stack := c.Stack(s.ClusterTypes[0])
	results := make([]*Composed, len(s.Targets))
	var group sync.WaitGroup
	for i, target := range s.Targets {
		group.Go(func() { results[i] = stack.Compose(target, nil).Composed })
	}
	group.Wait()
	for i, r := range results {
		if r != results[0] {
			t.Fatalf("target %d has a configuration of its own", i)
		}
	}
}
