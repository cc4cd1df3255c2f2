package kstatus

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/agent/reconciler"
)

// row is one object of the table.
type row struct {
	Rule string `json:"rule"`
	// State is that of the agent.
	State hub.State `json:"state"`
	// Stricter is why the agent does not agree with kstatus; empty if it does.
	Stricter string `json:"stricter"`
	// Age is how long ago the object was created; an hour by default.
	Age    string         `json:"age"`
	Object map[string]any `json:"object"`
}

func TestTable(t *testing.T) {
	text, err := os.ReadFile("testdata/states.yaml")
	if err != nil {
		t.Fatal(err)
	}
	agreed, stricter := 0, 0
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var r row
		if err := yaml.UnmarshalStrict([]byte(document), &r); err != nil {
			t.Fatalf("%v:\n%s", err, document)
		}
		t.Run(r.Rule, func(t *testing.T) {
			age := time.Hour
			if r.Age != "" {
				if age, err = time.ParseDuration(r.Age); err != nil {
					t.Fatal(err)
				}
			}
			u := object(t, r.Object, age)
			got, why := reconciler.Status(u.Object, time.Now())
			if got != r.State {
				t.Errorf("got %s (%s), want %s", got, why, r.State)
			}
			judged, text := judge(t, u)
			switch {
			case r.Stricter == "" && got != judged:
				t.Errorf("the agent says %s (%s), kstatus %s (%s)", got, why, judged, text)
			case r.Stricter != "" && got.Severity() <= judged.Severity():
				t.Errorf("the agent says %s (%s), which is not stricter than kstatus: %s (%s)", got, why, judged, text)
			case r.Stricter == "":
				agreed++
			default:
				stricter++
			}
		})
	}
	t.Logf("%d agreed, %d stricter", agreed, stricter)
}

// object returns an object as an API server would, with whole numbers as int64.
func object(t testing.TB, fields map[string]any, age time.Duration) *unstructured.Unstructured {
	text, err := yaml.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	if text, err = yaml.YAMLToJSON(text); err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(text); err != nil {
		t.Fatal(err)
	}
	if err := unstructured.SetNestedField(u.Object, time.Now().Add(-age).UTC().Format(time.RFC3339), "metadata", "creationTimestamp"); err != nil {
		t.Fatal(err)
	}
	return u
}

// judge returns what kstatus says.
func judge(t interface{ Fatal(...any) }, u *unstructured.Unstructured) (hub.State, string) {
	result, err := status.Compute(u)
	if err != nil {
		t.Fatal(err)
	}
	switch result.Status {
	case status.CurrentStatus:
		return hub.StateReady, result.Message
	case status.FailedStatus:
		return hub.StateFailed, result.Message
	default:
		return hub.StateProgressing, result.Message
	}
}

// stricter returns why the agent may be stricter about an object; "" if it has to agree.
func stricter(o map[string]any) string {
	text := func(path ...string) string { s, _, _ := unstructured.NestedString(o, path...); return s }
	number := func(path ...string) int64 { n, _, _ := unstructured.NestedInt64(o, path...); return n }
	conditions, _, _ := unstructured.NestedSlice(o, "status", "conditions")
	for _, c := range conditions {
		c := c.(map[string]any)
		switch {
		case c["type"] == "Stalled" && c["status"] == "True":
			return "an object that is stalled has failed, also while it is reconciling"
		case c["type"] == "Ready" && c["observedGeneration"] != nil && c["observedGeneration"].(int64) < number("metadata", "generation"):
			return "a Ready condition of an earlier generation does not count"
		}
	}
	switch {
	case text("apiVersion") == "apps/v1" && number("status", "observedGeneration") == 0:
		return "no controller has seen it"
	case text("kind") == "StatefulSet" && text("spec", "updateStrategy", "type") == "OnDelete":
		return "its pods can fail"
	case text("kind") == "Pod" && text("status", "phase") == "Failed":
		return "a pod that failed has failed"
	}
	return ""
}

func TestGenerated(t *testing.T) {
	agreed, strict := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		u := &unstructured.Unstructured{Object: draw(t)}
		got, why := reconciler.Status(u.Object, time.Now())
		judged, text := judge(t, u)
		reason := stricter(u.Object)
		switch {
		case got == judged:
			agreed++
		case reason != "" && got.Severity() > judged.Severity():
			strict++
		default:
			t.Fatalf("the agent says %s (%s), kstatus %s (%s): %v", got, why, judged, text, u.Object)
		}
	})
	t.Logf("%d agreed, %d stricter", agreed, strict)
}

