package largefleet_test

import (
	"testing"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/largefleet"
	"github.com/kalypso-io/kalypso/internal/schedule/placement"
)

// A benchmark of a fleet with problems would measure the reporting of problems.
func TestFleetLoadsWithoutProblemsAndIsFullyAssigned(t *testing.T) {
	const targets, clusterTypes = 100, 20
	main, env, workloads := largefleet.Generate(largefleet.Spec{Targets: targets, ClusterTypes: clusterTypes}).Sources()
	var cache fleet.Cache
	in := fleet.Inputs{
		Environment: "dev",
		Main:        fleet.Read(&cache, main),
		Branch:      fleet.Read(&cache, env),
		Workloads:   map[string]fleet.Fetched{},
	}
	for name, source := range workloads {
		in.Workloads[name] = fleet.Fetched{Objects: fleet.Read(&cache, source)}
	}
	s := fleet.Assemble(in)
	decisions := placement.Decide(s, placement.Options{})
	for _, p := range append(s.Problems, decisions.Unused()...) {
		t.Errorf("%s: %s: %s", p.Position, p.Kind, p.Message)
	}
	assignments := 0
	for _, ct := range s.ClusterTypes {
		assignments += len(decisions.For(ct.Name))
	}
	if got, want := assignments, targets*clusterTypes; got != want {
		t.Errorf("%d assignments, want %d", got, want)
	}
}
