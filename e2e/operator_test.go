package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kalypso-io/kalypso/e2e/harness"
	"github.com/kalypso-io/kalypso/e2e/tools"
)

// Namespaces of the story: that of the operator, and two tenants. The operator has no rights in a third one.
const (
	operatorNamespace = "kalypso-operator"
	tenantA, tenantB  = "team-a", "team-b"
	operatorAccount   = "operator-kalypso-operator"
)

// TestOperator: the chart installs the operator beside the definitions and objects of the original scheduler. ControlPlanes are scheduled from Git and
// from objects with the same bytes, tenants are separate, missing rights are named, and neither a killed leader nor a restarted API server is noticed.
func TestOperator(t *testing.T) {
	t.Parallel()
	o := &operated{fleet: newFleet(t, "operator")}
	o.promoteByHand(t)
	var err error
	o.cluster, err = stack.StartPlainCluster(t.Context(), "operated")
	must(t, err)
	for _, step := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"the original's definitions and objects are there", o.original},
		{"the chart upgrades the definitions and keeps the objects", o.install},
		{"two replicas run with the rights of the chart, one of them as leader", o.start},
		{"a missing Secret is named", o.missingSecret},
		{"each environment gets a pull request, and a status", o.fromGit},
		{"a pull request of the control plane is planned", o.planned},
		{"a ledger on a server that is not allowed promotes nothing, and environments are scheduled", o.ledgerNotAllowed},
		{"a Secret of another namespace is not used", o.otherNamespace},
		{"a missing right is named", o.missingRight},
		{"the API server is restarted", o.restart},
		{"the leader is killed, and the other one goes on", o.kill},
		{"a suspended control plane is left alone until a round is requested", o.suspend},
		{"assignments are objects, and go with their control plane; pull requests stay", o.deletion},
		{"objects of a namespace give the same bytes", o.fromObjects},
		{"objects that cannot be listed remove nothing", o.unlisted},
		{"a namespace that is deleted removes nothing", o.namespaceDeleted},
	} {
		if !t.Run(step.name, step.run) {
			t.FailNow()
		}
	}
	for _, p := range o.replicas {
		log, err := p.Log()
		must(t, err)
		if strings.Contains(log, o.bot.Token) {
			t.Error("the token of the bot is in the log")
		}
	}
}

// operated is a fleet whose control plane an operator schedules.
type operated struct {
	*fleet
	cluster  *harness.Cluster
	replicas []*harness.Process
	// pull is the pull request of dev, before objects take over.
	pull harness.Pull
}

func kind(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "scheduler.kalypso.io", Version: "v1alpha1", Resource: resource}
}

var controlPlanes = kind("controlplanes")

// originals are the kinds of the original scheduler, by the name of their resource, with an object in its format.
var originals = map[string]string{
	"assignmentpackages":    "kind: AssignmentPackage\nspec: {reconcilerManifests: [{a: b}], namespaceManifests: [], reconcilerManifestsContentType: yaml}",
	"assignments":           "kind: Assignment\nspec: {clusterType: old, deploymentTarget: old-app-test}",
	"baserepoes":            "kind: BaseRepo\nspec: {repo: 'https://git.example.com/control-plane', branch: main, path: ., commit: ''}",
	"clustertypes":          "kind: ClusterType\nspec: {reconciler: argocd, namespaceService: default, configType: configmap}",
	"configschemas":         "kind: ConfigSchema\nspec: {schema: '{\"type\": \"object\"}'}",
	"deploymenttargets":     "kind: DeploymentTarget\nspec: {environment: dev, manifests: {repo: 'https://git.example.com/app', branch: dev, path: ./test}}",
	"environments":          "kind: Environment\nspec: {controlPlane: {repo: 'https://git.example.com/control-plane', branch: dev, path: .}}",
	"gitopsrepoes":          "kind: GitOpsRepo\nspec: {repo: 'https://git.example.com/gitops', branch: dev, path: .}",
	"schedulingpolicies":    "kind: SchedulingPolicy\nspec: {deploymentTargetSelector: {workspace: team, labelSelector: {matchLabels: {a: b}}}, clusterTypeSelector: {labelSelector: {matchLabels: {c: d}}}}",
	"templates":             "kind: Template\nspec: {type: reconciler, manifests: ['apiVersion: v1']}",
	"workloadregistrations": "kind: WorkloadRegistration\nspec: {workload: {repo: 'https://git.example.com/app', branch: main, path: workload/}, workspace: team}",
	"workloads":             "kind: Workload\nspec: {deploymentTargets: [{name: test, environment: dev, manifests: {repo: 'https://git.example.com/app'}}]}",
}

