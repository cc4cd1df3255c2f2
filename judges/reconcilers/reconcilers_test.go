package reconcilers

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/pull"
	"github.com/kalypso-io/kalypso/internal/schedule/render"
)

// values are what a target can say of its manifests, each with a value that appears nowhere else.
var values = map[string]string{
	"branch": "release-branch", "tag": "v7.8.9", "path": "./folder-of-target", "chart": "chart-of-target", "version": "4.5.6",
	"secret": "secret-of-target", "colour": "colour-of-target",
}

// setups are what cluster types and other assignments add.
var setups = map[string]func(d *render.Data){
	"plain": func(*render.Data) {},
	"labels": func(d *render.Data) {
		d.ClusterTypeLabels = map[string]string{"flux-sources": "flux-system", "argocd-destination": "edge-1", "argocd-impersonation": "true"}
	},
	"grants": func(d *render.Data) {
		d.ClusterTypeLabels = map[string]string{"argocd-impersonation": "true"}
		d.Grants = []render.Grant{{Name: "reader", ClusterRole: "view", ClusterWide: true}, {Name: "neighbour", ClusterRole: "edit", Namespace: "other"}}
	},
	"dependent": func(d *render.Data) {
		d.Wave = 1
		d.DependsOn = []render.Dependency{{Namespace: "dev-large-db", Manifests: map[string]string{"storage": d.Manifests["storage"]}}}
	},
}

// TestTemplates renders each built-in template with each storage, each set of keys and each setup. What a target says of its manifests is in the
// result, or refused, and API servers take the result.
func TestTemplates(t *testing.T) {
	defined := definitions(t)
	library, problems := render.NewLibrary(&fleet.Snapshot{}, nil)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	checked, all := map[string]int{}, 0
	for _, name := range []string{"flux", "argocd", "fleet", "zarf"} {
		template, _ := library.Find(v1alpha1.ReconcilerTemplate, name) // a notice says that it is built in
		if template == nil {
			t.Fatalf("no template %s", name)
		}
		worker, refused := library.Worker(), 0
		for _, storage := range []string{"", "git", "oci", "helm", "bucket"} {
			for keys := range subsets(slices.Sorted(maps.Keys(values))) {
				for setup, prepare := range setups {
					d := data(storage, keys)
					prepare(&d)
					out, warnings, err := worker.Render(template, &d)
					if err != nil {
						refused++
						continue
					}
					at := fmt.Sprintf("%s, storage %q, %v, %s", name, storage, keys, setup)
					for _, w := range warnings {
						t.Errorf("%s: %v", at, w)
					}
					for _, key := range keys {
						if want := strings.TrimPrefix(values[key], "./"); !bytes.Contains(out, []byte(want)) {
							t.Errorf("%s: manifests.%s is ignored:\n%s", at, key, out)
						}
					}
					check(t, at, out, defined, checked)
				}
			}
		}
		if refused == 0 {
			t.Errorf("%s refuses nothing", name)
		}
		all += refused
	}
	for _, kind := range []string{
		"source.toolkit.fluxcd.io/v1 GitRepository", "source.toolkit.fluxcd.io/v1 OCIRepository", "source.toolkit.fluxcd.io/v1 HelmRepository",
		"kustomize.toolkit.fluxcd.io/v1 Kustomization", "helm.toolkit.fluxcd.io/v2 HelmRelease", "argoproj.io/v1alpha1 Application",
		"argoproj.io/v1alpha1 AppProject", "fleet.cattle.io/v1alpha1 GitRepo",
	} {
		if checked[kind] == 0 {
			t.Errorf("no %s was checked", kind)
		}
	}
	agreed := 0
	for _, n := range checked {
		agreed += n
	}
	t.Logf("%d objects agreed: %v; %d combinations of keys are refused", agreed, checked, all)
}

// TestPulls checks the objects by which a cluster pulls its folder, with each reconciler.
func TestPulls(t *testing.T) {
	defined, checked := definitions(t), map[string]int{}
	for _, reconciler := range pull.Reconcilers {
		for _, secret := range []string{"", "git-credentials"} {
			for _, path := range []string{"", "clusters/eu"} {
				s := pull.Source{Environment: "dev", ClusterType: "large", URL: "https://git.example.com/platform/gitops", Branch: "dev", Path: path}
				for _, o := range append(s.Objects(reconciler, secret), s.Installed(reconciler, secret, "edge-1")...) {
					text, err := json.Marshal(o)
					if err != nil {
						t.Fatal(err)
					}
					check(t, fmt.Sprintf("%s, secret %q, path %q", reconciler, secret, path), text, defined, checked)
				}
			}
		}
	}
	agreed := 0
	for _, n := range checked {
		agreed += n
	}
	if agreed < 20 {
		t.Errorf("only %d objects were checked: %v", agreed, checked)
	}
	t.Logf("%d objects agreed: %v", agreed, checked)
}

// data returns the data of an assignment.
func data(storage string, keys []string) render.Data {
	manifests := map[string]string{"repo": "https://git.example.com/shop/gitops"}
	if storage != "" {
		manifests["storage"] = storage
	}
	if storage == "oci" {
		manifests["repo"] = "oci://registry.example.com/shop"
	}
	for _, key := range keys {
		manifests[key] = values[key]
	}
	return render.NewData("dev", &fleet.ClusterType{Name: "large"}, &fleet.Target{
		Name: "shop-web", ShortName: "web", Workload: "shop", Workspace: "shop-team", Manifests: manifests,
	})
}

// check validates the objects of other systems in a text.
func check(t *testing.T, at string, text []byte, defined map[string]*definition, checked map[string]int) {
	t.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		var document map[string]any
		if err := decoder.Decode(&document); err == io.EOF {
			return
		} else if err != nil {
			t.Fatalf("%s: %v\n%s", at, err, text)
		}
		kind := fmt.Sprintf("%v %v", document["apiVersion"], document["kind"])
		d := defined[kind]
		if d == nil {
			if group, _, _ := strings.Cut(kind, "/"); strings.Contains(group, "flux") || strings.Contains(group, "argoproj") || strings.Contains(group, "cattle") {
				t.Errorf("%s: nobody defines %s", at, kind)
			}
			continue
		}
		if problems := d.check(document); len(problems) > 0 {
			t.Errorf("%s: %s: %s\n%s", at, kind, strings.Join(problems, "; "), text)
			continue
		}
		checked[kind]++
	}
}

// subsets returns all subsets of a list.
func subsets(list []string) func(yield func([]string) bool) {
	return func(yield func([]string) bool) {
		for bits := range 1 << len(list) {
			var some []string
			for i, s := range list {
				if bits&(1<<i) != 0 {
					some = append(some, s)
				}
			}
			if !yield(some) {
				return
			}
		}
	}
}
