package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kalypso-io/kalypso/e2e/harness"
)

// TestArtifact: what a merged commit rendered is published to Gitea's registry and to that of a server, with the same digest. Flux and Argo CD
// apply it from the server's, as it is.
func TestArtifact(t *testing.T) {
	t.Parallel()
	a := newArtifact(t)
	for _, step := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"a commit is merged and published", func(t *testing.T) { a.publish(t, "1.0.0", "v1") }},
		{"Flux applies a target of it", a.followByFlux},
		{"Argo CD applies another one", a.followByArgoCD},
		{"Flux applies the platform apart from it", a.followPlatform},
		{"the next version reaches both by the environment's tag", a.update},
		{"anyone rebuilds both versions from Gitea", a.verify},
	} {
		if !t.Run(step.name, step.run) {
			t.FailNow()
		}
	}
}

// artifact is an application with two targets, two registries, and a cluster for each target.
type artifact struct {
	fleet
	cluster *harness.Cluster
	argo    *argoClusters
	// embedded is the registry of a server, and gitea another one.
	embedded, gitea registry
	// digests are those of the published versions.
	digests []string
}

// registry is where versions are, as "host/owner/name", with who may push there and the program as that user.
type registry struct {
	place   string
	account harness.Account
	program *harness.Kalypso
}

func (a *artifact) registryAt(host, owner string, account harness.Account) registry {
	return registry{host + "/" + owner + "/" + a.organization, account, kalypso.With(a.credentials()...).With("GITEA_TOKEN="+a.bot.Token,
		"KALYPSO_CHART_HOST="+host, "KALYPSO_CHART_USERNAME="+account.Name, "KALYPSO_CHART_PASSWORD="+account.Token)}
}

// serveRegistry starts a server with a registry.
func (a *artifact) serveRegistry(t *testing.T) registry {
	t.Helper()
	at, data := freeAddress(t), t.TempDir()
	config := filepath.Join(data, "kalypso.yaml")
	must(t, os.WriteFile(config, fmt.Appendf(nil, "controlPlanes: [http://%s/platform/control-plane]\nlisten: %s\ndata: %s\nregistry: {size: 100Mi}\n", at, at, data), 0o600))
	process, err := kalypso.Start("kalypso-registry", "serve", "--config", config)
	must(t, err)
	t.Cleanup(func() { _ = process.Stop(context.Background()) })
	must(t, process.WaitServing(t.Context(), "http://"+at+"/healthz"))
	return a.registryAt(at, "shop", harness.Account{Name: "kalypso", Token: readToken(t, data)})
}

func newArtifact(t *testing.T) *artifact {
	t.Helper()
	c, err := running()
	must(t, err)
	argo, err := startArgoCD()
	must(t, err)
	argo.lent.Lock()
	t.Cleanup(argo.lent.Unlock)
	a := &artifact{fleet: *newEmptyFleet(t, "artifact"), cluster: c, argo: argo}
	a.gitea = a.registryAt(strings.TrimPrefix(stack.Gitea.URL, "http://"), strings.ToLower(stack.Gitea.Admin.Name), stack.Gitea.Admin)
	a.embedded = a.serveRegistry(t)
	targets := ""
	for _, target := range []string{"east", "west"} {
		targets += "{name: " + target + ", environment: dev, manifests: {repo: " + a.url("shop-gitops") + ", branch: dev, path: ./" + target + "}},"
	}
	chart := strings.NewReplacer(", namespace: x", "", "shop:v1", "shop:{{ .Values.image.tag }}").Replace(deployment("x", "v1", 600))
	for branch, files := range map[string]map[string]string{
		"shop/main": {
			"workload.yaml": object("Workload", "shop", "{deploymentTargets: ["+targets+"]}"),
			"delivery.yaml": "apiVersion: app.kalypso.io/v1alpha1\nkind: Delivery\nmetadata: {name: shop}\nspec: {config: {repo: " + a.url("shop-configs") +
				"}, gitops: {repo: " + a.url("shop-gitops") + "}, images: [{name: shop, tag: image.tag}]}\n",
			"helm/Chart.yaml":          "apiVersion: v2\nname: shop\nversion: 1.0.0\n",
			"helm/values.yaml":         "image: {tag: none}\ngreeting: none\n",
			"helm/templates/shop.yaml": chart,
			"helm/templates/says.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: says}\ndata: {greeting: {{ .Values.greeting }}}\n",
		},
		"shop-configs/dev": {"east/values.yaml": "greeting: hello east\n", "west/values.yaml": "greeting: hello west\n"},
		"shop-gitops/dev":  {"README.md": "generated\n"},
	} {
		repository, name, _ := strings.Cut(branch, "/")
		a.checkouts[branch] = a.fleet.publish(t, repository, name, files)
		must(t, a.repositories[repository].Grant(t.Context(), a.bot, "write"))
	}
	return a
}