// original installs definitions with the names of the original's, which accept everything, and an object of each kind.
func (o *operated) original(t *testing.T) {
	must(t, o.cluster.Apply(t.Context(), harness.Namespace(operatorNamespace), harness.Namespace("original")))
	folder := t.TempDir()
	var all []*unstructured.Unstructured
	for resource, text := range originals {
		objects, err := harness.Documents("apiVersion: scheduler.kalypso.io/v1alpha1\nmetadata: {name: old, namespace: original}\n" + text)
		must(t, err)
		all = append(all, objects...)
		must(t, os.WriteFile(filepath.Join(folder, resource+".yaml"), fmt.Appendf(nil, `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]s.scheduler.kalypso.io}
spec:
  group: scheduler.kalypso.io
  scope: Namespaced
  names: {plural: %[1]s, singular: %[2]s, kind: %[3]s, listKind: %[3]sList}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`, resource, strings.ToLower(objects[0].GetKind()), objects[0].GetKind()), 0o600))
	}
	must(t, o.cluster.Define(t.Context(), filepath.Join(folder, "*.yaml")))
	must(t, o.cluster.Apply(t.Context(), all...))
}

func (o *operated) install(t *testing.T) {
	helm, err := tools.Helm(t.Context(), "tools", func(what string) { t.Log(what) })
	must(t, err)
	values, err := json.Marshal(map[string]any{
		"server":   map[string]any{"enabled": false},
		"operator": map[string]any{"enabled": true, "namespaces": []string{tenantA, tenantB}, "allow": []string{stack.Gitea.URL}},
	})
	must(t, err)
	file := filepath.Join(t.TempDir(), "values.yaml")
	must(t, os.WriteFile(file, values, 0o600))
	must(t, o.cluster.Apply(t.Context(), harness.Namespace(tenantA), harness.Namespace(tenantB)))
	output(t, "", helm, "install", "operator", filepath.Join("..", "charts", "kalypso"), "--take-ownership", "--force-conflicts", "--values", file,
		"--kubeconfig", o.cluster.Kubeconfig(), "--namespace", operatorNamespace)
	text, err := os.ReadFile(filepath.Join("..", "charts", "kalypso", "operator", "definitions", "scheduler.kalypso.io_controlplanes.yaml"))
	must(t, err)
	definition, err := harness.Documents(string(text))
	must(t, err)
	must(t, o.cluster.Defined(t.Context(), definition...))
	for resource, text := range originals {
		was, err := harness.Documents(text)
		must(t, err)
		is, err := o.cluster.Get(t.Context(), kind(resource), "original", "old")
		must(t, err)
		if resource != "assignmentpackages" { // a result, whose format is another one
			for field, value := range was[0].Object["spec"].(map[string]any) {
				if got := is.Object["spec"].(map[string]any)[field]; fmt.Sprint(got) != fmt.Sprint(value) {
					t.Errorf("%s: after the upgrade, %s is %v, want %v", resource, field, got, value)
				}
			}
		}
		// The new definition takes a change of what was there before.
		eventually(t, resource+" can be changed", func(ctx context.Context) error {
			return o.cluster.Annotate(ctx, kind(resource), "original", "old", "example.com/touched", "yes")
		})
	}
	must(t, o.cluster.Delete(t.Context(), harness.Namespace("original")))
}

