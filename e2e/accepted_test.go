package e2e

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kalypso-io/kalypso/e2e/harness"
	hellofleet "github.com/kalypso-io/kalypso/examples/hello-fleet"
)

// TestTemplates: whatever the templates that come with Kalypso can write, an API server accepts.
// It has a cluster type for each reconciler with each kind of namespace, and a target for each way to store manifests.
func TestTemplates(t *testing.T) {
	t.Parallel()
	fleet := t.TempDir()
	must(t, os.CopyFS(fleet, hellofleet.Files()))
	for file, text := range templateCases() {
		file = filepath.Join(fleet, filepath.FromSlash(file))
		must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must(t, os.WriteFile(file, []byte(text), 0o644))
	}
	out := filepath.Join(fleet, "out")
	result, err := kalypso.Run(t.Context(), "schedule", "-e", dev, "--strict", "--control-plane", filepath.Join(fleet, "control-plane"), "--out", out)
	must(t, err)
	if result.Code != 0 {
		t.Fatalf("kalypso schedule ended with %d\n%s%s", result.Code, result.Stdout, result.Stderr)
	}
	accepted, unknown := ask(t, parse(t, os.DirFS(out)))
	wantKinds(t, "accepted", accepted, "AppProject", "Application", "ConfigMap", "GitRepo", "GitRepository", "HelmRepository", "Kustomization", "LimitRange",
		"Namespace", "NetworkPolicy", "OCIRepository", "ResourceQuota", "Role", "RoleBinding", "ServiceAccount")
	// Flux's helm-controller is not among the modules that can be downloaded, so that nobody can be asked about its kind.
	wantKinds(t, "not known to any cluster", unknown, "HelmRelease")
}

// stores are the labels of targets by how they store their manifests, with the reconcilers whose templates use all of their keys.
var stores = map[string][]string{
	"git":            {"flux", "arc-flux", "argocd", "fleet"},
	"git-secret":     {"flux", "arc-flux", "fleet"},
	"charts":         {"flux", "arc-flux", "argocd"},
	"charts-secrets": {"flux", "arc-flux"},
}

// templateCases are files to add to the example.
func templateCases() map[string]string {
	files := map[string]string{
		"control-plane/main/workloads/platform-services/stored.yaml": registration("stored"),
		"platform-services/main/stored/workload.yaml":                storedWorkload,
		"control-plane/main/grants/stored.yaml":                      storedSecrets,
	}
	for _, reconciler := range []string{"flux", "arc-flux", "argocd", "fleet"} {
		labels := ""
		for store, reconcilers := range stores {
			if slices.Contains(reconcilers, reconciler) {
				labels += "    " + store + ": \"true\"\n"
			}
		}
		for _, namespace := range []string{"default", "restricted"} {
			name := reconciler + "-" + namespace
			files["control-plane/dev/cluster-types/"+name+".yaml"] = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: ClusterType
metadata:
  name: ` + name + `
  labels:
` + labels + `spec:
  reconciler: ` + reconciler + `
  namespaceService: ` + namespace + "\n"
		}
	}
	for store := range stores {
		files["control-plane/dev/scheduling/stored-"+store+".yaml"] = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: SchedulingPolicy
metadata:
  name: stored-` + store + `
spec:
  deploymentTargetSelector:
    labelSelector: {matchLabels: {stored: ` + store + `}}
  clusterTypeSelector:
    labelSelector: {matchLabels: {` + store + `: "true"}}
`
	}
	return files
}

// storedSecrets lets the workload use the Secrets that it names, which are outside of its namespaces under Fleet.
const storedSecrets = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: Grant
metadata:
  name: stored
spec:
  deploymentTargetSelector:
    workspace: platform-team
    labelSelector: {matchLabels: {workload: stored}}
  secrets:
    - {name: git, url: https://git.example/manifests}
    - {name: registry, url: oci://registry.example/manifests}
    - {name: charts, url: https://charts.example}
`

const storedWorkload = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: Workload
metadata:
  name: stored
spec:
  deploymentTargets:
    - name: branch
      environment: dev
      labels: {stored: git-secret}
      manifests: {repo: https://git.example/manifests, branch: dev, path: ./stored, secret: git}
    - name: tag
      environment: dev
      labels: {stored: git}
      manifests: {repo: https://git.example/manifests, tag: v1.2.3}
    - name: oci
      environment: dev
      labels: {stored: charts}
      manifests: {storage: oci, repo: oci://registry.example/manifests, tag: v1.2.3}
    - name: oci-secret
      environment: dev
      labels: {stored: charts-secrets}
      manifests: {storage: oci, repo: oci://registry.example/manifests, tag: v1.2.3, secret: registry}
    - name: helm
      environment: dev
      labels: {stored: charts}
      manifests: {storage: helm, repo: https://charts.example, chart: stored, version: 1.2.3}
    - name: helm-secret
      environment: dev
      labels: {stored: charts-secrets}
      manifests: {storage: helm, repo: https://charts.example, chart: stored, version: 1.2.3, secret: charts}
    - name: oci-helm
      environment: dev
      labels: {stored: charts}
      manifests: {storage: helm, repo: oci://registry.example/charts, chart: stored}
`

// wantAccepted asks an API server about every document on the GitOps branch, with those of cluster types that no cluster here has.
func (f *fleet) wantAccepted(t *testing.T) {
	t.Helper()
	files, err := f.gitops.Files(t.Context(), t.TempDir(), dev)
	must(t, err)
	accepted, unknown := ask(t, parse(t, files))
	wantKinds(t, "accepted", accepted, "AppProject", "Application", "ConfigMap", "GitRepository", "Kustomization", "LimitRange",
		"Namespace", "NetworkPolicy", "ResourceQuota", "Role", "RoleBinding", "ServiceAccount")
	wantKinds(t, "not known to any cluster", unknown)
}

func wantKinds(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("kinds that are %s (-), and that should be (+):\n%s", what, diff)
	}
}

// parse returns the objects of all manifests, by file.
func parse(t *testing.T, files fs.FS) map[string][]*unstructured.Unstructured {
	t.Helper()
	parsed := map[string][]*unstructured.Unstructured{}
	must(t, fs.WalkDir(files, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(file) != ".yaml" {
			return err
		}
		text, err := fs.ReadFile(files, file)
		if err != nil {
			return err
		}
		parsed[file], err = harness.Documents(string(text))
		return err
	}))
	return parsed
}

// ask asks an API server which knows the kinds of all reconcilers about every object, and reports what it refuses.
// Fields that do not exist are refused as well, which Flux would not mind. It returns the kinds, sorted.
func ask(t *testing.T, rendered map[string][]*unstructured.Unstructured) (accepted, unknown []string) {
	t.Helper()
	c := stack.Clusters[large]
	for _, file := range slices.Sorted(maps.Keys(rendered)) {
		for _, o := range rendered[file] {
			if o.GetNamespace() != "" && !isOld(o.GetNamespace()) {
				o.SetNamespace("default") // its own is not on this cluster; what is right there is right here
			}
			err := c.Check(t.Context(), o)
			if meta.IsNoMatchError(err) {
				unknown = append(unknown, o.GetKind())
				continue
			}
			accepted = append(accepted, o.GetKind())
			if err != nil {
				t.Errorf("%s: %v", file, err)
			}
			o.Object["unknown"] = "field"
			if c.Check(t.Context(), o) == nil {
				t.Errorf("%s: %s with an unknown field is accepted, so that this test could not fail", file, o.GetKind())
			}
		}
	}
	slices.Sort(accepted)
	slices.Sort(unknown)
	return slices.Compact(accepted), slices.Compact(unknown)
}
