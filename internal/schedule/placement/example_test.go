package placement_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/placement"
)

// A policy schedules the targets that run at the edge on the cluster types that are at the edge.
func Example() {
	edge := labels.SelectorFromSet(labels.Set{"edge": "true"})
	decisions := placement.Decide(&fleet.Snapshot{
		Environment: "dev",
		Targets: []*fleet.Target{
			{Name: "hello-functional-test", Labels: map[string]string{"edge": "true"}},
			{Name: "hello-performance-test", Labels: map[string]string{"edge": "false"}},
		},
		ClusterTypes: []*fleet.ClusterType{
			{Name: "drone", Labels: map[string]string{"edge": "true"}},
			{Name: "large", Labels: map[string]string{"size": "large"}},
		},
		Policies: []*fleet.Policy{{Name: "edge-policy", Targets: edge, ClusterTypes: edge}},
	}, placement.Options{})

	for _, a := range decisions.For("drone") {
		fmt.Println(a.ClusterType.Name, "runs", a.Target.Name, "by", a.Policies)
	}
	why, err := decisions.Explain("hello-performance-test", "large")
	if err != nil {
		fmt.Println(err)
	}
	for _, r := range why.Policies[0].Failed {
		fmt.Println("the", r.Of, "should have", r.Want, "and has", r.Have)
	}
	// Output:
	// drone runs hello-functional-test by [edge-policy]
	// the target should have edge=true and has edge=false
	// the clusterType should have edge=true and has no label edge
}
