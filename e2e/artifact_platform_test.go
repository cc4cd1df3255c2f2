package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kalypso-io/kalypso/e2e/harness"
)

// The platform is a solution of its own, beside the application: publishPlatform publishes it to the server's registry, and Flux applies the folder of a
// cluster type from there.

// platformTree writes the control plane of the application.
func (a *artifact) platformTree(t *testing.T) {
	t.Helper()
	for branch, files := range map[string]map[string]string{
		controlPlaneMain: {
			".environments/dev.yaml": object("Environment", dev, "{controlPlane: {repo: ., branch: dev, path: .}}"),
			"shop.yaml":              object("WorkloadRegistration", "shop", "{workspace: shop, workload: {repo: "+a.url("shop")+", branch: main, path: .}}"),
			"template.yaml": object("Template", "says", "\n  type: reconciler\n  manifests:\n  - |\n    apiVersion: v1\n    kind: ConfigMap\n"+
				"    metadata: {name: reconciler, namespace: {{ .Namespace }}}\n    data: {path: {{ .Manifests.path }}}"),
		},
		controlPlaneOfDev: {
			"base.yaml":   object("BaseRepo", "main", "{repo: ., branch: main, path: .}"),
			"gitops.yaml": object("GitOpsRepo", dev, "{repo: ../gitops, branch: dev, publish: 'oci://"+a.embedded.place+"-platform'}"),
			"type.yaml":   object("ClusterType", "small", "{reconciler: says, namespaceService: default, configType: configmap}"),
			"policy.yaml": object("SchedulingPolicy", "all", "{deploymentTargetSelector: {labelSelector: {}}, clusterTypeSelector: {labelSelector: {}}}"),
			"config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: region, labels: {platform-config: 'true'}}\ndata: {REGION: north}\n",
		},
		"gitops/dev": {"README.md": "generated\n"},
	} {
		repository, name, _ := strings.Cut(branch, "/")
		a.checkouts[branch] = a.fleet.publish(t, repository, name, files)
	}
	must(t, a.repositories["gitops"].Grant(t.Context(), a.bot, "write"))
}

// publishPlatform merges what the control plane renders, publishes it, and returns the digest.
func (a *artifact) publishPlatform(t *testing.T) string {
	t.Helper()
	source := []string{"-e", dev, "--control-plane", a.url("control-plane")}
	a.run(t, a.embedded, append([]string{"schedule", "--commit", "--branch", dev}, source...)...)
	var published struct {
		Artifact string
		New      bool
	}
	must(t, json.Unmarshal([]byte(a.run(t, a.embedded, append([]string{"platform", "publish", "-o", "json"}, source...)...)), &published))
	place, digest, _ := strings.Cut(published.Artifact, "@")
	if !published.New || place != "oci://"+a.embedded.place+"-platform" {
		t.Fatalf("published %+v", published)
	}
	wantText(t, a.run(t, a.embedded, "verify", published.Artifact, "--platform", "-e", dev), `(?s)ok  its commits render it\nok  it has the merged files`)
	return digest
}

// followPlatform has Flux apply the folder of a cluster type, and a value of the configuration reach the cluster without a new version of the application.
func (a *artifact) followPlatform(t *testing.T) {
	a.platformTree(t)
	digest := a.publishPlatform(t)
	name := a.organization + "-platform"
	named := func(version, kind string, spec map[string]any) *unstructured.Unstructured {
		o := a.fluxObject(version, kind, map[string]any{"spec": spec})
		o.SetName(name)
		return o
	}
	source := named("source.toolkit.fluxcd.io/v1", "OCIRepository", map[string]any{
		"interval": "2s", "url": "oci://" + a.embedded.place + "-platform", "ref": map[string]any{"tag": dev}, "insecure": true,
		"secretRef": map[string]any{"name": a.organization},
	})
	kustomization := named("kustomize.toolkit.fluxcd.io/v1", "Kustomization", map[string]any{
		"interval": "2s", "retryInterval": "1s", "timeout": "30s", "prune": true, "wait": true, "path": "./small",
		"sourceRef": map[string]any{"kind": "OCIRepository", "name": name},
	})
	must(t, a.cluster.Apply(t.Context(), source, kustomization))
	a.wantPlatform(t, name, digest, "north")

	applications := len(a.digests)
	config := a.checkouts[controlPlaneOfDev]
	must(t, config.Replace("config.yaml", "north", "south"))
	push(t, config, "the region is south")
	a.wantPlatform(t, name, a.publishPlatform(t), "south")
	if len(a.digests) != applications {
		t.Error("the application has another version")
	}
	must(t, a.cluster.Delete(t.Context(), kustomization))
	wantObject(t, a.cluster, harness.Kustomizations, "flux-system", name, false)
	must(t, a.cluster.Delete(t.Context(), source))
}

// wantPlatform waits until Flux has applied a version of the platform, with a region.
func (a *artifact) wantPlatform(t *testing.T, name, digest, region string) {
	t.Helper()
	eventually(t, "Flux applied the platform "+digest, func(ctx context.Context) error {
		o, err := a.cluster.Get(ctx, harness.Kustomizations, "flux-system", name)
		if err != nil {
			return err
		}
		applied, _, _ := unstructured.NestedString(o.Object, "status", "lastAppliedRevision")
		if applied != dev+"@"+digest || harness.Condition(o, "Ready")["status"] != "True" {
			return fmt.Errorf("it is at %q, %v", applied, harness.Condition(o, "Ready"))
		}
		for _, target := range []string{"east", "west"} {
			c, err := a.cluster.Get(ctx, harness.ConfigMaps, "dev-small-shop-"+target, "platform-config")
			if err != nil {
				return err
			}
			if has, _, _ := unstructured.NestedString(c.Object, "data", "REGION"); has != region {
				return fmt.Errorf("the region of %s is %q", target, has)
			}
		}
		return nil
	})
}
