package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	report "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/e2e/harness"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// The clusters of Argo CD have the names of their cluster types. It runs on the hub, and knows the spoke by this name.
const (
	hubCluster, spokeCluster = "hub", "spoke"
	spokeDestination         = "store"
	// inCluster is Argo CD's name for the cluster in which it runs.
	inCluster = "in-cluster"
)

// argoClusters are a hub with an Argo CD that also serves a spoke. Both have nodes. One story at a time uses them.
type argoClusters struct {
	*harness.ArgoCD
	spoke *harness.Cluster
	lent  sync.Mutex
}

var startArgoCD = sync.OnceValues(func() (*argoClusters, error) {
	ctx := context.Background() // it outlives the test
	a := &argoClusters{}
	began := time.Now()
	hub, err := stack.StartPlainCluster(ctx, hubCluster)
	if err != nil {
		return nil, err
	}
	if a.spoke, err = stack.StartPlainCluster(ctx, spokeCluster); err != nil {
		return nil, err
	}
	for _, c := range []*harness.Cluster{hub, a.spoke} {
		if err := stack.AddNode(ctx, c); err != nil {
			return nil, err
		}
	}
	started := time.Now()
	if a.ArgoCD, err = stack.StartArgoCD(ctx, hub); err != nil {
		return nil, err
	}
	fmt.Printf("a hub and a spoke run after %s, Argo CD after %s more\n",
		started.Sub(began).Round(100*time.Millisecond), time.Since(started).Round(100*time.Millisecond))
	return a, a.AddCluster(ctx, spokeDestination, a.spoke)
})

// argoFleet is the example fleet with cluster types for hub and spoke, which get what the type large gets.
type argoFleet struct {
	*fleet
	argo   *argoClusters
	server *server
	agent  *agent
	// manifests is where the application's team keeps the manifests of its target, shop is their Deployment.
	manifests *harness.Checkout
}

// target is the application's only target on these clusters.
const target = "performance-test"

func newArgoFleet(t *testing.T, story string) *argoFleet {
	t.Helper()
	ctx := t.Context()
	argo, err := startArgoCD()
	must(t, err)
	argo.lent.Lock()
	t.Cleanup(argo.lent.Unlock)
	f := &argoFleet{fleet: newFleet(t, story), argo: argo}
	f.mergeByItself(t)
	main := f.checkouts[controlPlaneMain]
	const gate = "    gate: {state: healthy, offlineAfter: 15s}\n"
	must(t, main.Replace(".environments/dev.yaml", "    approval: automatic\n", "    approval: automatic\n"+gate))
	// A sync that fails is retried soon, and with a newer commit if there is one.
	must(t, main.Replace("templates/argocd.yaml", "            selfHeal: true\n",
		"            selfHeal: true\n          retry: {limit: 5, refresh: true, backoff: {duration: 1s, factor: 1, maxDuration: 5s}}\n"))
	push(t, main, "wait until clusters are healthy")
	types := f.checkouts[controlPlaneOfDev]
	for name, labels := range map[string]string{hubCluster: "", spokeCluster: "\n    argocd-destination: " + spokeDestination} {
		must(t, types.Write("cluster-types/west-us/"+name+".yaml", fmt.Sprintf(`apiVersion: scheduler.kalypso.io/v1alpha1
kind: ClusterType
metadata:
  name: %s
  labels:
    region: west-us
    size: large%s
spec:
  reconciler: argocd
  namespaceService: default
`, name, labels)))
	}
	push(t, types, "a hub and a spoke")
	for _, name := range []string{"gitops", "hello-world-app-gitops", "platform-services-gitops"} {
		must(t, argo.AddRepository(ctx, f.organization+"-"+name, f.repositories[name], f.flux))
	}
	f.manifests = f.checkouts["hello-world-app-gitops/dev"]
	return f
}

// shop pushes the application's Deployment for a cluster with an image of a tag. It returns the commit.
func (f *argoFleet) shop(t *testing.T, tag string) string {
	t.Helper()
	// Argo CD sets the namespace.
	text := strings.Replace(deployment("x", tag, 4), ", namespace: x", "", 1)
	must(t, f.manifests.Write(target+"/shop.yaml", text))
	return push(t, f.manifests, "run "+tag)
}

// follow has Argo CD follow the folders of the fleet, until the test is over.
func (f *argoFleet) follow(t *testing.T, name, clusterType, destination string, directory map[string]any) {
	t.Helper()
	follow := harness.Follow{Name: name, URL: f.gitops.URL(), Branch: dev, Path: clusterType}
	must(t, f.argo.Follow(t.Context(), follow, destination, directory))
	t.Cleanup(func() { must(t, f.argo.Remove(context.Background(), name)) })
}

