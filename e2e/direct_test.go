package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kalypso-io/kalypso/e2e/harness"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// bare is a cluster with a node, and with neither Flux nor Argo CD.
const bare = "bare"

// TestDirect: the agent of a cluster without a reconciler applies three targets, beside a cluster with Flux in the same environment.
func TestDirect(t *testing.T) {
	t.Parallel()
	s := newDirectStory(t)
	for _, step := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"both clusters deploy the environment", s.deploy},
		{"a commit changes a target, and removes what it no longer has", s.change},
		{"while the cluster is on hold, a version is staged", s.stage},
		{"what the service account may not apply is refused, and said", s.fail},
		{"a version that crashes is rolled back", s.rollBack},
		{"cut off, the cluster goes on, and catches up", s.cutOff},
		{"a target is removed", s.uninstall},
	} {
		if !t.Run(step.name, step.run) {
			if log, err := s.agent.Log(); err == nil {
				t.Log(log)
			}
			t.FailNow()
		}
	}
	s.agent.wantDiscreetLog(t)
	must(t, s.server.Stop(t.Context()))
	s.wantDiscreetLog(t, s.server)
}

// directStory is an environment with a cluster of Flux, and one whose agent applies what it should run.
type directStory struct {
	*fleet
	whole       *testing.T
	server      *server
	cluster     *harness.Cluster
	agent       *agent
	environment string
	// cut is set while the agent cannot reach the server.
	cut atomic.Bool
}

func newDirectStory(t *testing.T) *directStory {
	t.Helper()
	reporting.Lock()
	t.Cleanup(reporting.Unlock)
	withFlux, err := running()
	must(t, err)
	c, err := stack.StartPlainCluster(context.Background(), bare) // it outlives the test
	must(t, err)
	must(t, stack.AddNode(context.Background(), c))
	f := newEmptyFleet(t, "direct")
	s := &directStory{fleet: f, whole: t, cluster: c, environment: strings.ReplaceAll(f.organization, "direct-", "d")}
	url := f.url
	target := func(name string) string {
		return "{name: " + name + ", environment: " + s.environment + ", manifests: {repo: " + url("manifests") + ", branch: main, path: ./" + name + "}}"
	}
	for at, files := range map[string]map[string]string{
		"control-plane/main": {
			"environment.yaml":  object("Environment", s.environment, "{controlPlane: {repo: "+url("control-plane")+", branch: dev, path: .}}"),
			"registration.yaml": object("WorkloadRegistration", "shop", "{workspace: shops, workload: {repo: "+url("shop")+", branch: main, path: .}}"),
			"greeting.yaml":     greetingTemplate,
		},
		"control-plane/dev": {
			"base.yaml":   object("BaseRepo", "main", "{repo: "+url("control-plane")+", branch: main, path: .}"),
			"gitops.yaml": object("GitOpsRepo", "gitops", "{repo: "+url("gitops")+", branch: dev, path: ., autoMerge: true}"),
			"types.yaml": object("ClusterType", withFlux.Name, "{reconciler: greeting, pull: flux, namespaceService: default, configType: none}") + "---\n" +
				strings.Replace(object("ClusterType", bare, "{reconciler: direct, namespaceService: default, configType: none}"),
					"{name: "+bare+"}", "{name: "+bare+", labels: {direct-rollback: \"true\"}}", 1),
			"policy.yaml": object("SchedulingPolicy", "everywhere", "{deploymentTargetSelector: {}, clusterTypeSelector: {}}"),
		},
		"shop/main": {
			"workload.yaml": object("Workload", "shop", "{deploymentTargets: ["+strings.Join([]string{target("one"), target("two"), target("three")}, ", ")+"]}"),
		},
		"manifests/main": {
			"one/settings.yaml":      configMap("settings", "one") + "---\n" + configMap("old", "goes"),
			"two/web.yaml":           deploymentOf("v1"),
			"two/kustomization.yaml": "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [web.yaml]\n",
			"three/settings.yaml":    configMap("settings", "three"),
		},
		"gitops/dev": {"README.md": "generated\n"},
	} {
		repository, name, _ := strings.Cut(at, "/")
		f.checkouts[at] = f.publish(t, repository, name, files)
	}
	f.gitops = f.repositories["gitops"]
	for _, repository := range []string{"gitops", "control-plane"} {
		must(t, f.repositories[repository].Grant(t.Context(), f.bot, "write"))
	}
	must(t, withFlux.Apply(t.Context(), harness.Credential(platform, f.flux)))
	s.server = s.serve(t)
	eventually(t, "the first files are published", func(context.Context) error {
		return saysAll(s.server.ask(t, 0, "status"), s.environment, "no clusters")
	})
	s.server.registerWith(t, withFlux, []string{"--reconciler", "flux", "--git-secret", platform}, s.environment)
	t.Cleanup(func() { // Flux keeps what it applied when what it follows is taken away
		for _, name := range []string{"one", "two", "three"} {
			must(t, withFlux.Delete(context.Background(), harness.Namespace(s.environment+"-"+withFlux.Name+"-shop-"+name)))
		}
	})
	s.agent = s.server.registerWith(t, c, []string{"--reconciler", "direct", "--agent-server", s.connection(t)}, s.environment)
	return s
}

