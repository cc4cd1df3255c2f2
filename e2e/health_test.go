package e2e

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kalypso-io/kalypso/e2e/harness"
)

// TestFluxHealth: what Flux says about a Kustomization with "wait: true" while versions roll out, fail, and break later.
// The agent judges clusters by these states, so the test has all of them, in order. Some are easily misread:
//
//   - Ready and Healthy change before the revisions that they are about, or after them. While a version is applied,
//     Healthy is still about the version before. Ready=True comes a moment before lastAppliedRevision.
//   - A failed version is Ready=False only until Flux tries again. Then it is Unknown, like a version that is on its way,
//     and only the history still has the failure.
//   - A version that breaks after it was healthy is Ready=True until the next reconciliation, and stays lastAppliedRevision.
//   - The messages name the Deployment, and not what its pods wait for.
func TestFluxHealth(t *testing.T) {
	t.Parallel()
	h := newHealth(t)
	// What ends a step. A version that failed is tried again, which ends it for certain.
	healthy := func(s healthState) bool { return s.ready == "True" && s.applied == s.attempted }
	failing := func(s healthState) bool { return s.ready == "False" }
	failingAgain := func() func(healthState) bool {
		failed := false
		return func(s healthState) bool {
			failed = failed || failing(s)
			return failed && s.ready == "Unknown" && s.healthy == "Unknown"
		}
	}
	for _, step := range []struct {
		name    string
		run     func(t *testing.T)
		until   func(healthState) bool
		failure string   // the end of Ready's message when it was False
		want    []string // nil for any
	}{
		{
			"a good version is healthy",
			func(t *testing.T) { h.release(t, "first", "v1", 600) }, healthy, "",
			[]string{
				"Ready=Unknown Healthy= applied= attempted=first history=",
				"Ready=Unknown Healthy=Unknown applied= attempted=first history=",
				"Ready=Unknown Healthy=True applied= attempted=first history=",
				"Ready=True Healthy=True applied= attempted=first history=",
				"Ready=True Healthy=True applied=first attempted=first history=first ReconciliationSucceeded",
			},
		},
		{
			"a slow version is waited for",
			func(t *testing.T) { h.release(t, "second", "slow", 600) }, healthy, "",
			[]string{
				"Ready=Unknown Healthy=True applied=first attempted=second history=first ReconciliationSucceeded",
				"Ready=Unknown Healthy=Unknown applied=first attempted=second history=first ReconciliationSucceeded",
				"Ready=Unknown Healthy=True applied=first attempted=second history=first ReconciliationSucceeded",
				"Ready=True Healthy=True applied=first attempted=second history=first ReconciliationSucceeded",
				"Ready=True Healthy=True applied=second attempted=second history=second ReconciliationSucceeded",
			},
		},
		{
			"a version that exceeds its progress deadline fails at once",
			func(t *testing.T) { h.release(t, "third", "crash", 5) }, failingAgain(),
			"failed early due to stalled resources: [Deployment/" + h.name + "/shop status: 'Failed']",
			[]string{
				"Ready=Unknown Healthy=True applied=second attempted=third history=second ReconciliationSucceeded",
				"Ready=Unknown Healthy=Unknown applied=second attempted=third history=second ReconciliationSucceeded",
				"Ready=False Healthy=False applied=second attempted=third history=second ReconciliationSucceeded",
				"Ready=False Healthy=False applied=second attempted=third history=third HealthCheckFailed",
				"Ready=Unknown Healthy=False applied=second attempted=third history=third HealthCheckFailed",
				"Ready=Unknown Healthy=Unknown applied=second attempted=third history=third HealthCheckFailed",
			},
		},
		{
			"the next version mends it",
			func(t *testing.T) { h.release(t, "fourth", "v4", 600) }, healthy, "",
			[]string{
				"Ready=Unknown Healthy=False applied=second attempted=fourth history=third HealthCheckFailed",
				"Ready=Unknown Healthy=Unknown applied=second attempted=fourth history=third HealthCheckFailed",
				"Ready=Unknown Healthy=True applied=second attempted=fourth history=third HealthCheckFailed",
				"Ready=True Healthy=True applied=second attempted=fourth history=third HealthCheckFailed",
				"Ready=True Healthy=True applied=fourth attempted=fourth history=fourth ReconciliationSucceeded",
			},
		},
		{
			"a version that breaks later fails when Flux looks again",
			func(t *testing.T) { h.breakPod(t, "v4"); h.look(t) }, failing,
			"timeout waiting for: [Deployment/" + h.name + "/shop status: 'InProgress']",
			[]string{
				"Ready=True Healthy=True applied=fourth attempted=fourth history=fourth ReconciliationSucceeded",
				"Ready=Unknown Healthy=True applied=fourth attempted=fourth history=fourth ReconciliationSucceeded",
				"Ready=Unknown Healthy=Unknown applied=fourth attempted=fourth history=fourth ReconciliationSucceeded",
				"Ready=False Healthy=False applied=fourth attempted=fourth history=fourth ReconciliationSucceeded",
			},
		},
		{
			"it recovers by itself, with whichever try comes next",
			func(t *testing.T) { h.mendPod(t, "v4") }, healthy, "", nil,
		},
		{
			"a version that is never ready times out",
			func(t *testing.T) { h.release(t, "fifth", "crash", 600) }, failingAgain(),
			"timeout waiting for: [Deployment/" + h.name + "/shop status: 'InProgress']",
			[]string{
				"Ready=Unknown Healthy=True applied=fourth attempted=fifth history=fourth ReconciliationSucceeded",
				"Ready=Unknown Healthy=Unknown applied=fourth attempted=fifth history=fourth ReconciliationSucceeded",
				"Ready=False Healthy=False applied=fourth attempted=fifth history=fourth ReconciliationSucceeded",
				"Ready=False Healthy=False applied=fourth attempted=fifth history=fifth HealthCheckFailed",
				"Ready=Unknown Healthy=False applied=fourth attempted=fifth history=fifth HealthCheckFailed",
				"Ready=Unknown Healthy=Unknown applied=fourth attempted=fifth history=fifth HealthCheckFailed",
			},
		},
	} {
		if !t.Run(step.name, func(t *testing.T) {
			step.run(t)
			got, message := h.collect(t, step.until)
			if diff := cmp.Diff(got, step.want); step.want != nil && diff != "" {
				t.Errorf("got (-) and want (+):\n%s", diff)
			}
			if !strings.HasSuffix(message, step.failure) {
				t.Errorf("got %q, want %q at its end", message, step.failure)
			}
		}) {
			t.FailNow()
		}
	}
}

