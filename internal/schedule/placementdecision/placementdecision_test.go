package placementdecision_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	schedulingv1 "github.com/kalypso-io/kalypso/api/scheduling/v1"
	"github.com/kalypso-io/kalypso/internal/schedule/placementdecision"
)

const ocm = `
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: PlacementDecision
metadata:
  name: cheapest-decision-1
  namespace: fleet
  labels: {cluster.open-cluster-management.io/placement: cheapest}
status:
  decisions:
  - {clusterName: edge-1, reason: ""}
  - {clusterName: edge-2, reason: near}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: PlacementDecision
metadata:
  name: cheapest-decision-2
  namespace: fleet
  labels: {cluster.open-cluster-management.io/placement: cheapest}
status: {decisions: [{clusterName: large}, {clusterName: ""}]}
`

const sig = `{"apiVersion": "v1", "kind": "List", "items": [
  {"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "PlacementDecision",
   "metadata": {"name": "a", "namespace": "fleet", "labels": {"multicluster.x-k8s.io/decision-key": "shop-web"}},
   "schedulerName": "x", "decisions": [{"clusterProfileRef": {"name": "large", "namespace": "profiles"}, "reason": "GPUs"}]},
  {"apiVersion": "multicluster.x-k8s.io/v1alpha1", "kind": "PlacementDecision",
   "metadata": {"name": "nothing", "namespace": "fleet"}, "decisions": []}
]}`

