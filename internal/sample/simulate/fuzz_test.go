package simulate

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/agent/reconciler"
)

// Whatever lies in Git, there is no panic, and what would be reported is fit to be.
func FuzzObjects(f *testing.F) {
	f.Add([]byte(platformOfShop))
	f.Add([]byte(deploymentOfShop))
	f.Add([]byte("apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: 1}}]"))
	f.Add([]byte("apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: x, finalizers: x}\nspec: {sources: [1, {repoURL: 2}], syncPolicy: {automated: [], syncOptions: {}}}"))
	f.Add([]byte("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: x}\nspec: {names: [], versions: [{}, 1]}"))
	f.Add([]byte("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x, labels: 1}\nspec: {replicas: x, template: {spec: {containers: [{env: [{}], envFrom: [1, {configMapRef: {}}]}]}}}"))
	f.Add([]byte("apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {name: x, namespace: default}\nspec: {interval: 1m, chartRef: 7}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		objects, err := decode(data)
		if err != nil {
			t.Skip()
		}
		setNamespace(objects, "default", strings.Contains(string(data), "override"))
		manifests, err := manifestsOf(objects)
		if err != nil {
			t.Skip()
		}
		s := New(Config{})
		m := newMachine(Cluster{Name: "large-01", Reconciler: Flux}, s.config)
		m.store.kinds = append(m.store.kinds, installed(ArgoCD)...)
		m.now = noon
		m.bootstrap(noon)
		m.store.admit(manifests, manifests)
		// What an API server refuses does not come this far; it must not matter.
		m.store.apply(manifests, key{kustomizeGroup, "Kustomization", "flux-system", "x"}, true, noon, m.delay)
		m.reconcile(t.Context(), noon)
		m.reconcile(t.Context(), noon.Add(time.Hour))
		for _, r := range m.reportsNow() {
			r.Observed = noon
			if err := r.Check(); err != nil {
				t.Errorf("%+v: %v", r, err)
			}
		}
		for e := range m.store.sorted() {
			_ = reconciler.Reports(e.compose(noon), m.find, nil, time.Now())
			m.greet(e)
			if err := writeTable(io.Discard, []*entry{e}, selection{all: true}, noon); err != nil {
				t.Error(err)
			}
		}
	})
}