// start starts two replicas with the arguments and the rights of the chart's Deployment.
func (o *operated) start(t *testing.T) {
	as, err := o.cluster.As(t.Context(), operatorNamespace, operatorAccount)
	must(t, err)
	if _, err := as.List(t.Context(), harness.Secrets); !apierrors.IsForbidden(err) {
		t.Errorf("the operator lists Secrets: %v", err)
	}
	for _, namespace := range []string{"default", operatorNamespace} {
		if _, err := as.Get(t.Context(), harness.Secrets, namespace, "any"); !apierrors.IsForbidden(err) {
			t.Errorf("the operator reads Secrets of %s: %v", namespace, err)
		}
	}
	deployment, err := o.cluster.Get(t.Context(), harness.Deployments, operatorNamespace, operatorAccount)
	must(t, err)
	args := containerArgs(t, []*unstructured.Unstructured{deployment}, "/unused")
	for i := range 2 {
		o.startReplica(t, as, args, fmt.Sprint("operator-", i))
	}
}

func (o *operated) startReplica(t *testing.T, as *harness.Cluster, args []string, name string) {
	t.Helper()
	at, err := stack.Address()
	must(t, err)
	own := slices.Clone(args)
	for i, arg := range own {
		switch {
		case strings.HasPrefix(arg, "--health="):
			own[i] = "--health=" + at
		case strings.HasPrefix(arg, "--data="):
			own[i] = "--data=data"
		}
	}
	p, err := kalypso.Operator().Start(name, append(own, "--kubeconfig", as.Kubeconfig(), "--settle", "1s")...)
	must(t, err)
	must(t, p.WaitServing(t.Context(), "http://"+at+"/readyz"))
	o.replicas = append(o.replicas, p)
}

func (o *operated) secret(namespace, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name, "namespace": namespace}, "stringData": map[string]any{"token": o.bot.Token},
	}}
}

// plane is a ControlPlane with a source.
func (o *operated) plane(namespace string, source map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "scheduler.kalypso.io/v1alpha1", "kind": "ControlPlane", "metadata": map[string]any{"name": "shop", "namespace": namespace},
		"spec": map[string]any{
			"source":   source,
			"forge":    map[string]any{"kind": "gitea", "url": stack.Gitea.URL, "secretRef": map[string]any{"name": "bot"}},
			"interval": "10s",
		},
	}}
}

func (o *operated) git() map[string]any {
	return map[string]any{"repository": o.repositories["control-plane"].URL()}
}

// wantReady waits until the control plane of a namespace has a condition Ready with a status, a reason and a text in its message.
func (o *operated) wantReady(t *testing.T, namespace, status, reason, text string) *unstructured.Unstructured {
	t.Helper()
	var found *unstructured.Unstructured
	eventually(t, fmt.Sprintf("%s is %s: %s %q", namespace, status, reason, text), func(ctx context.Context) error {
		plane, err := o.cluster.Get(ctx, controlPlanes, namespace, "shop")
		if err != nil {
			return err
		}
		found = plane
		ready := harness.Condition(plane, "Ready")
		observed, _, _ := unstructured.NestedInt64(plane.Object, "status", "observedGeneration")
		if ready["status"] != status || ready["reason"] != reason || !strings.Contains(fmt.Sprint(ready["message"]), text) || observed != plane.GetGeneration() {
			return fmt.Errorf("its status is %v", plane.Object["status"])
		}
		return nil
	})
	return found
}

func (o *operated) missingSecret(t *testing.T) {
	must(t, o.cluster.Apply(t.Context(), o.plane(tenantA, o.git())))
	o.wantReady(t, tenantA, "False", "SecretUnusable", `no Secret "bot" in namespace "team-a"`)
}