// show returns what the server says about a cluster.
func (f *argoFleet) show(t *testing.T, cluster string) (d query.ClusterDetail) {
	t.Helper()
	must(t, json.Unmarshal([]byte(f.server.ask(t, 0, "cluster", "show", cluster, "-o", "json")), &d))
	return d
}

// wantState waits until an Application is reported for a cluster, in a state at a commit, with a text in its message or its objects.
func (f *argoFleet) wantState(t *testing.T, cluster, application string, state report.State, commit, text string) {
	t.Helper()
	eventually(t, application+" is "+string(state), func(context.Context) error {
		d := f.show(t, cluster)
		for _, r := range d.Reconcilers {
			if r.Kind == "Application" && r.Name == application && r.State == state && r.Revision == commit && strings.Contains(fmt.Sprint(r.Message, r.Unhealthy), text) {
				return nil
			}
		}
		return fmt.Errorf("want %s %s at %s with %q; got %+v", application, state, commit[:7], text, d.Reconcilers)
	})
}

// wantAnswer waits for a commit of the control plane in dev, with the exit code and the beginning of the answer that are expected.
func (f *argoFleet) wantAnswer(t *testing.T, commit string, code int, answer, status string) {
	t.Helper()
	wantText(t, f.server.ask(t, code, "wait", "-e", dev, "--commit", commit, "--timeout", "2m"), `^dev +`+commit[:7]+` +`+answer)
	wantText(t, f.server.ask(t, 0, "status"), `(?m)^dev +`+commit[:7]+` +`+status)
}

// wantObject wants a cluster to have an object, or not to have it.
func wantObject(t *testing.T, c *harness.Cluster, kind schema.GroupVersionResource, namespace, name string, want bool) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s has %s %s/%s: %t", c.Name, kind.Resource, namespace, name, want), func(ctx context.Context) error {
		_, err := c.Get(ctx, kind, namespace, name)
		switch {
		case want, err != nil && !apierrors.IsNotFound(err):
			return err
		case err == nil:
			return errors.New("it is there")
		}
		return nil
	})
}

// sidecar is a Deployment in each namespace, at the end of the template of namespaces.
const sidecar = `    - |
      apiVersion: apps/v1
      kind: Deployment
      metadata:
        name: sidecar
        namespace: {{ quote .Namespace }}
      spec:
        progressDeadlineSeconds: 4
        selector: {matchLabels: {app: sidecar}}
        template:
          metadata: {labels: {app: sidecar}}
          spec: {containers: [{name: sidecar, image: "registry.test/sidecar:v1"}]}
`

// sidecarImage changes the image of the sidecars by a commit of main, and returns that.
func (f *argoFleet) sidecarImage(t *testing.T, old, tag string) string {
	t.Helper()
	main := f.checkouts[controlPlaneMain]
	must(t, main.Replace(namespaceTemplate, "sidecar:"+old, "sidecar:"+tag))
	return push(t, main, "sidecars of "+tag)
}

// addSidecars writes the sidecars into the template.
func (f *argoFleet) addSidecars(t *testing.T) string {
	t.Helper()
	main := f.checkouts[controlPlaneMain]
	must(t, main.Write(namespaceTemplate, f.branches(t)[controlPlaneMain][namespaceTemplate]+sidecar))
	return push(t, main, "a sidecar in every pod")
}