// health is a Kustomization on the cluster with a node, and what becomes of it.
type health struct {
	// name is that of the Kustomization, and of the namespace with what it delivers.
	name     string
	cluster  *harness.Cluster
	checkout *harness.Checkout
	follow   harness.Follow
	// versions are the names of revisions.
	versions map[string]string
	// released is the version that was released last, and seen whether Flux has begun with it.
	released string
	seen     bool
	// states are all statuses of the Kustomization; it is closed when nothing watches any more.
	states <-chan *unstructured.Unstructured
}

func newHealth(t *testing.T) *health {
	t.Helper()
	ctx := t.Context()
	c, err := running()
	must(t, err)
	organization := newOrganization(t, "health")
	r, err := stack.Gitea.NewRepository(ctx, organization, "gitops")
	must(t, err)
	flux := account(t, organization+"-flux", "read:repository")
	must(t, r.Grant(ctx, flux, "read"))
	checkout, err := harness.NewCheckout(ctx, filepath.Join(t.TempDir(), "checkout"), r, dev, stack.Gitea.Admin)
	must(t, err)
	must(t, checkout.Write("others.yaml", strings.ReplaceAll(otherWorkloads, "NAMESPACE", organization)))

	states := make(chan *unstructured.Unstructured)
	go func() {
		defer close(states)
		_ = c.Watch(ctx, harness.Kustomizations, fluxNamespace, organization, func(o *unstructured.Unstructured) bool {
			select {
			case states <- o:
				return false
			case <-ctx.Done():
				return true
			}
		})
	}()
	return &health{
		name: organization, cluster: c, checkout: checkout, versions: map[string]string{}, states: states,
		follow: harness.Follow{Name: organization, URL: r.URL(), Branch: dev, Path: ".", As: flux},
	}
}

// fluxNamespace is where the objects are by which a cluster follows repositories.
const fluxNamespace = "flux-system"