func (o *operated) fromGit(t *testing.T) {
	must(t, o.cluster.Apply(t.Context(), o.secret(tenantA, "bot")))
	plane := o.wantReady(t, tenantA, "True", "Succeeded", "2 environments, 16 assignments")
	o.pull = o.wantPull(t, dev, "dev: 10 added")
	o.wantPull(t, "stage", "stage: 6 added")
	environments, _, err := unstructured.NestedSlice(plane.Object, "status", "environments")
	must(t, err)
	first := environments[0].(map[string]any)
	if first["name"] != dev || !strings.HasSuffix(fmt.Sprint(first["pullRequest"]), fmt.Sprint("/", o.pull.Number)) || !strings.HasPrefix(fmt.Sprint(first["inputs"]), "dev@") {
		t.Errorf("the status of dev is %v", first)
	}
	eventually(t, "events tell what was done", func(ctx context.Context) error {
		events, err := o.cluster.List(ctx, schema.GroupVersionResource{Group: "events.k8s.io", Version: "v1", Resource: "events"})
		if err != nil {
			return err
		}
		var reasons []string
		for _, e := range events {
			if e.GetNamespace() == tenantA {
				reasons = append(reasons, fmt.Sprint(e.Object["reason"]))
			}
		}
		for _, want := range []string{"SecretUnusable", "Succeeded", "Changed"} {
			if !slices.Contains(reasons, want) {
				return fmt.Errorf("the reasons are %q", reasons)
			}
		}
		return nil
	})
}

// planned opens a pull request on the control plane, and wants its plan there and in the status.
func (o *operated) planned(t *testing.T) {
	must(t, o.repositories["control-plane"].Grant(t.Context(), o.bot, "write")) // for statuses and comments on its pull requests
	o.preview(t)
	eventually(t, "the status counts the pull request", func(ctx context.Context) error {
		plane, err := o.cluster.Get(ctx, controlPlanes, tenantA, "shop")
		if err != nil {
			return err
		}
		if is, _, _ := unstructured.NestedString(plane.Object, "status", "plannedPullRequests"); is != "1 planned" {
			return fmt.Errorf("it says %q", is)
		}
		return nil
	})
}

func (o *operated) ledgerNotAllowed(t *testing.T) {
	plane := o.plane(tenantA, o.git())
	must(t, unstructured.SetNestedField(plane.Object, "ledger", "spec", "ledger", "secretRef", "name"))
	must(t, o.cluster.Apply(t.Context(), plane))
	o.wantReady(t, tenantA, "False", "SecretUnusable", `no Secret "ledger" in namespace "team-a"`)
	secret := o.secret(tenantA, "ledger")
	secret.Object["stringData"] = map[string]any{"url": "postgres://shop:" + o.bot.Token + "@db.example.com/ledger"}
	must(t, o.cluster.Apply(t.Context(), secret))
	found := o.wantReady(t, tenantA, "False", "NotAllowed", "postgres://db.example.com")
	if summary, _, _ := unstructured.NestedString(found.Object, "status", "summary"); !strings.HasPrefix(summary, "2 environments, 16 assignments") {
		t.Errorf("the summary is %q", summary)
	}
	if stalled := harness.Condition(found, "Stalled"); stalled["status"] == "True" {
		t.Errorf("the status is %v", found.Object["status"])
	}
	must(t, o.cluster.Delete(t.Context(), secret))
	must(t, o.cluster.Apply(t.Context(), o.plane(tenantA, o.git())))
	o.wantReady(t, tenantA, "True", "Succeeded", "2 environments, 16 assignments")
}

func (o *operated) otherNamespace(t *testing.T) {
	must(t, o.cluster.Apply(t.Context(), o.plane(tenantB, o.git())))
	o.wantReady(t, tenantB, "False", "SecretUnusable", `in namespace "team-b"`)
	// A forge that the operator does not allow gets no credential.
	must(t, o.cluster.Apply(t.Context(), o.secret(tenantB, "bot")))
	elsewhere := o.plane(tenantB, o.git())
	must(t, unstructured.SetNestedField(elsewhere.Object, "https://git.example.com", "spec", "forge", "url"))
	must(t, o.cluster.Apply(t.Context(), elsewhere))
	plane := o.wantReady(t, tenantB, "False", "NotAllowed", "https://git.example.com")
	if stalled := harness.Condition(plane, "Stalled"); stalled["status"] != "True" {
		t.Errorf("the status is %v", plane.Object["status"])
	}
	must(t, o.cluster.Delete(t.Context(), elsewhere))
}

