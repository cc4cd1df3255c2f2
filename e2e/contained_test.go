package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kalypso-io/kalypso/e2e/harness"
)

// TestContained: a fleet with its Flux objects in flux-system moves into containment while its workload runs on; afterwards the application cannot
// leave its namespace.
func TestContained(t *testing.T) {
	t.Parallel()
	c, err := running()
	must(t, err)
	f := newContained(t, c)
	for _, step := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"the fleet as it was: Flux applies the application with all of its rights", f.before},
		{"adopt: the new Kustomization takes over, and the old one deletes nothing any more", f.adopt},
		{"prune: the old Kustomization goes, after approval, and the pod runs on", f.prune},
		{"what leaves the namespace is refused by the cluster, and neighbours are untouched", f.refusedByTheCluster},
		{"a grant of the platform team allows it", f.granted},
		{"the assignment is removed with everything in its namespace", f.removed},
	} {
		if !t.Run(step.name, step.run) {
			t.FailNow()
		}
	}
}

// contained is a fleet with one application on the cluster with a node.
type contained struct {
	fleet
	cluster     *harness.Cluster
	environment string
	// namespace is that of the only assignment, and follow the name of the Flux objects that follow the platform's branch.
	namespace, follow string
	pod               *unstructured.Unstructured
}

// oldFlux is a template as people had it before.
const oldFlux = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: Template
metadata: {name: flux}
spec:
  type: reconciler
  manifests:
  - |
    apiVersion: source.toolkit.fluxcd.io/v1
    kind: GitRepository
    metadata:
      name: {{ quote .Namespace }}
      namespace: flux-system
    spec:
      interval: 10m
      url: {{ quote .Repo }}
      ref: {branch: {{ quote .Branch }}}
      secretRef: {name: git}
  - |
    apiVersion: kustomize.toolkit.fluxcd.io/v1
    kind: Kustomization
    metadata:
      name: {{ quote .Namespace }}
      namespace: flux-system
    spec:
      interval: 10m
      prune: true
      targetNamespace: {{ quote .Namespace }}
      path: {{ quote .Path }}
      sourceRef: {kind: GitRepository, name: {{ quote .Namespace }}}
