package config_test

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/config"
)

// The region of a large cluster type in the west comes from the layer of the region, which is more specific than the base.
func Example() {
	layer := func(name string, line int, labels map[string]string, region string) *fleet.ConfigMap {
		value := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: region, Line: line}
		c := &fleet.ConfigMap{Name: name, Labels: labels, Entries: []fleet.ConfigEntry{{Key: "REGION", Value: value}}}
		c.Position.File = name + ".yaml"
		return c
	}
	composer, problems := config.NewComposer(&fleet.Snapshot{
		Configs: []*fleet.ConfigMap{
			layer("dev-config", 8, nil, "none"),
			layer("west-us-config", 9, map[string]string{"region": "west-us"}, "West US"),
		},
	})
	large := composer.Stack(&fleet.ClusterType{Name: "large", Labels: map[string]string{"region": "west-us"}})
	r := large.Compose(&fleet.Target{Name: "hello-test", Workload: "hello"}, nil)

	fmt.Println(len(problems), "problems, layers", r.Layers.Names())
	for _, key := range r.Keys() {
		fmt.Println(key.Path, "=", key.Value, "from", key.From.Position)
		for _, o := range key.Over {
			fmt.Println("  over", o.Value, "from", o.Position)
		}
	}
	// Output:
	// 0 problems, layers [dev-config west-us-config]
	// REGION = West US from west-us-config.yaml:9
	//   over none from dev-config.yaml:8
}