// withoutRule takes a resource from the role for tenants while a function runs.
func (o *operated) withoutRule(t *testing.T, resource string, run func()) {
	t.Helper()
	roles := schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
	role, err := o.cluster.Get(t.Context(), roles, "", operatorAccount)
	must(t, err)
	set := func(rules []any) {
		must(t, o.cluster.Apply(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": map[string]any{"name": operatorAccount}, "rules": rules,
		}}))
	}
	all := role.Object["rules"].([]any)
	var less []any
	for _, rule := range all {
		rest := map[string]any{}
		for field, value := range rule.(map[string]any) {
			rest[field] = value
		}
		rest["resources"] = slices.DeleteFunc(slices.Clone(rest["resources"].([]any)), func(r any) bool { return r == resource })
		if len(rest["resources"].([]any)) > 0 {
			less = append(less, rest)
		}
	}
	set(less)
	run()
	set(all)
}

// request asks for a round now.
func (o *operated) request(t *testing.T, namespace string) {
	t.Helper()
	at := time.Now().Format(time.RFC3339Nano)
	must(t, o.cluster.Annotate(t.Context(), controlPlanes, namespace, "shop", "reconcile.kalypso.io/requestedAt", at))
	eventually(t, "the request is handled", func(ctx context.Context) error {
		plane, err := o.cluster.Get(ctx, controlPlanes, namespace, "shop")
		if err != nil {
			return err
		}
		if handled, _, _ := unstructured.NestedString(plane.Object, "status", "lastHandledReconcileAt"); handled != at {
			return fmt.Errorf("handled: %q", handled)
		}
		return nil
	})
}

func (o *operated) missingRight(t *testing.T) {
	o.withoutRule(t, "secrets", func() {
		o.wantReady(t, tenantA, "False", "Forbidden", `cannot get resource "secrets"`)
	})
	o.wantReady(t, tenantA, "True", "Succeeded", "")
}

func (o *operated) restart(t *testing.T) {
	must(t, o.cluster.Restart(t.Context()))
	o.change(t, "mysql://west-2:8806/db")
	o.pull = o.wantChanged(t)
}

// change changes a value of the platform configuration in Git.
func (o *operated) change(t *testing.T, database string) {
	t.Helper()
	c := o.checkouts[controlPlaneOfDev]
	text, err := os.ReadFile(filepath.Join(c.Dir(), "cluster-types/west-us/west-us-config.yaml"))
	must(t, err)
	_, rest, _ := strings.Cut(string(text), "mysql://")
	old, _, _ := strings.Cut(rest, "\n")
	must(t, c.Replace("cluster-types/west-us/west-us-config.yaml", "mysql://"+old, database))
	push(t, c, "move the database of the west")
}

// wantChanged waits until the pull request of dev has another head.
func (o *operated) wantChanged(t *testing.T) harness.Pull {
	t.Helper()
	var found harness.Pull
	eventually(t, "the pull request is updated", func(context.Context) error {
		if found = o.wantPull(t, dev, "dev: 10 added"); found.Head.SHA == o.pull.Head.SHA {
			return errors.New("it has the same head")
		}
		return nil
	})
	if found.Number != o.pull.Number {
		t.Errorf("pull request %d took the place of %d", found.Number, o.pull.Number)
	}
	return found
}

