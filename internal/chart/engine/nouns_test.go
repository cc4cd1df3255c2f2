package engine_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"pgregory.net/rapid"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/values"
)

// What packages chart and values do without Helm and kustomize is compared with both here.

// Text is divided into documents as Helm divides it.
func TestDocumentsAreHelms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"---", "--", "-", " ", "\t", "\n", "\n---\n", "\r\n", "\u00a0", "a: b", "# c"})).Draw(t, "parts")
		text := ""
		for _, part := range parts {
			text += part
		}
		helm := releaseutil.SplitManifests(text)
		var want []string
		for i := range len(helm) {
			want = append(want, helm[fmt.Sprintf("manifest-%d", i)])
		}
		if diff := cmp.Diff(want, chart.Documents(text)); diff != "" {
			t.Errorf("%q: -helm +got:\n%s", text, diff)
		}
	})
}

// The files that are kustomizations have the names that kustomize looks for, in its order.
func TestKustomizationFilesAreKustomizes(t *testing.T) {
	if diff := cmp.Diff(konfig.RecognizedKustomizationFileNames(), chart.KustomizationFiles); diff != "" {
		t.Errorf("-kustomize +got:\n%s", diff)
	}
}

// tree generates values with few keys, so that layers overlap.
func tree(depth int) *rapid.Generator[map[string]any] {
	leaf := rapid.SampledFrom([]any{nil, true, false, 1.0, "", "x", []any{"x", 1.0}, map[string]any{}})
	if depth > 0 {
		leaf = rapid.OneOf(leaf, rapid.Map(tree(depth-1), func(m map[string]any) any { return m }))
	}
	return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c.d", "e"}), leaf, 0, 3)
}

// The composed values of several files equal Helm's.
func TestMergeIsHelms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trees := rapid.SliceOfN(tree(2), 0, 4).Draw(t, "trees")
		want := map[string]any{}
		var layers []*values.Layer
		for i, data := range trees {
			want = loader.MergeMaps(want, data)
			text, err := yaml.Marshal(data)
			if err != nil {
				t.Fatal(err)
			}
			layer, problems := values.Parse("config", string(rune('a'+i)), text)
			if len(problems) > 0 {
				t.Fatalf("%v\n%s", problems, text)
			}
			layers = append(layers, layer)
		}
		composed := values.Compose(layers, nil)
		if diff := cmp.Diff(want, composed.Data); diff != "" {
			t.Errorf("-helm +got:\n%s", diff)
		}
	})
}