func deploymentOf(tag string) string {
	text := deployment("anywhere", tag, 2)
	return strings.Replace(text, ", namespace: anywhere", "", 1)
}

// connection returns the address of a connection to the server that can be cut.
func (s *directStory) connection(t *testing.T) string {
	t.Helper()
	to, err := url.Parse(s.server.url)
	must(t, err)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.cut.Load() {
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	return front.URL
}

func (s *directStory) namespace(target string) string {
	return s.environment + "-" + bare + "-shop-" + target
}

// wantSays waits until a ConfigMap of a target says something; empty if it should not exist.
func (s *directStory) wantSays(t *testing.T, target, name, says string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s of %s says %q", name, target, says), func(ctx context.Context) error {
		m, err := s.cluster.Get(ctx, configMaps, s.namespace(target), name)
		if says == "" {
			if apierrors.IsNotFound(err) {
				return nil
			}
			return fmt.Errorf("it exists: %w", err)
		}
		if err != nil {
			return err
		}
		if got := field(m, "data", "says"); got != says {
			return fmt.Errorf("it says %q", got)
		}
		return nil
	})
}

// wantShown waits until "cluster show" says something.
func (s *directStory) wantShown(t *testing.T, wants ...string) {
	t.Helper()
	eventually(t, "cluster show says "+strings.Join(wants, ", "), func(context.Context) error {
		return saysAll(strings.Join(strings.Fields(s.server.ask(t, 0, "cluster", "show", bare)), " "), wants...)
	})
}

// wantReady waits until the cluster has a number of deliveries, and all of them are ready.
func (s *directStory) wantReady(t *testing.T, count int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d deliveries are ready", count), func(context.Context) error {
		var shown struct {
			Reconcilers []struct{ State string }
		}
		text := s.server.ask(t, 0, "cluster", "show", bare, "-o", "json")
		if err := json.Unmarshal([]byte(text), &shown); err != nil {
			return harness.Stop(err)
		}
		ready := 0
		for _, r := range shown.Reconcilers {
			if r.State == "ready" {
				ready++
			}
		}
		if ready != count {
			return fmt.Errorf("%d are ready in\n%s", ready, text)
		}
		return nil
	})
}

func (s *directStory) deploy(t *testing.T) {
	s.wantSays(t, "one", "settings", "one")
	s.wantSays(t, "three", "settings", "three")
	eventually(t, "the platform is deployed on both clusters", func(ctx context.Context) error {
		withFlux, err := running()
		if err != nil {
			return err
		}
		if err := saysAll(s.server.ask(t, 0, "status"), s.environment, "2/2"); err != nil {
			return errors.Join(err, pullOnce(ctx, withFlux, "platform-"+s.environment))
		}
		return nil
	})
	watchFor(t, s.cluster, s.namespace("two"), rolledOut)
	m, err := s.cluster.Get(t.Context(), configMaps, s.namespace("one"), "settings")
	must(t, err)
	if got := m.GetAnnotations()["hub.kalypso.io/delivery"]; got != s.namespace("one")+"/"+s.namespace("one") {
		t.Errorf("it belongs to %q", got)
	}
	s.wantShown(t, "DirectDelivery kalypso-agent/platform-"+s.environment, "DirectDelivery "+s.namespace("two"))
}

