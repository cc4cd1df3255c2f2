package deliver_test

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/deliver"
)

// The namespace that a chart sees is that of the last entry that matches the environment and the target.
func TestNamespaceOfAChart(t *testing.T) {
	r := repos{
		"https://git.example/shop main": {
			"workload.yaml":           strings.Replace(shopWorkload, "[{name: t, environment: dev}]", "[{name: a, environment: dev}, {name: b, environment: dev}, {name: c, environment: stage}]", 1),
			"delivery.yaml":           shopDelivery + "chart: {path: helm, namespace: '{environment}-shop', namespaces: [{environment: stage, namespace: shop}, {environment: dev, target: b, namespace: 'own-{target}'}]}}\n",
			"helm/Chart.yaml":         "apiVersion: v2\nname: shop\nversion: 0.1.0\n",
			"helm/templates/map.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\ndata: {host: db.{{ .Release.Namespace }}.svc}\n",
		},
		"https://git.example/shop-configs dev":   {"a/values.yaml": "x: 1\n", "b/values.yaml": "x: 1\n"},
		"https://git.example/shop-configs stage": {"c/values.yaml": "x: 1\n"},
		"https://git.example/shop-gitops main":   {"README.md": "manifests\n"},
	}
	found := map[string]string{}
	for _, environment := range []string{"dev", "stage"} {
		d := mustDraft(t, r, func(w *deliver.DraftRequest) { w.Environment, w.Build = environment, deliver.Build{} })
		for _, c := range d.Changes() {
			if target, ok := strings.CutSuffix(c.Path, "/manifests.yaml"); ok {
				_, host, _ := strings.Cut(string(c.Content), "host: ")
				found[target] = strings.TrimRight(host, "}\n")
			}
		}
	}
	for target, want := range map[string]string{"a": "db.dev-shop.svc", "b": "db.own-b.svc", "c": "db.shop.svc"} {
		if found[target] != want {
			t.Errorf("%s: got %q, want %q", target, found[target], want)
		}
	}
}
