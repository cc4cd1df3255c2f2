package deliver_test

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/chart/charttest"
	"github.com/kalypso-io/kalypso/internal/deliver"
)

// The commonest layout has base and overlays next to each other. Other kustomizations of the repository, and files with any
// name, have no effect.
func TestKustomizationReadsWhatItNames(t *testing.T) {
	r := shopOf("kustomization")
	source := r["https://git.example/shop main"]
	for at, content := range map[string]string{
		"delivery.yaml":                           shopDelivery + "kustomization: 'overlays/{environment}'}\n",
		"base/kustomization.yaml":                 "resources: [x.yaml]\n",
		"base/x.yaml":                             shopDeployment + "git.example/shop:3\n",
		"overlays/dev/kustomization.yaml":         "resources: [../../base]\ntransformers: [plugins]\nconfigMapGenerator: [{name: c, files: [key=shared/a.txt]}]\n",
		"overlays/dev/plugins/kustomization.yaml": "resources: [prefix.yaml, patch.yaml]\n",
		"overlays/dev/plugins/patch.yaml":         "apiVersion: builtin\nkind: PatchStrategicMergeTransformer\nmetadata: {name: m}\npaths: [shared/patch.yaml]\n",
		"overlays/dev/shared/patch.yaml":          "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {patched: indeed}\n",
		"overlays/dev/plugins/prefix.yaml":        "apiVersion: builtin\nkind: PrefixTransformer\nmetadata: {name: p}\nprefix: dev-\nfieldSpecs: [{path: metadata/name}]\n",
		"overlays/dev/shared/a.txt":               "shared\n",
		"other/kustomization.yaml":                "helmCharts: [{name: x, repo: https://charts.example}]\n",
		"other/my notes (ü) #1+.md":               "notes\n",
		"third/kustomization.yaml":                "{{ template }}\n",
	} {
		source[at] = content
	}
	d := &deliver.Drafter{Renderer: charttest.InProcess{}, Loader: &deliver.Loader{Repositories: r, Charts: localCharts{}}}
	draft, err := d.Draft(t.Context(), deliver.DraftRequest{Request: deliver.Request{Source: "https://git.example/shop"}, Environment: "dev"})
	if err != nil {
		t.Fatal(err)
	}
	files := ""
	for _, c := range draft.Changes() {
		files += string(c.Content)
	}
	for _, want := range []string{"name: dev-shop", "shared", "patched: indeed"} {
		if !strings.Contains(files, want) {
			t.Errorf("no %q: %v\n%s", want, draft.Plan.Targets[0].Reason, files)
		}
	}
}
