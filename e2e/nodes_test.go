package e2e

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kalypso-io/kalypso/e2e/harness"
)

// running is a cluster with a node, started for the first test that asks for it. Each test has namespaces of its own there, and its Flux
// allows no references from one to another.
var running = sync.OnceValues(func() (*harness.Cluster, error) {
	ctx := context.Background() // it outlives the test
	began := time.Now()
	c, err := stack.StartCluster(ctx, "running", "--no-cross-namespace-refs=true")
	if err != nil {
		return nil, err
	}
	started := time.Now()
	err = stack.AddNode(ctx, c)
	fmt.Printf("a cluster runs after %s, its node after %s more\n",
		started.Sub(began).Round(100*time.Millisecond), time.Since(started).Round(100*time.Millisecond))
	return c, err
})

// TestNodes: on a cluster with a node, Deployments become available, crash, are late, and break later, as their images say.
func TestNodes(t *testing.T) {
	t.Parallel()
	c, err := running()
	must(t, err)
	const namespace = "nodes"
	must(t, c.Apply(t.Context(), harness.Namespace(namespace)))
	apply := func(t *testing.T, tag string, deadline int) {
		t.Helper()
		objects, err := harness.Documents(deployment(namespace, tag, deadline))
		must(t, err)
		must(t, c.Apply(t.Context(), objects...))
	}
	for _, step := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"a good image becomes available", func(t *testing.T) {
			apply(t, "v1", 600)
			watchFor(t, c, namespace, rolledOut)
			p := podOf(t, c, namespace, "v1")
			if got := field(p, "spec", "nodeName"); got != "node" {
				t.Errorf("got a pod on %q, want on node", got)
			}
			wantCondition(t, p, "Ready", "True", "")
		}},
		{"a crashing image exceeds its progress deadline, and the pods before it stay", func(t *testing.T) {
			apply(t, "crash", 2)
			d := watchFor(t, c, namespace, deadlineExceeded)
			wantCondition(t, d, "Available", "True", "MinimumReplicasAvailable")
			p := podOf(t, c, namespace, "crash")
			wantCondition(t, p, "Ready", "False", "ContainersNotReady")
			state := waiting(p)
			if got, want := fmt.Sprint(state["reason"], ": ", state["message"]),
				"CrashLoopBackOff: back-off 40s restarting failed container=shop pod="+p.GetName(); got != want {
				t.Errorf("got a container that waits because of %q, want %q", got, want)
			}
			wantCondition(t, podOf(t, c, namespace, "v1"), "Ready", "True", "")
		}},
		{"a slow image is late", func(t *testing.T) {
			apply(t, "slow", 600)
			late := false
			d := watchFor(t, c, namespace, func(d *unstructured.Unstructured) bool {
				ready, _, _ := unstructured.NestedInt64(d.Object, "status", "readyReplicas")
				updated, _, _ := unstructured.NestedInt64(d.Object, "status", "updatedReplicas")
				late = late || updated == 1 && ready == 1 && !rolledOut(d)
				return rolledOut(d)
			})
			if !late {
				t.Errorf("%s was never seen with its slow pod on its way", d.GetName())
			}
			p := podOf(t, c, namespace, "slow")
			began, err := time.Parse(time.RFC3339, field(p, "status", "startTime"))
			must(t, err)
			ended, err := time.Parse(time.RFC3339, fmt.Sprint(harness.Condition(p, "Ready")["lastTransitionTime"]))
			must(t, err)
			if took := ended.Sub(began); took < 7*time.Second || took > time.Minute { // times are whole seconds
				t.Errorf("the slow pod was ready after %s, want 8s", took)
			}
		}},
		{"a pod breaks later, and is mended", func(t *testing.T) {
			apply(t, "v2", 600)
			watchFor(t, c, namespace, rolledOut)
			p := podOf(t, c, namespace, "v2")
			must(t, c.Annotate(t.Context(), harness.Pods, namespace, p.GetName(), harness.Crash, "yes"))
			watchFor(t, c, namespace, func(d *unstructured.Unstructured) bool {
				return harness.Condition(d, "Available")["status"] == "False"
			})
			if got := waiting(podOf(t, c, namespace, "v2"))["reason"]; got != "CrashLoopBackOff" {
				t.Errorf("got a container that waits because of %v, want CrashLoopBackOff", got)
			}
			must(t, c.Annotate(t.Context(), harness.Pods, namespace, p.GetName(), harness.Crash, ""))
			watchFor(t, c, namespace, rolledOut)
			wantCondition(t, podOf(t, c, namespace, "v2"), "Ready", "True", "")
		}},
	} {
		if !t.Run(step.name, step.run) {
			t.FailNow()
		}
	}
}