// run runs a command with the credentials of Gitea and of a registry.
func (a *artifact) run(t *testing.T, at registry, args ...string) string {
	t.Helper()
	result, err := at.program.Run(t.Context(), args...)
	must(t, err)
	for _, token := range []string{a.bot.Token, at.account.Token} {
		if strings.Contains(result.Stdout+result.Stderr, token) {
			t.Error("a token is printed")
		}
	}
	if result.Code != 0 {
		t.Fatalf("kalypso %s ended with %d\n%s%s", strings.Join(args, " "), result.Code, result.Stdout, result.Stderr)
	}
	return result.Stdout
}

// publish delivers the head of the source with a version, merges it, and publishes it.
func (a *artifact) publish(t *testing.T, version, tag string) {
	t.Helper()
	main := a.checkouts["shop/main"]
	must(t, main.Write("VERSION", version+"\n"))
	commit := push(t, main, "version "+version)
	source := []string{"--source", a.url("shop"), "-e", dev}
	a.run(t, a.gitea, append([]string{"app", "deploy", "--commit", commit, "--version", version, "--image-tag", tag, "--forge-kind", "gitea"}, source...)...)
	var digests []string
	for _, at := range []registry{a.embedded, a.gitea} {
		var published struct {
			Artifact string
			New      bool
		}
		publish := append([]string{"app", "publish", "--to", "oci://" + at.place, "-o", "json"}, source...)
		must(t, json.Unmarshal([]byte(a.run(t, at, publish...)), &published))
		_, digest, _ := strings.Cut(published.Artifact, "@")
		if !published.New || digest == "" {
			t.Fatalf("published %+v", published)
		}
		digests = append(digests, digest)
		must(t, json.Unmarshal([]byte(a.run(t, at, publish...)), &published))
		if published.New || !strings.HasSuffix(published.Artifact, digest) {
			t.Errorf("published again: %+v", published)
		}
	}
	if digests[0] != digests[1] {
		t.Errorf("the registries have different versions: %q", digests)
	}
	a.digests = append(a.digests, digests[0])
}

func (a *artifact) fluxObject(version, kind string, fields map[string]any) *unstructured.Unstructured {
	o := map[string]any{"apiVersion": version, "kind": kind, "metadata": map[string]any{"name": a.organization, "namespace": "flux-system"}}
	for name, value := range fields {
		o[name] = value
	}
	return &unstructured.Unstructured{Object: o}
}