// TestArgoCD: Argo CD applies what Kalypso assigns to its cluster. An assignment is synced, changed, pruned and degraded; the agent
// reports it, and the server says the same in every answer.
func TestArgoCD(t *testing.T) {
	t.Parallel()
	f := newArgoFleet(t, "argocd")
	hub := f.argo.Hub
	application := namespaceOf(hubCluster, dev, target)
	for _, step := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"what Kalypso schedules is synced", func(step *testing.T) {
			commit := f.shop(step, "v1")
			scheduled := f.scheduleAndMerge(step)
			merged := time.Now()
			f.follow(t, "platform", hubCluster, inCluster, map[string]any{"recurse": true})
			eventually(step, "the folder of the hub is synced", func(ctx context.Context) error { return f.argo.Synced(ctx, "platform", scheduled) })
			eventually(step, "the application is synced", func(ctx context.Context) error { return f.argo.Synced(ctx, application, commit) })
			fmt.Printf("an application is healthy %s after the merge\n", time.Since(merged).Round(100*time.Millisecond))
			watchFor(step, hub, application, rolledOut)
		}},
		{"the cluster joins, and its agent reports what Argo CD does", func(step *testing.T) {
			f.server = f.serve(t)
			f.agent = f.server.register(t, hub, dev)
			if _, err := f.agent.cluster.List(step.Context(), harness.Applications); err != nil {
				step.Error(err)
			}
			head, err := f.repositories["control-plane"].Head(step.Context(), "main")
			must(step, err)
			f.wantAnswer(step, head, 0, `passed +1/1`, `good +1/1`)
		}},
		{"a change is synced, and a removed object is pruned", func(t *testing.T) {
			wantObject(t, hub, harness.ConfigMaps, application, "greeting", true)
			must(t, f.manifests.Remove(target+"/greeting.yaml"))
			commit := f.shop(t, "v2")
			f.wantState(t, hubCluster, application, ledger.StateReady, commit, "")
			wantObject(t, hub, harness.ConfigMaps, application, "greeting", false)
			watchFor(t, hub, application, rolledOut)
			podOf(t, hub, application, "v2")
		}},
		{"a crashing image degrades it, and the report says why", func(t *testing.T) {
			commit := f.shop(t, "crash")
			f.wantState(t, hubCluster, application, ledger.StateFailed, commit, "CrashLoopBackOff")
		}},
		{"the next version mends it", func(t *testing.T) {
			f.wantState(t, hubCluster, application, ledger.StateReady, f.shop(t, "v3"), "")
		}},
		{"a manifest that the cluster rejects fails, with the object", func(t *testing.T) {
			must(t, f.manifests.Write(target+"/wrong.yaml", "apiVersion: v1\nkind: Service\nmetadata: {name: Not_A_Name}\nspec: {ports: [{port: 80}]}\n"))
			f.wantState(t, hubCluster, application, ledger.StateFailed, push(t, f.manifests, "a wrong name"), "Not_A_Name")
			must(t, f.manifests.Remove(target+"/wrong.yaml"))
			f.wantState(t, hubCluster, application, ledger.StateReady, push(t, f.manifests, "without it"), "")
		}},
		{"manifests that cannot be read are neither ready nor healthy", func(t *testing.T) {
			must(t, f.manifests.Write(target+"/wrong.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: [\n"))
			push(t, f.manifests, "no YAML")
			eventually(t, "the report says so", func(context.Context) error {
				for _, r := range f.show(t, hubCluster).Reconcilers {
					if r.Name == application && (r.State == ledger.StateReady || r.Health == report.HealthHealthy || !strings.Contains(r.Message, "cannot be compared")) {
						return fmt.Errorf("got %+v", r)
					}
				}
				return nil
			})
			must(t, f.manifests.Remove(target+"/wrong.yaml"))
			f.wantState(t, hubCluster, application, ledger.StateReady, push(t, f.manifests, "without it"), "")
		}},
		{"a commit of the platform is healthy before its gate passes", func(t *testing.T) {
			f.wantAnswer(t, f.addSidecars(t), 0, `passed +1/1`, `good +1/1`)
			d, err := hub.Get(t.Context(), harness.Deployments, application, "sidecar")
			must(t, err)
			wantCondition(t, d, "Available", "True", "MinimumReplicasAvailable")
		}},
		{"a commit of the platform that crashes fails at its gate", func(t *testing.T) {
			commit := f.sidecarImage(t, "v1", "crash")
			f.wantAnswer(t, commit, 3, `failed`, `failed`)
			wantText(t, f.server.ask(t, 0, "status", "-o", "json"), `CrashLoopBackOff`)
		}},
		{"and its fix passes", func(t *testing.T) {
			f.wantAnswer(t, f.sidecarImage(t, "crash", "v2"), 0, `passed +1/1`, `good +1/1`)
		}},
		{"a removed assignment is pruned, and the others stay", func(t *testing.T) {
			c := f.checkouts[controlPlaneOfDev]
			must(t, c.Remove("scheduling/kaizen/performance-test-policy.yaml"))
			push(t, c, "no performance tests any more")
			wantObject(t, hub, harness.Applications, harness.ArgoCDNamespace, application, false)
			wantObject(t, hub, harness.Namespaces, "", application, false)
			wantObject(t, hub, harness.Applications, harness.ArgoCDNamespace, "dev-hub-nginx-dev", true)
			eventually(t, "the agent reports that it is gone", func(context.Context) error {
				for _, r := range f.show(t, hubCluster).Reconcilers {
					if r.Name == application && r.Source != (ledger.Source{}) {
						return fmt.Errorf("got %+v", r)
					}
				}
				return nil
			})
		}},
	} {
		if !t.Run(step.name, step.run) {
			t.FailNow()
		}
	}
	must(t, f.server.Stop(t.Context()))
	f.wantDiscreetLog(t, f.server)
	f.agent.wantDiscreetLog(t)
}