`

func newContained(t *testing.T, c *harness.Cluster) *contained {
	t.Helper()
	empty := newEmptyFleet(t, "contained")
	organization := empty.organization
	// The name of the environment makes that of the namespace unique on the cluster.
	environment := strings.ReplaceAll(organization, "contained-", "c")
	f := &contained{
		fleet: *empty, cluster: c, environment: environment, namespace: environment + "-drone-shop-live", follow: organization,
	}
	url := f.url
	for branch, files := range map[string]map[string]string{
		"control-plane/main": {
			"environment.yaml":  object("Environment", environment, "{controlPlane: {repo: "+url("control-plane")+", branch: dev, path: .}}"),
			"registration.yaml": object("WorkloadRegistration", "shop", "{workspace: shops, workload: {repo: "+url("shop")+", branch: main, path: .}}"),
			"flux.yaml":         oldFlux,
			"grant.yaml":        object("Grant", "git", "{deploymentTargetSelector: {workspace: shops}, secrets: [{name: git, url: "+stack.Gitea.URL+"/"+organization+"}]}"),
		},
		"control-plane/dev": {
			"base.yaml":    object("BaseRepo", "main", "{repo: "+url("control-plane")+", branch: main, path: .}"),
			"gitops.yaml":  object("GitOpsRepo", "gitops", "{repo: "+url("gitops")+", branch: dev, path: .}"),
			"drone.yaml":   object("ClusterType", "drone", "{reconciler: flux, namespaceService: default, configType: none}"),
			"policy.yaml":  object("SchedulingPolicy", "everywhere", "{deploymentTargetSelector: {}, clusterTypeSelector: {}}"),
			"storage.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: region, labels: {platform-config: \"true\"}}\ndata: {REGION: west}\n",
		},
		"shop/main": {
			"workload.yaml": object("Workload", "shop", "{deploymentTargets: [{name: live, environment: "+environment+", manifests: {repo: "+
				url("shop-gitops")+", branch: dev, path: ./live, secret: git}}]}"),
		},
		"gitops/dev":      {"README.md": "generated\n"},
		"shop-gitops/dev": {"live/shop.yaml": deployment(f.namespace, "v1", 600)},
	} {
		repository, name, _ := strings.Cut(branch, "/")
		f.checkouts[branch] = f.publish(t, repository, name, files)
	}
	f.gitops = f.repositories["gitops"]
	must(t, f.gitops.Grant(t.Context(), f.bot, "write"))
	return f
}

// schedule proposes what is to change, merges it, and waits until the cluster has applied it and found it healthy.
func (f *contained) schedule(t *testing.T, says string, flags ...string) {
	t.Helper()
	ctx := t.Context()
	wantText(t, f.run(t, 0, append([]string{"schedule", "-e", f.environment, "--commit"}, flags...)...), says)
	pull, err := f.gitops.OpenPull(ctx, "kalypso/"+f.environment, dev, "what Kalypso proposes")
	must(t, err)
	commit, err := f.gitops.Merge(ctx, pull, dev)
	must(t, err)
	must(t, f.cluster.Follow(ctx, harness.Follow{Name: f.follow, URL: f.gitops.URL(), Branch: dev, Path: "./drone", As: f.flux}))
	must(t, f.cluster.Pull(ctx, f.follow))
	f.until(t, func(ctx context.Context) error { return f.cluster.Applied(ctx, f.follow, commit) })
}

func (f *contained) until(t *testing.T, is func(ctx context.Context) error) {
	t.Helper()
	must(t, harness.Until(t.Context(), arrival, is))
}

// release pushes to the application's manifests, and has Flux look. The test fails unless Ready ends with the status and message.
func (f *contained) release(t *testing.T, status, message string) {
	t.Helper()
	commit := push(t, f.checkouts["shop-gitops/dev"], t.Name())
	must(t, f.cluster.Annotate(t.Context(), harness.GitRepositories, f.namespace, f.namespace, "reconcile.fluxcd.io/requestedAt", commit))
	f.until(t, func(ctx context.Context) error {
		k, err := f.cluster.Get(ctx, harness.Kustomizations, f.namespace, f.namespace)
		if err != nil {
			return err
		}
		ready := harness.Condition(k, "Ready")
		attempted := field(k, "status", "lastAttemptedRevision")
		if !strings.HasSuffix(attempted, ":"+commit) || ready["status"] != status || !strings.Contains(fmt.Sprint(ready["message"]), message) {
			return fmt.Errorf("the Kustomization tried %q of %s: %v", attempted, commit, ready)
		}
		return nil
	})
}

// wantPod wants the pod that has run from the beginning.
func (f *contained) wantPod(t *testing.T) {
	t.Helper()
	p := podOf(t, f.cluster, f.namespace, "v1")
	if p.GetUID() != f.pod.GetUID() {
		t.Errorf("got the pod %s, want %s, which ran before", p.GetName(), f.pod.GetName())
	}
	wantCondition(t, p, "Ready", "True", "")
}

func (f *contained) wantGone(t *testing.T, what string, get func(ctx context.Context) error) {
	t.Helper()
	f.until(t, func(ctx context.Context) error {
		switch err := get(ctx); {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return err
		}
		return errors.New(what + " is still there")
	})
}

func (f *contained) before(t *testing.T) {
	must(t, f.cluster.Apply(t.Context(), harness.Credential("git", f.flux)))
	f.schedule(t, `1 added`)
	watchFor(t, f.cluster, f.namespace, rolledOut)
	f.pod = podOf(t, f.cluster, f.namespace, "v1")
}

func (f *contained) adopt(t *testing.T) {
	ctx := t.Context()
	credential := harness.Credential("git", f.flux)
	credential.SetNamespace(f.namespace)
	must(t, f.cluster.Apply(ctx, credential))
	must(t, f.checkouts[controlPlaneMain].Remove("flux.yaml"))
	push(t, f.checkouts[controlPlaneMain], "the built-in template")
	f.schedule(t, `(?m)Kustomization flux-system/`+f.namespace+` handed over`)
	f.until(t, func(ctx context.Context) error {
		k, err := f.cluster.Get(ctx, harness.Kustomizations, f.namespace, f.namespace)
		if err == nil && harness.Condition(k, "Ready")["status"] != "True" {
			err = fmt.Errorf("the new Kustomization is not ready: %v", harness.Condition(k, "Ready"))
		}
		return err
	})
	old, err := f.cluster.Get(ctx, harness.Kustomizations, "flux-system", f.namespace)
	must(t, err)
	if prune, _, _ := unstructured.NestedBool(old.Object, "spec", "prune"); prune {
		t.Error("the old Kustomization still prunes")
	}
	f.wantPod(t)
}

func (f *contained) prune(t *testing.T) {
	must(t, f.checkouts[controlPlaneOfDev].Replace("gitops.yaml", "path: .}", "path: ., handedOver: remove}"))
	push(t, f.checkouts[controlPlaneOfDev], "every cluster has adopted")
	wantText(t, f.run(t, 3, "schedule", "-e", f.environment, "--commit"), `previous reconcilers of 1 assignment are removed; .* need approval`)
	f.schedule(t, `(?m)clusters delete .* handed over before, and nothing with them`, "--allow-deletions")
	f.wantGone(t, "the old Kustomization", func(ctx context.Context) error {
		_, err := f.cluster.Get(ctx, harness.Kustomizations, "flux-system", f.namespace)
		return err
	})
	f.wantPod(t)
	d, err := f.cluster.Get(t.Context(), harness.Deployments, f.namespace, "shop")
	must(t, err)
	if got := d.GetLabels()["kustomize.toolkit.fluxcd.io/namespace"]; got != f.namespace {
		t.Errorf("the Deployment belongs to a Kustomization in %q, want %q", got, f.namespace)
	}
}

// escape gives everything to the application.
const escape = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: NAME}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: ServiceAccount, name: reconciler, namespace: NAME}]
`

