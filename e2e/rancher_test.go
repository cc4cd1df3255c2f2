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

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/e2e/harness"
)

// withRancher is the cluster with a node, on which Rancher Fleet runs as well.
var withRancher = sync.OnceValues(func() (*harness.Cluster, error) {
	c, err := running()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	_, err = stack.AddRancher(context.Background(), c) // it outlives the test
	fmt.Printf("Rancher Fleet runs after %s\n", time.Since(began).Round(100*time.Millisecond))
	return c, err
})

// TestRancherFleet: a cluster whose reconciler is Rancher Fleet. It follows the platform's branch, deploys assignments that the built-in
// template "fleet" wrote, and the agent says of each what is applied and whether it works.
func TestRancherFleet(t *testing.T) {
	t.Parallel()
	r := newRancher(t)
	for _, step := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"a cluster joins, and its folder is deployed", r.join},
		{"an application is deployed with a Deployment that works", func(t *testing.T) {
			commit := r.release(t, "v1")
			r.want(t, rancherReport{Revision: commit, Applied: commit, State: hub.StateReady, Health: hub.HealthHealthy})
		}},
		{"an object that is removed is pruned", r.prune},
		{"a version that crashes is applied and degraded, for the reason of its pods", r.crash},
		{"the next version mends it", func(t *testing.T) {
			commit := r.release(t, "v2")
			r.want(t, rancherReport{Revision: commit, Applied: commit, State: hub.StateReady, Health: hub.HealthHealthy})
		}},
		{"an object that is changed by hand differs from Git", r.modify},
		{"one that is removed by hand is missing, until the next version", r.remove},
		{"an object that the cluster refuses is named", r.refuse},
		{"an application cannot take more rights", r.contain},
		{"without it the application goes on", func(t *testing.T) {
			must(t, r.checkout.Remove(rancherApp+"/more.yaml"))
			commit := r.push(t, "be content")
			r.want(t, rancherReport{Revision: commit, Applied: commit, State: hub.StateReady, Health: hub.HealthHealthy})
		}},
		{"people can ask about the cluster", r.wantAnswers},
	} {
		if !t.Run(step.name, step.run) {
			t.FailNow()
		}
	}
	must(t, r.server.Stop(t.Context()))
	r.agent.wantDiscreetLog(t)
}

// rancherApp is the folder of the application that the story changes.
const rancherApp = "functional-test"

// rancher is the story of a cluster with Rancher Fleet.
type rancher struct {
	*fleet
	whole   *testing.T
	cluster *harness.Cluster
	server  *server
	agent   *agent
	// namespace is that of the application, and the name of its GitRepo.
	namespace string
	checkout  *harness.Checkout
}

// newRancher registers a cluster type whose reconciler is Rancher Fleet, and has the cluster follow its folder.
func newRancher(t *testing.T) *rancher {
	t.Helper()
	reporting.Lock()
	t.Cleanup(reporting.Unlock)
	c, err := withRancher()
	must(t, err)
	r := &rancher{fleet: newFleet(t, "rancher"), whole: t, cluster: c, namespace: dev + "-" + c.Name + "-hello-world-app-" + rancherApp}
	r.checkout = r.checkouts["hello-world-app-gitops/"+dev]
	r.mergeByItself(t)
	controlPlane := r.checkouts[controlPlaneOfDev]
	must(t, controlPlane.Write("cluster-types/"+c.Name+".yaml", `apiVersion: scheduler.kalypso.io/v1alpha1
kind: ClusterType
metadata:
  name: `+c.Name+`
  labels: {region: east-us, restricted: "true", edge: "true"}
spec:
  reconciler: fleet
  namespaceService: default
`))
	push(t, controlPlane, "have a cluster type for Rancher Fleet")
	platformRepo := harness.GitRepo(platform+"-"+dev, map[string]any{
		"repo": r.gitops.URL(), "branch": dev, "paths": []any{c.Name}, "clientSecretName": platform,
		"pollingInterval": "2s", "correctDrift": map[string]any{"enabled": true, "force": true},
	})
	must(t, c.Apply(t.Context(), harness.RancherCredential(platform, r.flux), platformRepo))
	t.Cleanup(func() { must(t, c.Delete(context.Background(), platformRepo)) })
	return r
}

// rancherReport is what the server knows of a GitRepo.
type rancherReport struct {
	Name      string             `json:"name"`
	Kind      string             `json:"kind"`
	Revision  string             `json:"revision"`
	Applied   string             `json:"applied"`
	State     hub.State          `json:"state"`
	Message   string             `json:"message"`
	Health    hub.Health         `json:"health"`
	Unhealthy []hub.ObjectHealth `json:"unhealthy"`
}