// draw returns an object of a random kind with random fields of those that the rules read.
func draw(t *rapid.T) map[string]any {
	kind := rapid.SampledFrom([][2]string{
		{"apps/v1", "Deployment"},
		{"apps/v1", "StatefulSet"},
		{"apps/v1", "DaemonSet"},
		{"apps/v1", "ReplicaSet"},
		{"batch/v1", "Job"},
		{"batch/v1", "CronJob"},
		{"v1", "Pod"},
		{"v1", "PersistentVolumeClaim"},
		{"v1", "Service"},
		{"v1", "ConfigMap"},
		{"v1", "Secret"},
		{"apiextensions.k8s.io/v1", "CustomResourceDefinition"},
		{"policy/v1", "PodDisruptionBudget"},
		{"example.com/v1", "Thing"},
		{"example.com/v1", "Deployment"},
	}).Draw(t, "kind")
	o := map[string]any{"apiVersion": kind[0], "kind": kind[1], "metadata": map[string]any{
		"name": "x", "creationTimestamp": time.Now().Add(-time.Hour).UTC().Format(time.RFC3339),
	}}
	set := func(value any, path ...string) {
		if err := unstructured.SetNestedField(o, value, path...); err != nil {
			t.Fatal(err)
		}
	}
	count := func(path ...string) {
		if rapid.Bool().Draw(t, strings.Join(path, ".")) {
			set(rapid.Int64Range(0, 3).Draw(t, path[len(path)-1]), path...)
		}
	}
	word := func(words []string, path ...string) {
		if rapid.Bool().Draw(t, strings.Join(path, ".")) {
			set(rapid.SampledFrom(words).Draw(t, path[len(path)-1]), path...)
		}
	}
	if rapid.Bool().Draw(t, "generation") {
		generation := rapid.Int64Range(1, 2).Draw(t, "is")
		set(generation, "metadata", "generation")
		if rapid.IntRange(0, 3).Draw(t, "observed") > 0 {
			set(rapid.SampledFrom([]int64{generation, generation, generation, 1, 2, 3}).Draw(t, "seen"), "status", "observedGeneration")
		}
	}
	for _, name := range []string{
		"replicas", "readyReplicas", "availableReplicas", "updatedReplicas", "currentReplicas", "fullyLabeledReplicas",
		"desiredNumberScheduled", "currentNumberScheduled", "updatedNumberScheduled", "numberAvailable", "numberReady", "succeeded",
	} {
		count("status", name)
	}
	count("spec", "replicas")
	count("spec", "progressDeadlineSeconds")
	if kind[1] == "StatefulSet" {
		word([]string{"OnDelete", "RollingUpdate"}, "spec", "updateStrategy", "type")
		count("spec", "updateStrategy", "rollingUpdate", "partition")
	}
	word([]string{"a", "b"}, "status", "currentRevision")
	word([]string{"a", "b"}, "status", "updateRevision")
	word([]string{"2026-01-01T00:00:00Z"}, "status", "startTime")
	word([]string{"LoadBalancer", "ClusterIP"}, "spec", "type")
	word([]string{"10.0.0.1"}, "spec", "clusterIP")
	phases := []string{"Pending", "Running", "Succeeded", "Failed"}
	if kind[1] != "Pod" {
		phases = []string{"Pending", "Bound", "Lost"}
	}
	word(phases, "status", "phase")
	word([]string{"2026-01-01T00:00:00Z"}, "metadata", "deletionTimestamp")
	if rapid.Bool().Draw(t, "containers") {
		waiting := map[string]any{"waiting": map[string]any{"reason": rapid.SampledFrom([]string{"CrashLoopBackOff", "ContainerCreating"}).Draw(t, "waits")}}
		set([]any{map[string]any{"name": "web", "state": waiting}}, "status", "containerStatuses")
	}
	set(drawConditions(t), "status", "conditions")
	return o
}

func drawConditions(t *rapid.T) []any {
	kinds := rapid.SliceOfDistinct(rapid.SampledFrom([]string{
		"Ready", "Ready", "Available", "Progressing", "Reconciling", "Stalled", "Failed", "Complete", "Established", "NamesAccepted", "ReplicaFailure", "PodScheduled",
	}), rapid.ID[string]).Draw(t, "conditions")
	all := []any{}
	for _, kind := range kinds {
		c := map[string]any{
			"type": kind, "status": rapid.SampledFrom([]string{"True", "False", "Unknown"}).Draw(t, kind), "message": "m",
			"reason": rapid.SampledFrom([]string{"NewReplicaSetAvailable", "ProgressDeadlineExceeded", "Unschedulable", "Installing", "Other"}).Draw(t, "reason"),
		}
		if kind == "Ready" && rapid.Bool().Draw(t, "with generation") {
			c["observedGeneration"] = rapid.Int64Range(1, 2).Draw(t, "generation")
		}
		all = append(all, c)
	}
	return all
}