// kill kills the replica that holds the Lease, while it has something to do.
func (o *operated) kill(t *testing.T) {
	leases := schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	holder := func(ctx context.Context) (string, error) {
		lease, err := o.cluster.Get(ctx, leases, operatorNamespace, "kalypso-operator")
		if err != nil {
			return "", err
		}
		name, _, _ := unstructured.NestedString(lease.Object, "spec", "holderIdentity")
		return name, nil
	}
	before, err := holder(t.Context())
	must(t, err)
	var leader *harness.Process
	for _, p := range o.replicas {
		log, err := p.Log()
		must(t, err)
		if strings.Contains(log, "Starting Controller") {
			leader = p
		}
	}
	if leader == nil {
		t.Fatal("no replica leads")
	}
	o.change(t, "mysql://west-3:8806/db")
	must(t, leader.Kill())
	killed := time.Now()
	eventually(t, "another replica has the Lease", func(ctx context.Context) error {
		now, err := holder(ctx)
		if err == nil && (now == before || now == "") {
			err = fmt.Errorf("it is held by %q", now)
		}
		return err
	})
	if took := time.Since(killed); took > 20*time.Second {
		t.Errorf("the other replica took over after %s", took)
	}
	o.pull = o.wantChanged(t)
}

func (o *operated) suspend(t *testing.T) {
	plane := o.plane(tenantA, o.git())
	must(t, unstructured.SetNestedField(plane.Object, true, "spec", "suspend"))
	must(t, o.cluster.Apply(t.Context(), plane))
	eventually(t, "it is suspended", func(ctx context.Context) error {
		is, err := o.cluster.Get(ctx, controlPlanes, tenantA, "shop")
		if err != nil {
			return err
		}
		if summary, _, _ := unstructured.NestedString(is.Object, "status", "summary"); summary != "suspended" {
			return fmt.Errorf("the summary is %q", summary)
		}
		return nil
	})
	o.change(t, "mysql://west-4:8806/db")
	must(t, unstructured.SetNestedField(plane.Object, false, "spec", "suspend"))
	must(t, unstructured.SetNestedField(plane.Object, true, "spec", "assignments", "objects"))
	must(t, o.cluster.Apply(t.Context(), plane))
	o.request(t, tenantA)
	o.pull = o.wantChanged(t)
}

func (o *operated) deletion(t *testing.T) {
	wantAssignments := func(want int) {
		t.Helper()
		eventually(t, fmt.Sprintf("there are %d Assignments", want), func(ctx context.Context) error {
			objects, err := o.cluster.List(ctx, kind("assignments"))
			if err == nil && len(objects) != want {
				err = fmt.Errorf("there are %d", len(objects))
			}
			return err
		})
	}
	wantAssignments(16)
	must(t, o.cluster.Delete(t.Context(), o.plane(tenantA, o.git())))
	wantAssignments(0)
	if now := o.wantPull(t, dev, "dev: 10 added"); now.Head.SHA != o.pull.Head.SHA {
		t.Error("the pull request was changed")
	}
}

// documents are the documents of the control plane, as objects of a namespace.
func (o *operated) documents(t *testing.T, namespace string) []*unstructured.Unstructured {
	t.Helper()
	var all []*unstructured.Unstructured
	for _, branch := range []string{controlPlaneMain, controlPlaneOfDev} {
		root := o.checkouts[branch].Dir()
		must(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && d.Name() == ".git":
				return filepath.SkipDir
			case d.IsDir() || filepath.Ext(path) != ".yaml":
				return nil
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			objects, err := harness.Documents(string(text))
			for _, object := range objects {
				object.SetNamespace(namespace)
				// What a deliverer adds is not part of the document.
				labels := object.GetLabels()
				if labels == nil {
					labels = map[string]string{}
				}
				labels["kustomize.toolkit.fluxcd.io/name"] = "control-plane"
				object.SetLabels(labels)
				all = append(all, object)
			}
			return err
		}))
	}
	return all
}