// reported returns what the server knows of a GitRepo.
func (r *rancher) reported(t *testing.T, name string) (rancherReport, error) {
	t.Helper()
	var shown struct {
		Reconcilers []rancherReport `json:"reconcilers"`
	}
	must(t, json.Unmarshal([]byte(r.server.ask(t, 0, "cluster", "show", r.cluster.Name, "-o", "json")), &shown))
	for _, report := range shown.Reconcilers {
		if report.Kind == "GitRepo" && report.Name == name {
			report.Kind, report.Name = "", ""
			return report, nil
		}
	}
	return rancherReport{}, fmt.Errorf("GitRepo %s is not reported", name)
}

// want waits until the application's GitRepo is reported like this. The message only has to contain the one that is wanted.
func (r *rancher) want(t *testing.T, want rancherReport) {
	t.Helper()
	began := time.Now()
	eventually(t, "the GitRepo is reported", func(context.Context) error {
		got, err := r.reported(t, r.namespace)
		if err != nil {
			return err
		}
		exact := want
		if strings.Contains(got.Message, want.Message) && want.Message != "" {
			exact.Message = got.Message
		}
		if diff := cmp.Diff(got, exact); diff != "" {
			return fmt.Errorf("got (-) and want (+):\n%s", diff)
		}
		return nil
	})
	t.Logf("reported after %s", time.Since(began).Round(100*time.Millisecond))
}

// push pushes a commit of the application.
func (r *rancher) push(t *testing.T, message string) string { return push(t, r.checkout, message) }

// release pushes a version of the application's Deployment.
func (r *rancher) release(t *testing.T, tag string) string {
	t.Helper()
	must(t, r.checkout.Write(rancherApp+"/shop.yaml", deployment(r.namespace, tag, 5)))
	return r.push(t, "release "+tag)
}

func (r *rancher) join(t *testing.T) {
	r.server = r.serve(r.whole)
	r.agent = r.server.register(r.whole, r.cluster, dev)
	r.agent.wantReadOnly(t)
	commit, err := r.repositories["control-plane"].Head(t.Context(), "main")
	must(t, err)
	wantText(t, r.server.ask(t, 0, "wait", "-e", dev, "--commit", commit, "--timeout", "3m"), `^dev +`+commit[:7]+` +passed +1/1`)
	eventually(t, "Fleet restores the labels of the namespace, which it takes away when it installs the application", func(ctx context.Context) error {
		namespace, err := r.cluster.Get(ctx, harness.Namespaces, "", r.namespace)
		if err == nil && namespace.GetLabels()["environment"] != dev {
			err = fmt.Errorf("the namespace has the labels %v", namespace.GetLabels())
		}
		return err
	})
	head, err := r.repositories["hello-world-app-gitops"].Head(t.Context(), dev)
	must(t, err)
	r.want(t, rancherReport{Revision: head, Applied: head, State: hub.StateReady, Health: hub.HealthHealthy})
	_, err = r.cluster.Get(t.Context(), harness.ConfigMaps, r.namespace, "greeting")
	must(t, err)
}

func (r *rancher) prune(t *testing.T) {
	must(t, r.checkout.Write(rancherApp+"/old.yaml", configMap("old", "soon gone")))
	commit := r.push(t, "add what is soon gone")
	r.want(t, rancherReport{Revision: commit, Applied: commit, State: hub.StateReady, Health: hub.HealthHealthy})
	_, err := r.cluster.Get(t.Context(), harness.ConfigMaps, r.namespace, "old")
	must(t, err)
	must(t, r.checkout.Remove(rancherApp+"/old.yaml"))
	commit = r.push(t, "remove it")
	r.want(t, rancherReport{Revision: commit, Applied: commit, State: hub.StateReady, Health: hub.HealthHealthy})
	if _, err = r.cluster.Get(t.Context(), harness.ConfigMaps, r.namespace, "old"); !apierrors.IsNotFound(err) {
		t.Errorf("got %v for an object that was removed, want that it is not found", err)
	}
}

func (r *rancher) crash(t *testing.T) {
	commit := r.release(t, "crash")
	r.want(t, rancherReport{
		Revision: commit, Applied: commit, State: hub.StateFailed, Health: hub.HealthDegraded,
		Message: "Deployment " + r.namespace + "/shop is degraded: ",
		Unhealthy: []hub.ObjectHealth{{
			Kind: "Deployment", Namespace: r.namespace, Name: "shop", Health: hub.HealthDegraded,
			Message: "container shop: CrashLoopBackOff, exit code 1 (Error)",
		}},
	})
}

// greeting is a ConfigMap of the application.
func (r *rancher) greeting(says string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "greeting", "namespace": r.namespace},
		"data": map[string]any{"says": says},
	}}
}

