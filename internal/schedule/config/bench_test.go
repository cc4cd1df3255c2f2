package config

import (
	"fmt"
	"testing"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// largeFleet returns a fleet in which each cluster type has the given number of layers, the most of them its own.
func largeFleet(targets, clusterTypes, layers int) *fleet.Snapshot {
	s := &fleet.Snapshot{Environment: "dev"}
	for i := range targets {
		name := fmt.Sprintf("app-%d", i)
		s.Targets = append(s.Targets, &fleet.Target{
			Name: name, Workload: name, Labels: map[string]string{"workload": name, "workspace": "team", "managed": "true"},
		})
	}
	for i := range clusterTypes {
		name, region := fmt.Sprintf("type-%d", i), fmt.Sprintf("region-%d", i%10)
		s.ClusterTypes = append(s.ClusterTypes, &fleet.ClusterType{Name: name, Labels: map[string]string{"region": region}})
		for j := range layers - 2 {
			s.Configs = append(s.Configs, textLayer(fmt.Sprintf("%s-%d", name, j), map[string]string{labelClusterType: name}, j))
		}
	}
	for i := range 10 {
		region := fmt.Sprintf("region-%d", i)
		s.Configs = append(s.Configs, textLayer(region, map[string]string{"region": region}, i))
	}
	s.Configs = append(s.Configs, textLayer("base", nil, 0))
	return s
}

func textLayer(name string, labels map[string]string, n int) *fleet.ConfigMap {
	c := &fleet.ConfigMap{Name: name, Labels: labels}
	for _, key := range []string{"REGION", "COMMON", fmt.Sprintf("KEY_%d", n)} {
		c.Entries = append(c.Entries, fleet.ConfigEntry{Key: key, Value: text("value of " + name)})
	}
	return c
}

// BenchmarkCompose asks for every assignment of a large fleet again.
func BenchmarkCompose(b *testing.B) {
	s := largeFleet(1000, 100, 20)
	c, _ := NewComposer(s)
	stacks := make([]*Stack, len(s.ClusterTypes))
	for i, ct := range s.ClusterTypes {
		stacks[i] = c.Stack(ct)
		composeAll(stacks[i], s.Targets)
	}
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		stacks[n%100].Compose(s.Targets[n%1000], nil)
	}
}

// BenchmarkComposeCold composes a large fleet from the beginning: 100,000 assignments.
func BenchmarkComposeCold(b *testing.B) {
	s := largeFleet(1000, 100, 20)
	b.ReportAllocs()
	for b.Loop() {
		c, _ := NewComposer(s)
		for _, ct := range s.ClusterTypes {
			composeAll(c.Stack(ct), s.Targets)
		}
	}
}

// BenchmarkComposeTemplate composes a configuration of which one value differs for every target.
func BenchmarkComposeTemplate(b *testing.B) {
	s := largeFleet(1000, 1, 20)
	s.Configs[0].Entries[0].Value = text("{{ .DeploymentTargetName }}")
	c, _ := NewComposer(s)
	stack := c.Stack(s.ClusterTypes[0])
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		t := s.Targets[n%1000]
		stack.Compose(t, func(string) (string, error) { return t.Name, nil })
	}
}

// BenchmarkCheck checks a configuration of twenty keys with a schema of as many.
func BenchmarkCheck(b *testing.B) {
	s := largeFleet(1, 1, 20)
	properties := map[string]any{}
	for i := range 20 {
		properties[fmt.Sprintf("KEY_%d", i)] = map[string]any{"type": "string", "maxLength": 100}
	}
	sch := compile(&fleet.Schema{Name: "all", Document: map[string]any{"properties": properties}})
	root := &node{kind: mapping, fields: newLayerSet("", newLayers(s.Configs)).static.fields}
	b.ReportAllocs()
	for b.Loop() {
		if found := sch.check(root); len(found) > 0 {
			b.Fatal(found)
		}
	}
}

// BenchmarkCompile compiles a schema of twenty keys.
func BenchmarkCompile(b *testing.B) {
	properties := map[string]any{}
	for i := range 20 {
		properties[fmt.Sprintf("KEY_%d", i)] = map[string]any{"type": "string", "maxLength": 100}
	}
	source := &fleet.Schema{Name: "all", Document: map[string]any{"properties": properties}}
	b.ReportAllocs()
	for b.Loop() {
		if compile(source).broken != nil {
			b.Fatal("the schema does not compile")
		}
	}
}
