package fleet_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/fleettest"
)

// ringed returns an environment with clusters in rings of 5, 25 and 100 percent.
func ringed(clusters int, maxUnavailable int) *fleet.Snapshot {
	batch := intstr.FromInt(maxUnavailable)
	s := &fleet.Snapshot{
		ClusterTypes: []*fleet.ClusterType{{Name: "edge"}},
		Rings:        []fleet.Ring{{Name: "few", Percent: 5}, {Name: "more", Percent: 25, MaxUnavailable: &batch}, {Name: "others", MaxUnavailable: &batch}},
	}
	for i := range clusters {
		s.Clusters = append(s.Clusters, &fleet.Cluster{Name: fmt.Sprintf("c%05d", i), Type: "edge"})
	}
	return s
}

// TestAClusterMovesNoOther checks that a cluster that joins leaves every other in its ring, and in its batch or a part of it.
func TestAClusterMovesNoOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, size := rapid.IntRange(1, 400).Draw(t, "clusters"), rapid.IntRange(1, 60).Draw(t, "maxUnavailable")
		before, after := fleet.StageOf(ringed(n, size).Stages(nil)), fleet.StageOf(ringed(n+1, size).Stages(nil))
		for cluster, was := range before {
			is := after[cluster]
			if fleet.RingOfStage(is) != fleet.RingOfStage(was) || !strings.HasPrefix(strings.ReplaceAll(is, ".", ""), strings.ReplaceAll(was, ".", "")) {
				t.Fatalf("%s moved from %s to %s", cluster, was, is)
			}
		}
		listed := 0
		for _, s := range ringed(n, size).Stages(nil) {
			listed += len(s.Clusters)
			if s.Ring != "few" && len(s.Clusters) > size {
				t.Fatalf("batch %s has %d clusters, more than %d", s.Name, len(s.Clusters), size)
			}
		}
		if listed != n {
			t.Fatalf("%d of %d clusters are in a ring", listed, n)
		}
	})
}

// TestPercentagesAreContained checks that rings have about their share of the clusters, and that a larger percentage contains a smaller.
func TestPercentagesAreContained(t *testing.T) {
	s := ringed(10_000, 1_000_000)
	stages := s.Stages(nil)
	few, more := len(stages[0].Clusters), len(stages[1].Clusters)
	if few < 400 || few > 600 || few+more < 2300 || few+more > 2700 {
		t.Errorf("5%% are %d, and 25%% are %d of 10000 clusters", few, few+more)
	}
	s.Rings[0].Percent = 10
	wider := fleet.StageOf(s.Stages(nil))
	for _, c := range stages[0].Clusters {
		if wider[c] != "few" {
			t.Errorf("%s is in ring %s of 10%%, and was in that of 5%%", c, wider[c])
		}
	}
}

// TestTooManyBatchesAreAProblem checks that a ring that would need hundreds of branches is refused, instead of having larger batches.
func TestTooManyBatchesAreAProblem(t *testing.T) {
	files := map[string]string{
		"main/env.yaml": `apiVersion: scheduler.kalypso.io/v1alpha1
kind: Environment
metadata: {name: dev}
spec:
  controlPlane: {repo: ., branch: dev}
  promotion: {rings: [{name: canary, clusters: [c-000]}, {name: others, maxUnavailable: 1}]}
`,
		"env/type.yaml": `apiVersion: scheduler.kalypso.io/v1alpha1
kind: ClusterType
metadata: {name: edge}
spec: {reconciler: flux, namespaceService: default}
`,
	}
	var clusters strings.Builder
	for i := range 300 {
		fmt.Fprintf(&clusters, "---\napiVersion: scheduler.kalypso.io/v1alpha1\nkind: Cluster\nmetadata: {name: c-%03d}\nspec: {clusterType: edge}\n", i)
	}
	files["env/clusters.yaml"] = clusters.String()
	s := fleet.Assemble(fleettest.Inputs("dev", files))
	if !s.LostRings || len(s.Rings) > 0 {
		t.Error("the rings are not left as they are")
	}
	found := false
	for _, p := range s.Problems {
		found = found || strings.Contains(p.Message, `ring "others" would have 299 batches`)
	}
	if !found {
		t.Errorf("no problem says so: %v", s.Problems)
	}
}

// TestAClusterWithWindowsIsAStageOfItsOwn checks the stages of clusters that say when they may be changed, and the batches of the others.
func TestAClusterWithWindowsIsAStageOfItsOwn(t *testing.T) {
	s := ringed(40, 5)
	before := fleet.StageOf(s.Stages(nil))
	held := s.Clusters[3]
	held.Hold = &v1alpha1.Hold{Reason: "inventory"}
	stages := s.Stages(nil)
	after := fleet.StageOf(stages)
	ring := fleet.RingOfStage(before[held.Name])
	if got, want := after[held.Name], ring+".cluster-"+held.Name; got != want {
		t.Errorf("%s is in %q, want %q", held.Name, got, want)
	}
	var names []string
	for _, st := range stages {
		if cluster, own := st.Own(); own != (cluster == held.Name) || own && (st.Hold == nil || len(st.Clusters) != 1) {
			t.Errorf("%+v", st)
		}
		names = append(names, st.Name)
	}
	if batch := fleet.BatchOf(ring, held.Name, names); !strings.HasPrefix(strings.ReplaceAll(before[held.Name], ".", ""), strings.ReplaceAll(batch, ".", "")) {
		t.Errorf("it was in %s, and would be in %s", before[held.Name], batch)
	}
	if again := fleet.BatchOf("none", held.Name, names); again != "" {
		t.Errorf("a ring that does not exist has batch %q", again)
	}
	for _, c := range s.Clusters {
		c.Hold = held.Hold // then the rings have no batches
	}
	if stages = s.Stages(nil); len(stages) != 40 {
		t.Errorf("%d stages of 40 clusters", len(stages))
	}
}