func (r *rancher) modify(t *testing.T) {
	const confidential = "changed-by-hand"
	head, err := r.repositories["hello-world-app-gitops"].Head(t.Context(), dev)
	must(t, err)
	must(t, r.cluster.Apply(t.Context(), r.greeting(confidential)))
	r.want(t, rancherReport{
		Revision: head, State: hub.StateProgressing, Message: "differs from Git: ConfigMap " + r.namespace + "/greeting was modified",
		Unhealthy: []hub.ObjectHealth{{Kind: "ConfigMap", Namespace: r.namespace, Name: "greeting", Message: "was modified"}},
	})
	eventually(t, "the platform's GitRepo is reported as well", func(context.Context) error {
		got, err := r.reported(t, platform+"-"+dev)
		if err == nil && !strings.Contains(got.Message, "Modified") {
			err = fmt.Errorf("got %+v", got)
		}
		return err
	})
	out := r.server.ask(t, 0, "cluster", "show", r.cluster.Name, "-o", "json")
	for _, value := range []string{confidential, "hello from the edge"} {
		if strings.Contains(out, value) {
			t.Errorf("a value is reported:\n%s", out)
		}
	}
}

func (r *rancher) remove(t *testing.T) {
	head, err := r.repositories["hello-world-app-gitops"].Head(t.Context(), dev)
	must(t, err)
	must(t, r.cluster.Delete(t.Context(), r.greeting("")))
	r.want(t, rancherReport{
		Revision: head, State: hub.StateProgressing, Health: hub.HealthProgressing,
		Message:   "differs from Git: ConfigMap " + r.namespace + "/greeting is missing",
		Unhealthy: []hub.ObjectHealth{{Kind: "ConfigMap", Namespace: r.namespace, Name: "greeting", Health: hub.HealthProgressing, Message: "is missing"}},
	})
	commit := r.release(t, "v3")
	r.want(t, rancherReport{Revision: commit, Applied: commit, State: hub.StateReady, Health: hub.HealthHealthy})
	got, err := r.cluster.Get(t.Context(), harness.ConfigMaps, r.namespace, "greeting")
	must(t, err)
	if says := field(got, "data", "says"); says != "hello from the edge" {
		t.Errorf("the greeting says %q, want what is in Git", says)
	}
}

func (r *rancher) refuse(t *testing.T) {
	must(t, r.checkout.Write(rancherApp+"/more.yaml", `apiVersion: v1
kind: Service
metadata: {name: invalid}
spec: {ports: [{port: 0}]}
`))
	commit := r.push(t, "have a port that no API server takes")
	r.want(t, rancherReport{Revision: commit, State: hub.StateFailed, Message: `Service "invalid" is invalid`})
}

// contain tries to give the application all rights: in its namespace, which the API server refuses, and everywhere, which Fleet does.
func (r *rancher) contain(t *testing.T) {
	const binding = `apiVersion: rbac.authorization.k8s.io/v1
kind: %s
metadata: {name: everything}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, name: default, namespace: default}]
`
	for _, tried := range []struct{ kind, message string }{
		{"RoleBinding", `system:serviceaccount:cattle-fleet-system:` + r.namespace + `" (groups=`},
		{"ClusterRoleBinding", "invalid cluster scoped object [name=everything kind=ClusterRoleBinding"},
	} {
		must(t, r.checkout.Write(rancherApp+"/more.yaml", fmt.Sprintf(binding, tried.kind)))
		commit := r.push(t, "have a "+tried.kind)
		r.want(t, rancherReport{Revision: commit, State: hub.StateFailed, Message: tried.message})
	}
	for _, kind := range []string{"rolebindings", "clusterrolebindings"} {
		objects, err := r.cluster.List(t.Context(), harness.RBAC(kind))
		must(t, err)
		for _, o := range objects {
			if o.GetName() == "everything" {
				t.Errorf("the cluster has %s %s/%s", o.GetKind(), o.GetNamespace(), o.GetName())
			}
		}
	}
}

// wantAnswers asks about the platform's commit, which the cluster runs whatever its applications do.
func (r *rancher) wantAnswers(t *testing.T) {
	commit, err := r.repositories["control-plane"].Head(t.Context(), "main")
	must(t, err)
	eventually(t, "the platform's GitRepo is ready again", func(context.Context) error {
		got, err := r.reported(t, platform+"-"+dev)
		if err == nil && (got.State != hub.StateReady || got.Applied == "") {
			err = errors.New(got.Message)
		}
		return err
	})
	wantText(t, r.server.ask(t, 0, "status"), `(?m)^dev +`+commit[:7]+` +good +1/1`)
	wantText(t, r.server.ask(t, 0, "wait", "-e", dev, "--commit", commit, "--timeout", "1m"), `^dev +`+commit[:7]+` +passed +1/1`)
	wantText(t, r.server.ask(t, 0, "cluster", "show", r.cluster.Name), `(?m)^dev/`+r.cluster.Name+` +reached `)
	wantText(t, r.server.ask(t, 0, "history", "cluster", r.cluster.Name), `(?m)transition +GitRepo fleet-local/`+r.namespace+` ready at `)
}
