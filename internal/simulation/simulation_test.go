package simulation

import (
	"testing"
	"time"
)

const shop = `apiVersion: v1
kind: Namespace
metadata: {name: dev-large-shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: platform-config, namespace: dev-large-shop}
data: {REGION: West US}
---
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: shop, namespace: flux-system}
spec: {interval: 1m, url: "https://git.example.com/shop", ref: {branch: dev}}
---
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: shop, namespace: flux-system}
spec: {interval: 1m, prune: true, path: ./test, targetNamespace: dev-large-shop, sourceRef: {kind: GitRepository, name: shop}}
`

func TestFirst(t *testing.T) {
	w := newWorld(t, Config{})
	a := w.push("gitops", "dev", map[string]string{"large/shop/all.yaml": shop})
	b := w.push("shop", "dev", map[string]string{"test/cm.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: greeting}\ndata: {A: b}\n"})
	w.add("large-01", Flux, "dev/large")
	w.pass(5 * time.Second)
	t.Log(a[:7], b[:7], w.said("large-01", "Kustomization/platform-dev-large"), "/", w.said("large-01", "Kustomization/shop"))
	m, _ := w.machine("large-01")
	for e := range m.store.sorted() {
		t.Log(e.key, e.compose(w.now).Object["status"])
	}
}