// followByFlux has Flux apply the target east, from the environment's tag.
func (a *artifact) followByFlux(t *testing.T) {
	ctx := t.Context()
	host, _, _ := strings.Cut(a.embedded.place, "/")
	auth := base64.StdEncoding.EncodeToString([]byte(a.embedded.account.Name + ":" + a.embedded.account.Token))
	must(t, a.cluster.Apply(ctx,
		harness.Namespace(a.organization),
		a.fluxObject("v1", "Secret", map[string]any{
			"type":       "kubernetes.io/dockerconfigjson",
			"stringData": map[string]any{".dockerconfigjson": fmt.Sprintf(`{"auths": {%q: {"auth": %q}}}`, host, auth)},
		}),
		a.fluxObject("source.toolkit.fluxcd.io/v1", "OCIRepository", map[string]any{"spec": map[string]any{
			"interval": "2s", "url": "oci://" + a.embedded.place, "ref": map[string]any{"tag": dev}, "insecure": true, "secretRef": map[string]any{"name": a.organization},
		}}),
		a.fluxObject("kustomize.toolkit.fluxcd.io/v1", "Kustomization", map[string]any{"spec": map[string]any{
			"interval": "2s", "retryInterval": "1s", "timeout": "30s", "prune": true, "wait": true, "path": "./east", "targetNamespace": a.organization,
			"sourceRef": map[string]any{"kind": "OCIRepository", "name": a.organization},
		}}),
	))
	a.wantFlux(t)
}

// wantFlux waits until Flux has applied the newest version, and shows where it comes from.
func (a *artifact) wantFlux(t *testing.T) {
	t.Helper()
	digest := a.digests[len(a.digests)-1]
	eventually(t, "Flux applied "+digest, func(ctx context.Context) error {
		o, err := a.cluster.Get(ctx, harness.Kustomizations, "flux-system", a.organization)
		if err != nil {
			return err
		}
		applied, _, _ := unstructured.NestedString(o.Object, "status", "lastAppliedRevision")
		origin, _, _ := unstructured.NestedString(o.Object, "status", "lastAppliedOriginRevision")
		ready := harness.Condition(o, "Ready")
		if applied != dev+"@"+digest || ready["status"] != "True" {
			return fmt.Errorf("it is at %q, %v", applied, ready)
		}
		if !strings.HasPrefix(origin, dev+"@sha1:") {
			return fmt.Errorf("it comes from %q, want the commit of the GitOps branch", origin)
		}
		return nil
	})
}

// followByArgoCD has Argo CD apply the target west.
func (a *artifact) followByArgoCD(t *testing.T) {
	ctx := t.Context()
	must(t, a.argo.AddRegistry(ctx, a.organization, "oci://"+a.embedded.place, a.embedded.account))
	must(t, a.argo.Follow(ctx, harness.Follow{Name: a.organization, URL: "oci://" + a.embedded.place, Branch: dev, Path: "west", Namespace: a.organization}, inCluster,
		map[string]any{"include": "manifests.yaml"})) // there is no kustomize here, which Argo CD has
	must(t, a.argo.Hub.Apply(ctx, harness.Namespace(a.organization)))
	a.wantArgoCD(t)
}

func (a *artifact) wantArgoCD(t *testing.T) {
	t.Helper()
	digest := a.digests[len(a.digests)-1]
	eventually(t, "Argo CD synced "+digest, func(ctx context.Context) error {
		if err := a.argo.Refresh(ctx, a.organization); err != nil {
			return err
		}
		return a.argo.Synced(ctx, a.organization, digest)
	})
}

// update publishes another version, which both follow.
func (a *artifact) update(t *testing.T) {
	a.publish(t, "1.1.0", "v2")
	a.wantFlux(t)
	a.wantArgoCD(t)
	must(t, a.argo.Remove(t.Context(), a.organization))
	must(t, a.cluster.Delete(t.Context(), a.fluxObject("kustomize.toolkit.fluxcd.io/v1", "Kustomization", nil)))
	wantObject(t, a.cluster, harness.Kustomizations, "flux-system", a.organization, false)
	must(t, a.cluster.Delete(t.Context(), a.fluxObject("source.toolkit.fluxcd.io/v1", "OCIRepository", nil)))
}

func (a *artifact) verify(t *testing.T) {
	for _, at := range []registry{a.embedded, a.gitea} {
		for _, digest := range a.digests {
			wantText(t, a.run(t, at, "verify", "oci://"+at.place+"@"+digest), `(?s)ok  its commits render it\nok  it has the merged files`)
		}
	}
}
