package engine_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	helm "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/chart/v2/util"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"pgregory.net/rapid"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/remote/remotetest"
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

// drawnChart generates a chart with dependencies, of which some are in its folder charts.
func drawnChart(t *rapid.T) []chart.File {
	draw := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	dependencies := func(label string, versions ...string) string {
		text := "dependencies:\n"
		for i := range rapid.IntRange(1, 3).Draw(t, label) {
			text += fmt.Sprintf("- {name: %s, version: %q, repository: %q, alias: a%d}\n",
				draw("name", "db", "cache", "web"), draw("version", versions...), draw("repository", "", "https://example.com", "file://../db"), i)
		}
		return text
	}
	ranges, exact := []string{"1.2.3", "~1.2", ">=1 <3", "*", "2", "newest", ""}, []string{"1.2.3", "1.2.4", "2.0.0", ""}
	content := map[string]string{"Chart.yaml": "\ufeffapiVersion: " + draw("api", "v1", "v2") + "\nname: shop\nversion: 0.1.0\n"}
	if rapid.Bool().Draw(t, "own") {
		content["Chart.yaml"] += dependencies("own", ranges...)
	} else if rapid.Bool().Draw(t, "requirements") {
		content["requirements.yaml"] = dependencies("required", ranges...)
	}
	if lock := draw("lock", "", "Chart.lock", "requirements.lock"); lock != "" {
		content[lock] = dependencies("locked", exact...)
	}
	for range rapid.IntRange(0, 3).Draw(t, "included") {
		name, version := draw("name", "db", "cache", "web"), draw("version", exact[:3]...)
		folder := "charts/" + draw("prefix", "", "_", ".") + name + "-" + version
		files := remotetest.Chart(name, version, nil)
		if rapid.Bool().Draw(t, "archive") {
			content[folder+".tgz"] = string(remotetest.Pack(name, files))
			continue
		}
		for file, text := range files {
			content[folder+"/"+file] = text
		}
	}
	var files []chart.File
	for file, text := range content {
		files = append(files, chart.File{Path: file, Content: []byte(text)})
	}
	return files
}

// What a chart depends on, and which of it is missing, is what Helm's loader finds.
func TestDescriptionsAreHelms(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		files := drawnChart(t)
		var buffered []*archive.BufferedFile
		for _, f := range files {
			buffered = append(buffered, &archive.BufferedFile{Name: f.Path, Data: bytes.TrimPrefix(f.Content, []byte("\ufeff"))})
		}
		loaded, err := loader.LoadFiles(buffered)
		if err != nil {
			t.Fatal(err)
		}
		locked := map[string]string{}
		if loaded.Lock != nil {
			for _, d := range loaded.Lock.Dependencies {
				locked[d.Name+" "+d.Repository] = d.Version
			}
		}
		want := &chart.Description{Name: loaded.Name(), Version: loaded.Metadata.Version}
		for _, d := range loaded.Metadata.Dependencies {
			resolved := chart.Dependency{Name: d.Name, Version: d.Version, Repository: d.Repository}
			if version, ok := locked[d.Name+" "+d.Repository]; ok {
				resolved.Version = version
			}
			want.Dependencies = append(want.Dependencies, resolved)
			if !slices.ContainsFunc(loaded.Dependencies(), func(have *helm.Chart) bool {
				return have.Name() == d.Name && util.IsCompatibleRange(d.Version, have.Metadata.Version)
			}) {
				want.Missing = append(want.Missing, resolved)
			}
		}
		got, err := chart.Describe(files)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Fatalf("%v, -helm +got:\n%s", err, diff)
		}
	})
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