func TestRead(t *testing.T) {
	got, err := placementdecision.Read([][]byte{[]byte(ocm), []byte(sig)})
	if err != nil {
		t.Fatal(err)
	}
	want := []placementdecision.Placement{
		{Namespace: "fleet", Name: "cheapest", Clusters: []placementdecision.Cluster{{Name: "edge-1"}, {Name: "edge-2", Reason: "near"}, {Name: "large"}}},
		{Namespace: "fleet", Name: "nothing", Clusters: []placementdecision.Cluster{}},
		{Namespace: "fleet", Name: "shop-web", Clusters: []placementdecision.Cluster{{Name: "large", Reason: "GPUs"}}},
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("placements (-got +want):\n%s", diff)
	}
	for name, tc := range map[string]struct{ text, wrong string }{
		"not decided yet":   {strings.Split(ocm, "status:")[0], "has no status"},
		"without a label":   {strings.Replace(ocm, "labels:", "annotations:", 1), "has no label"},
		"broken YAML":       {"a: [", "read PlacementDecisions"},
		"clusters as texts": {"apiVersion: multicluster.x-k8s.io/v1alpha1\nkind: PlacementDecision\ndecisions: [large]", "cannot unmarshal"},
	} {
		if _, err := placementdecision.Read([][]byte{[]byte(tc.text)}); err == nil || !strings.Contains(err.Error(), tc.wrong) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// question is about two targets, and cluster types of which one lists its clusters.
func question(task schedulingv1.Task) *schedulingv1.Request {
	return &schedulingv1.Request{
		Task: task, Digest: "d", Policy: schedulingv1.Policy{Name: "cheapest"},
		ClusterTypes: []schedulingv1.ClusterType{{Name: "edge", Clusters: []schedulingv1.Cluster{{Name: "edge-1"}, {Name: "edge-2"}, {Name: "edge-3"}}}, {Name: "large"}},
		Targets: []schedulingv1.Target{
			{Name: "shop-db", Candidates: []string{"large"}}, {Name: "shop-web", Candidates: []string{"edge", "large"}},
		},
	}
}

func TestAnswer(t *testing.T) {
	for name, tc := range map[string]struct {
		task  schedulingv1.Task
		files []string
		want  string
	}{
		"the placement of the policy": {schedulingv1.Schedule, []string{ocm}, `
shop-db on large: placement cheapest chose large
shop-web on edge: placement cheapest chose edge-1, edge-2
shop-web on large: placement cheapest chose large
warning: placement "cheapest" chose 2 of 3 clusters of cluster type "edge": the assignment is for all of them
`},
		"that of the target comes first": {schedulingv1.Schedule, []string{ocm, sig}, `
shop-db on large: placement cheapest chose large
shop-web on large: placement shop-web chose large: GPUs
warning: placement "cheapest" chose 2 of 3 clusters of cluster type "edge": the assignment is for all of them
`},
		"an extender refuses the others": {schedulingv1.Extend, []string{ocm, sig}, `
shop-web not on edge: placement shop-web did not choose it
warning: placement "cheapest" chose 2 of 3 clusters of cluster type "edge": the assignment is for all of them
`},
		"there is none": {schedulingv1.Schedule, []string{sig}, `
error: there is no PlacementDecision of a placement "shop-db" or "cheapest"
`},
		"only unknown clusters": {schedulingv1.Schedule, []string{strings.NewReplacer("edge-", "x-", "large", "z").Replace(ocm)}, `
error: placement "cheapest" chose x-1, x-2, z, which is not a cluster of a candidate: add Cluster objects, or a cluster type with this name
`},
		"some unknown clusters": {schedulingv1.Schedule, []string{strings.ReplaceAll(ocm, "edge-", "x-")}, `
shop-db on large: placement cheapest chose large
shop-web on large: placement cheapest chose large
warning: placement "cheapest" chose x-1, x-2, which is not a cluster of a candidate
`},
		"no cluster": {schedulingv1.Schedule, []string{strings.NewReplacer("edge-1", `""`, "edge-2", `""`, "large", `""`).Replace(ocm)}, "\n"},
		"the same name in two namespaces": {schedulingv1.Schedule, []string{ocm, strings.ReplaceAll(ocm, "namespace: fleet", "namespace: other")}, `
error: placement "cheapest" is in the namespaces "fleet" and "other"; configure the namespace
`},
	} {
		var files [][]byte
		for _, f := range tc.files {
			files = append(files, []byte(f))
		}
		all, err := placementdecision.Read(files)
		if err != nil {
			t.Fatal(err)
		}
		to := question(tc.task)
		answer := placementdecision.Answer(to, placementdecision.For(to, all))
		if err := answer.Check(to); err != nil {
			t.Errorf("%s: the answer breaks a rule: %v", name, err)
		}
		if diff := cmp.Diff("\n"+textOf(answer), tc.want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", name, diff)
		}
	}
}

func textOf(r *schedulingv1.Response) string {
	var b strings.Builder
	for _, d := range r.Decisions {
		fmt.Fprintf(&b, "%s on %s: %s\n", d.Target, d.ClusterType, d.Reason)
	}
	for _, d := range r.Refused {
		fmt.Fprintf(&b, "%s not on %s: %s\n", d.Target, d.ClusterType, d.Reason)
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	if r.Error != "" {
		fmt.Fprintf(&b, "error: %s\n", r.Error)
	}
	return b.String()
}

// What is written is read back, in slices of 100 clusters.
func TestWriteIsReadBack(t *testing.T) {
	many := placementdecision.Placement{Namespace: "fleet", Name: "shop-web"}
	for i := range 201 {
		many.Clusters = append(many.Clusters, placementdecision.Cluster{Name: fmt.Sprintf("edge-%03d", i), Reason: "cluster type edge"})
	}
	placements := []placementdecision.Placement{{Namespace: "fleet", Name: "shop-db", Clusters: []placementdecision.Cluster{}}, many}
	for _, api := range []placementdecision.API{placementdecision.OCM, placementdecision.SIG} {
		text, err := placementdecision.Write(placements, api)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "kind: PlacementDecision"); n != 4 {
			t.Errorf("%s: %d objects, want 1 of no cluster and 3 of 201", api, n)
		}
		back, err := placementdecision.Read([][]byte{text})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(back, placements); diff != "" {
			t.Errorf("%s (-read +written):\n%s", api, diff)
		}
	}
}