// tree returns the files of a commit of the GitOps repository, with the hashes of their bytes.
func (o *operated) tree(t *testing.T, commit string) string {
	t.Helper()
	var found struct {
		Truncated bool `json:"truncated"`
		Tree      []struct {
			Path string `json:"path"`
			SHA  string `json:"sha"`
		} `json:"tree"`
	}
	must(t, stack.Gitea.Call(t.Context(), stack.Gitea.Admin, http.MethodGet, "/repos/"+o.gitops.Path+"/git/trees/"+commit+"?recursive=true&per_page=1000", nil, &found))
	if found.Truncated || len(found.Tree) < 10 {
		t.Fatalf("the tree has %d entries", len(found.Tree))
	}
	var list strings.Builder
	for _, f := range found.Tree {
		fmt.Fprintln(&list, f.SHA, f.Path)
	}
	return list.String()
}

func (o *operated) objectsSource() map[string]any {
	return map[string]any{"objects": map[string]any{"environment": dev, "repository": o.repositories["control-plane"].URL()}}
}

func (o *operated) fromObjects(t *testing.T) {
	want := o.tree(t, o.pull.Head.SHA)
	// Another value first, so that the same bytes come from objects, and not from the commit that is there.
	objects := o.documents(t, tenantB)
	var changed *unstructured.Unstructured
	for _, object := range objects {
		if object.GetName() == "west-us-config" {
			changed = object.DeepCopy()
			text, _, _ := unstructured.NestedString(object.Object, "data", "DATABASE_URL")
			must(t, unstructured.SetNestedField(object.Object, text+"-elsewhere", "data", "DATABASE_URL"))
		}
	}
	must(t, o.cluster.Apply(t.Context(), objects...))
	must(t, o.cluster.Apply(t.Context(), o.secret(tenantB, "bot"), o.plane(tenantB, o.objectsSource())))
	o.wantReady(t, tenantB, "True", "Succeeded", "1 environment, 10 assignments")
	o.pull = o.wantChanged(t)
	if o.tree(t, o.pull.Head.SHA) == want {
		t.Fatal("another value gives the same bytes")
	}
	// A change of an object wakes the operator.
	must(t, o.cluster.Apply(t.Context(), changed))
	o.pull = o.wantChanged(t)
	if diff := cmp.Diff(want, o.tree(t, o.pull.Head.SHA)); diff != "" {
		t.Errorf("files (-Git +objects):\n%s", diff)
	}
	// A problem names the object.
	wrong, err := harness.Documents("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterType\nmetadata: {name: wrong, namespace: " + tenantB + "}\nspec: {extends: nothing}")
	must(t, err)
	must(t, o.cluster.Apply(t.Context(), wrong...))
	eventually(t, "the problem names the object", func(ctx context.Context) error {
		plane, err := o.cluster.Get(ctx, controlPlanes, tenantB, "shop")
		if err == nil && !strings.Contains(fmt.Sprint(plane.Object["status"]), "ClusterType team-b/wrong: error") {
			err = fmt.Errorf("the status is %v", plane.Object["status"])
		}
		return err
	})
	must(t, o.cluster.Delete(t.Context(), wrong...))
	o.request(t, tenantB)
}

func (o *operated) unlisted(t *testing.T) {
	o.pull = o.wantPull(t, dev, "dev: 10 added")
	o.withoutRule(t, "schedulingpolicies", func() {
		o.wantReady(t, tenantB, "False", "Forbidden", "list schedulingpolicies")
	})
	o.wantReady(t, tenantB, "True", "Succeeded", "")
	if now := o.wantPull(t, dev, "dev: 10 added"); now.Head.SHA != o.pull.Head.SHA {
		t.Error("the pull request was changed")
	}
}

func (o *operated) namespaceDeleted(t *testing.T) {
	must(t, o.cluster.Delete(t.Context(), harness.Namespace(tenantB)))
	eventually(t, "the namespace is gone", func(ctx context.Context) error {
		if _, err := o.cluster.Get(ctx, harness.Namespaces, "", tenantB); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is there: %v", err)
		}
		return nil
	})
	if now := o.wantPull(t, dev, "dev: 10 added"); now.Head.SHA != o.pull.Head.SHA {
		t.Error("the pull request was changed")
	}
}