// deployment is a Deployment "shop" with one pod, as YAML.
func deployment(namespace, tag string, progressDeadline int) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop, namespace: %s}
spec:
  progressDeadlineSeconds: %d
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: shop, image: "registry.test/shop:%s"}]}
`, namespace, progressDeadline, tag)
}

// rolledOut knows a Deployment all of whose pods are new and available, as "kubectl rollout status" does.
func rolledOut(d *unstructured.Unstructured) bool {
	count := func(field string) int64 {
		n, _, _ := unstructured.NestedInt64(d.Object, "status", field)
		return n
	}
	return count("observedGeneration") == d.GetGeneration() &&
		count("updatedReplicas") == 1 && count("replicas") == 1 && count("availableReplicas") == 1
}

// deadlineExceeded knows a Deployment whose progress deadline is over.
func deadlineExceeded(d *unstructured.Unstructured) bool {
	progressing := harness.Condition(d, "Progressing")
	return progressing["status"] == "False" && progressing["reason"] == "ProgressDeadlineExceeded"
}

// watchFor waits until the Deployment "shop" is as it should be, and returns it.
func watchFor(t *testing.T, c *harness.Cluster, namespace string, is func(*unstructured.Unstructured) bool) *unstructured.Unstructured {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), arrival)
	defer cancel()
	var last *unstructured.Unstructured
	err := c.Watch(ctx, harness.Deployments, namespace, "shop", func(d *unstructured.Unstructured) bool {
		last = d
		return is(d)
	})
	if err != nil {
		t.Fatalf("%v; it was last seen as %v", err, last)
	}
	return last
}

// podOf returns the only pod with an image of a tag.
func podOf(t *testing.T, c *harness.Cluster, namespace, tag string) *unstructured.Unstructured {
	t.Helper()
	pods, err := c.List(t.Context(), harness.Pods)
	must(t, err)
	var found []*unstructured.Unstructured
	for _, p := range pods {
		containers, _, _ := unstructured.NestedSlice(p.Object, "spec", "containers")
		if p.GetNamespace() == namespace && containers[0].(map[string]any)["image"] == "registry.test/shop:"+tag {
			found = append(found, &p)
		}
	}
	if len(found) != 1 {
		t.Fatalf("got %d pods with the image %s, want 1", len(found), tag)
	}
	return found[0]
}

// waiting is what the first container of a pod waits for.
func waiting(pod *unstructured.Unstructured) map[string]any {
	statuses, _, _ := unstructured.NestedSlice(pod.Object, "status", "containerStatuses")
	state, _, _ := unstructured.NestedMap(statuses[0].(map[string]any), "state", "waiting")
	return state
}

func field(object *unstructured.Unstructured, path ...string) string {
	text, _, _ := unstructured.NestedString(object.Object, path...)
	return text
}

// wantCondition wants a condition of an object. An empty reason is one that it does not have.
func wantCondition(t *testing.T, object *unstructured.Unstructured, condition, status, reason string) {
	t.Helper()
	fields := harness.Condition(object, condition)
	got, _ := fields["reason"].(string)
	if fields["status"] != status || got != reason {
		t.Errorf("%s %s: got %s=%v (%s), want %s (%s)", object.GetKind(), object.GetName(), condition, fields["status"], got, status, reason)
	}
}
