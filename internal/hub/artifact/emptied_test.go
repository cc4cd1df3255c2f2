package artifact

import "testing"

func TestEmptied(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		path, text string
		want       bool
	}{
		{"kustomization.yaml", "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: []\n", true},
		{"Kustomization", "resources: []", true},
		{"kustomization.yaml", "resources: [web.yaml]", false},
		{"kustomization.yaml", "resources: null", false}, // perhaps forgotten
		{"kustomization.yaml", "kind: Kustomization", false},
		{"kustomization.yaml", "resources: []\nconfigMapGenerator: []", false},
		{"kustomization.yaml", "", false},
		{"kustomization.yaml", "resources: [", false},
		{"web/kustomization.yaml", "resources: []", false},
		{"web.yaml", "resources: []", false},
	} {
		files := []File{{Path: "README.yaml", Content: []byte("a: b")}, {Path: test.path, Content: []byte(test.text)}}
		if k, got := Emptied(files); got != test.want || got && k.Path != test.path {
			t.Errorf("%s with %q: got %t %s, want %t", test.path, test.text, got, k.Path, test.want)
		}
	}
	if _, got := Emptied(nil); got {
		t.Error("a folder without files says nothing")
	}
}