func (s *directStory) change(t *testing.T) {
	c := s.checkouts["manifests/main"]
	must(t, c.Write("one/settings.yaml", configMap("settings", "changed")))
	commit := push(t, c, "change one")
	s.wantSays(t, "one", "settings", "changed")
	s.wantSays(t, "one", "old", "")
	s.wantShown(t, commit[:7])
}

func (s *directStory) stage(t *testing.T) {
	plane, manifests := s.checkouts["control-plane/dev"], s.checkouts["manifests/main"]
	must(t, plane.Write("cluster.yaml", object("Cluster", bare, "{clusterType: "+bare+", ring: held, hold: {reason: inventory}}")))
	push(t, plane, "hold the cluster")
	eventually(t, "the server knows the object of the cluster", func(context.Context) error {
		return saysAll(s.server.ask(t, 0, "cluster", "show", bare, "-o", "json"), `"held"`)
	})
	must(t, manifests.Write("one/settings.yaml", configMap("settings", "staged")))
	push(t, manifests, "during the inventory")
	s.wantShown(t, "is staged, downloaded and verified; the cluster is on hold: inventory")
	s.wantSays(t, "one", "settings", "changed")
	must(t, plane.Write("cluster.yaml", object("Cluster", bare, "{clusterType: "+bare+"}")))
	push(t, plane, "the inventory is over")
	s.wantSays(t, "one", "settings", "staged")
}

func (s *directStory) fail(t *testing.T) {
	c := s.checkouts["manifests/main"]
	must(t, c.Write("one/rights.yaml", "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: all-of-it}\n"+
		"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}\nsubjects: [{kind: ServiceAccount, name: default, namespace: default}]\n"))
	must(t, c.Write("three/settings.yaml", configMap("settings", "beside a failure")))
	push(t, c, "take all rights")
	s.wantShown(t, "1 of 2 objects were applied; not applied: ClusterRoleBinding all-of-it", "cannot get resource")
	s.wantSays(t, "three", "settings", "beside a failure")
	must(t, c.Remove("one/rights.yaml"))
	push(t, c, "without rights")
	s.wantReady(t, 4)
}

func (s *directStory) rollBack(t *testing.T) {
	c := s.checkouts["manifests/main"]
	must(t, c.Write("two/web.yaml", deploymentOf("crash")))
	push(t, c, "crash")
	s.wantShown(t, "rolled back to")
	watchFor(t, s.cluster, s.namespace("two"), rolledOut)
	podOf(t, s.cluster, s.namespace("two"), "v1")
	must(t, c.Write("two/web.yaml", deploymentOf("v2")))
	push(t, c, "mend")
	s.wantReady(t, 4)
	watchFor(t, s.cluster, s.namespace("two"), rolledOut)
}

func (s *directStory) cutOff(t *testing.T) {
	s.cut.Store(true)
	must(t, s.agent.Kill())
	m, err := s.cluster.Get(t.Context(), configMaps, s.namespace("one"), "settings")
	must(t, err)
	must(t, s.cluster.Delete(t.Context(), m))
	c := s.checkouts["manifests/main"]
	must(t, c.Write("three/settings.yaml", configMap("settings", "after the cut")))
	push(t, c, "meanwhile")
	s.agent.start(t)
	s.wantSays(t, "one", "settings", "staged")
	s.wantSays(t, "three", "settings", "beside a failure")
	s.cut.Store(false)
	s.wantSays(t, "three", "settings", "after the cut")
}

func (s *directStory) uninstall(t *testing.T) {
	c := s.checkouts["shop/main"]
	must(t, c.Replace("workload.yaml", ", {name: three", "]} #"))
	push(t, c, "without three")
	push(t, s.touch(t), "look again")
	eventually(t, "the namespace of three is gone", func(ctx context.Context) error {
		_, err := s.cluster.Get(ctx, schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, "", s.namespace("three"))
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it exists: %w", err)
	})
	s.wantSays(t, "one", "settings", "staged")
	s.wantReady(t, 3)
}

// touch changes the control plane, of which Gitea tells the server.
func (s *directStory) touch(t *testing.T) *harness.Checkout {
	t.Helper()
	c := s.checkouts["control-plane/dev"]
	must(t, c.Write("README.md", t.Name()))
	return c
}