// otherWorkloads are healthy all the time.
const otherWorkloads = `
apiVersion: v1
kind: Namespace
metadata: {name: NAMESPACE}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: store, namespace: NAMESPACE}
spec:
  serviceName: store
  selector: {matchLabels: {app: store}}
  template:
    metadata: {labels: {app: store}}
    spec: {containers: [{name: store, image: "registry.test/store:v1"}]}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: logs, namespace: NAMESPACE}
spec:
  selector: {matchLabels: {app: logs}}
  template:
    metadata: {labels: {app: logs}}
    spec: {containers: [{name: logs, image: "registry.test/logs:v1"}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: migrate, namespace: NAMESPACE}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: migrate, image: "registry.test/migrate:v1"}]}
`

// release pushes a version of the Deployment, and has Flux look. It follows the repository since the first.
func (h *health) release(t *testing.T, version, tag string, progressDeadline int) {
	t.Helper()
	must(t, h.checkout.Write("shop.yaml", deployment(h.name, tag, progressDeadline)))
	h.versions[push(t, h.checkout, version)] = version
	h.released, h.seen = version, false
	must(t, h.cluster.Follow(t.Context(), h.follow)) // which changes nothing, but for the first
	must(t, h.cluster.Pull(t.Context(), h.name))
}

// breakPod makes the pod of a version crash, and waits until its Deployment says so.
func (h *health) breakPod(t *testing.T, tag string) {
	t.Helper()
	p := podOf(t, h.cluster, h.name, tag)
	must(t, h.cluster.Annotate(t.Context(), harness.Pods, h.name, p.GetName(), harness.Crash, "yes"))
	watchFor(t, h.cluster, h.name, func(d *unstructured.Unstructured) bool { return harness.Condition(d, "Available")["status"] == "False" })
}

func (h *health) mendPod(t *testing.T, tag string) {
	t.Helper()
	p := podOf(t, h.cluster, h.name, tag)
	must(t, h.cluster.Annotate(t.Context(), harness.Pods, h.name, p.GetName(), harness.Crash, ""))
}

// look has Flux reconcile the Kustomization, as it does by itself at each interval.
func (h *health) look(t *testing.T) {
	t.Helper()
	must(t, h.cluster.Annotate(t.Context(), harness.Kustomizations, fluxNamespace, h.name, "reconcile.fluxcd.io/requestedAt", t.Name()))
}

// healthState is what a status of the Kustomization says.
type healthState struct {
	ready, healthy, applied, attempted, history string
	message                                     string
}

func (s healthState) String() string {
	return fmt.Sprintf("Ready=%s Healthy=%s applied=%s attempted=%s history=%s", s.ready, s.healthy, s.applied, s.attempted, s.history)
}

func (h *health) state(o *unstructured.Unstructured) healthState {
	version := func(revision string) string { return h.versions[revision[strings.LastIndex(revision, ":")+1:]] }
	status := func(condition string) string {
		text, _ := harness.Condition(o, condition)["status"].(string)
		return text
	}
	s := healthState{
		ready: status("Ready"), healthy: status("Healthy"),
		applied: version(field(o, "status", "lastAppliedRevision")), attempted: version(field(o, "status", "lastAttemptedRevision")),
		message: fmt.Sprint(harness.Condition(o, "Ready")["message"]),
	}
	if history, _, _ := unstructured.NestedSlice(o.Object, "status", "history"); len(history) > 0 {
		latest := &unstructured.Unstructured{Object: history[0].(map[string]any)}
		s.history = version(field(latest, "metadata", "revision")) + " " + field(latest, "lastReconciledStatus")
	}
	return s
}

// collect returns the different states from when Flux begins with what was released until one is the end,
// and the last message of a failure.
func (h *health) collect(t *testing.T, end func(healthState) bool) (lines []string, failure string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), arrival)
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			t.Fatalf("the last of these states is not the end:\n%s", strings.Join(lines, "\n"))
		case o, ok := <-h.states:
			if !ok {
				t.Fatal("the Kustomization is not watched any more")
			}
			s := h.state(o)
			if h.seen = h.seen || s.attempted == h.released; !h.seen {
				continue
			}
			if s.ready == "False" {
				failure = s.message
			}
			if line := s.String(); len(lines) == 0 || lines[len(lines)-1] != line {
				lines = append(lines, line)
			}
			if end(s) {
				return lines, failure
			}
		}
	}
}
