package largefleet

import (
	"fmt"
	"slices"
)

// Spec is the size of a fleet. Zero fields have their default.
type Spec struct {
	// Environment is the name of the only environment. Default: dev.
	Environment string
	// Targets is the number of deployment targets. Default: 100.
	Targets int
	// ClusterTypes is the number of cluster types. Default: 20.
	ClusterTypes int
	// Layers is the number of configuration layers that apply to each assignment. Default: 20.
	Layers int
	// Keys is the number of keys in the configuration of an assignment. Default: 10. It is increased if the layers
	// need more different keys.
	Keys int
	// Policies is the number of scheduling policies, one per team. Default: 10, but at most the number of workloads.
	Policies int
	// TargetsPerWorkload is the number of targets of each workload; the
	// last one has the remaining targets. Default: 5.
	TargetsPerWorkload int
	// BuiltIn leaves the templates out, so that Kalypso's own are used, which contain applications in their namespaces.
	BuiltIn bool
	// Rules gives the policies a filter, preferences, a spread and a maximum, and the cluster types a capacity. They assign the same
	// pairs as without.
	Rules bool
	// Clusters is the number of Cluster objects, of all cluster types in turn, each with one value of its own. Default: none.
	Clusters int
	// Seed varies the configuration values only.
	Seed uint64
}

var (
	regions = []string{
		"east-us", "west-us", "north-europe", "west-europe",
		"east-asia", "south-india", "brazil-south", "uk-west",
	}
	sizes    = []string{"small", "medium", "large"}
	purposes = []string{"functional-test", "performance-test", "security-test", "acceptance-test"}
)

func (s Spec) withDefaults() Spec {
	if s.Environment == "" {
		s.Environment = "dev"
	}
	s.Targets = positive(s.Targets, 100)
	s.ClusterTypes = positive(s.ClusterTypes, 20)
	s.Layers = positive(s.Layers, 20)
	s.TargetsPerWorkload = positive(s.TargetsPerWorkload, 5)
	s.Policies = min(positive(s.Policies, 10), s.workloads())
	// Layers of one scope have the same specificity. Each needs its own key to
	// avoid conflicts; one more key is for the workload.
	s.Keys = max(positive(s.Keys, 10), slices.Max(s.layersByScope())+1)
	return s
}

func positive(n, otherwise int) int {
	if n > 0 {
		return n
	}
	return otherwise
}

func (s Spec) workloads() int {
	return (s.Targets + s.TargetsPerWorkload - 1) / s.TargetsPerWorkload
}

// clusterType is one cluster type by its number: consecutive ones differ in region, then in size.
type clusterType struct {
	name, region, size string
}

func (s Spec) clusterType(i int) clusterType {
	region := regions[i%len(regions)]
	size := sizes[i/len(regions)%len(sizes)]
	return clusterType{name: fmt.Sprintf("%s-%s-%03d", region, size, i), region: region, size: size}
}

func workloadName(i int) string { return fmt.Sprintf("app-%03d", i) }

func (s Spec) team(workload int) string { return fmt.Sprintf("team-%02d", workload%s.Policies) }