func (f *contained) escapeTo(t *testing.T, text string) {
	t.Helper()
	must(t, f.checkouts["shop-gitops/dev"].Write("live/escape.yaml", strings.ReplaceAll(text, "NAME", f.namespace)))
}

func (f *contained) refusedByTheCluster(t *testing.T) {
	ctx := t.Context()
	f.escapeTo(t, escape)
	f.release(t, "False", "clusterrolebindings.rbac.authorization.k8s.io")
	f.wantPod(t)

	// A Kustomization without a service account would have the rights of Flux.
	f.escapeTo(t, `apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: more}
spec: {interval: 1m, prune: true, path: ./, sourceRef: {kind: GitRepository, name: NAME}}
`)
	f.release(t, "False", "kustomizations.kustomize.toolkit.fluxcd.io")

	// Flux moves an object of another namespace into that of the assignment.
	f.escapeTo(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME, namespace: default}\n")
	f.release(t, "True", "")
	if _, err := f.cluster.Get(ctx, harness.ConfigMaps, "default", f.namespace); !apierrors.IsNotFound(err) {
		t.Errorf("the neighbour's namespace has the object: %v", err)
	}
	_, err := f.cluster.Get(ctx, harness.ConfigMaps, f.namespace, f.namespace)
	must(t, err)
	must(t, f.checkouts["shop-gitops/dev"].Remove("live/escape.yaml"))
	f.release(t, "True", "")
	f.wantPod(t)
}

func (f *contained) granted(t *testing.T) {
	role := "binder-" + f.environment
	objects, err := harness.Documents(`apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: ` + role + `}
rules:
- {apiGroups: [rbac.authorization.k8s.io], resources: [clusterrolebindings], verbs: [get, list, watch, create, patch, delete]}
- {apiGroups: [rbac.authorization.k8s.io], resources: [clusterroles], resourceNames: [view], verbs: [bind]}
`)
	must(t, err)
	must(t, f.cluster.Apply(t.Context(), objects...))
	must(t, f.checkouts[controlPlaneOfDev].Write("grant.yaml", `apiVersion: scheduler.kalypso.io/v1alpha1
kind: Grant
metadata: {name: bindings}
spec:
  deploymentTargetSelector: {workspace: shops}
  roles: [{clusterRole: `+role+`, clusterWide: true}]
`))
	push(t, f.checkouts[controlPlaneOfDev], "a grant")
	f.schedule(t, `grants `+role+` in the whole cluster`)
	f.escapeTo(t, escape)
	f.release(t, "True", "")
	must(t, f.checkouts["shop-gitops/dev"].Remove("live/escape.yaml"))
	f.release(t, "True", "")
	f.wantPod(t)
}

func (f *contained) removed(t *testing.T) {
	must(t, f.checkouts[controlPlaneOfDev].Remove("policy.yaml"))
	push(t, f.checkouts[controlPlaneOfDev], "nothing is scheduled any more")
	f.schedule(t, `1 removed`, "--allow-deletions")
	f.wantGone(t, "the namespace", func(ctx context.Context) error {
		_, err := f.cluster.Get(ctx, harness.Namespaces, "", f.namespace)
		return err
	})
	must(t, f.cluster.Unfollow(t.Context(), f.follow))
}
