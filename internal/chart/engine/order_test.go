package engine_test

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"
	commonutil "helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	helm "helm.sh/helm/v4/pkg/engine"
	release "helm.sh/helm/v4/pkg/release/v1"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/engine"
)

// documents are parts of chart files, in any number and order.
var documents = []string{
	"", "\n\n", "# nothing but a comment", "  # and one\n\n# more\n", "null",
	object("v1", "ConfigMap", ""), object("v1", "Secret", ""), object("apps/v1", "Deployment", ""), object("v1", "Namespace", ""),
	object("example.com/v1", "Zebra", ""), object("example.com/v1", "Ant", ""), "# why\n" + object("v1", "Service", "") + "\n\n",
	object("v1", "ConfigMap", "{}"), object("v1", "ConfigMap", "null"), object("v1", "Pod", "{a: 1, b: true, c: 2020-01-01}"),
	object("batch/v1", "Job", `{"helm.sh/hook": pre-install}`), object("v1", "ConfigMap", `{"helm.sh/hook": " Post-Upgrade ,test"}`),
	object("v1", "Pod", `{"helm.sh/hook": test}`), object("v1", "Pod", `{"helm.sh/hook": test-success}`),
	object("batch/v1", "Job", `{"helm.sh/hook": "pre-delete,post-rollback", "helm.sh/hook-weight": 5}`),
	object("batch/v1", "Job", `{"helm.sh/hook": "pre-install,now-and-then"}`), object("batch/v1", "Job", `{"helm.sh/hook": true}`),
	object("batch/v1", "Job", `{"helm.sh/hook": null}`), object("batch/v1", "Job", `{"helm.sh/hook": ""}`),
	object("example.com/v1", "Yak", `{"helm.sh/hook": pre-upgrade, "helm.sh/hook-weight": "-3"}`),
	"apiVersion: v1\nkind: Secret\nstringData:\n  key: |\n    -----BEGIN NOTHING-----\n    ---\n",
	"apiVersion: v1\nkind: ConfigMap\nmetadata: null", `{"apiVersion": "v1", "kind": "LimitRange"}`,
	"apiVersion: v1\nkind: ConfigMap\nmetadata: &m {name: {{ .Release.Name }}}\nother: {<<: *m}\n",
	// Helm refuses these as well.
	"kind: [a", "- a", "text", "apiVersion: v1\nkind: ConfigMap\nmetadata: text", "apiVersion: v1\nkind: ConfigMap\nmetadata: {annotations: [a]}",
}

func object(apiVersion, kind, annotations string) string {
	text := fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata:\n  name: {{ .Chart.Name }}", apiVersion, kind)
	if annotations != "" {
		text += "\n  annotations: " + annotations
	}
	return text
}

// separators separate documents, except for the last one.
var separators = []string{"\n---\n", "\n---\t # comment\n", "\n---  ", "\n---\n---\n", "\n--- \n", "\n---\n \n---\n", "\n ---\n"}

// places are paths in a chart with a subchart.
var places = []string{
	"templates/a.yaml", "templates/b.yml", "templates/c/a.yaml", "templates/_d.yaml", "templates/NOTES.txt", "templates/e.txt",
	"charts/sub/templates/a.yaml", "charts/sub/templates/NOTES.txt", "crds/a.yaml", "charts/sub/crds/b.yaml",
}

// The output equals that of Helm's own functions, byte for byte, or both fail.
func TestOrderIsHelms(t *testing.T) {
	made, failed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		files := []chart.File{
			{Path: "Chart.yaml", Content: []byte("apiVersion: v2\nname: hello\nversion: 0.1.0\n")},
			{Path: "charts/sub/Chart.yaml", Content: []byte("apiVersion: v2\nname: sub\nversion: 0.1.0\n")},
		}
		pieces, between := documents[:len(documents)-5], separators[:len(separators)-1]
		if rapid.IntRange(0, 9).Draw(t, "refused") == 9 {
			pieces, between = documents, separators
		}
		for _, place := range rapid.SliceOfNDistinct(rapid.SampledFrom(places), 1, 6, rapid.ID[string]).Draw(t, "places") {
			var text strings.Builder
			for _, d := range rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 5).Draw(t, place) {
				text.WriteString(d + rapid.SampledFrom(between).Draw(t, "separator"))
			}
			content := text.String()
			if strings.Contains(place, "crds/") { // not templates
				content = strings.NewReplacer("{{ .Chart.Name }}", "sub", "{{ .Release.Name }}", "hello").Replace(content)
			}
			files = append(files, chart.File{Path: place, Content: []byte(content)})
		}
		want, wantErr := likeHelmTemplate(files)
		job := &chart.Job{Form: chart.FormChart, Files: files, Targets: []chart.Target{{Name: "t", Options: chart.Options{Release: "hello"}}}}
		r := engine.Run(job, nil).Targets[0]
		if r.Manifests == nil {
			failed++
			// Helm neither parses definitions nor requires kinds.
			ours := showProblems(r.Problems)
			if wantErr == nil && !strings.Contains(ours, "/crds/") && !strings.Contains(ours, "has no apiVersion or no kind") {
				t.Fatalf("%s\nhelm made:\n%s", ours, want)
			}
			return
		}
		made++
		if diff := cmp.Diff(want, string(r.Manifests.Content)); diff != "" || wantErr != nil {
			t.Fatalf("helm: %v\n-helm +got:\n%s", wantErr, diff)
		}
	})
	t.Logf("%d made, %d failed", made, failed)
	if made < failed {
		t.Errorf("only %d charts of %d were made", made, made+failed)
	}
}

// likeHelmTemplate is helm template --include-crds --skip-tests without hooks for deletion and rollback, with Helm's own code only.
func likeHelmTemplate(files []chart.File) (string, error) {
	var buffered []*archive.BufferedFile
	for _, f := range files {
		buffered = append(buffered, &archive.BufferedFile{Name: f.Path, Data: f.Content})
	}
	c, err := loader.LoadFiles(buffered)
	if err != nil {
		return "", err
	}
	visible, err := commonutil.ToRenderValues(c, map[string]any{}, common.ReleaseOptions{Name: "hello", Revision: 1, IsInstall: true}, nil)
	if err != nil {
		return "", err
	}
	rendered, err := helm.Render(c, visible)
	if err != nil {
		return "", err
	}
	for name := range rendered {
		if path.Base(name) == "NOTES.txt" {
			delete(rendered, name)
		}
	}
	hooks, objects, err := releaseutil.SortManifests(rendered, nil, releaseutil.InstallOrder)
	var text strings.Builder
	write := func(source, content string) { fmt.Fprintf(&text, "---\n# Source: %s\n%s\n", source, content) }
	for _, crd := range c.CRDObjects() {
		write(crd.Filename, string(crd.File.Data))
	}
	for _, o := range objects {
		write(o.Name, o.Content)
	}
	before := strings.TrimSpace(text.String())
	text.Reset()
	if before != "" {
		text.WriteString(before + "\n")
	}
	for _, h := range hooks {
		if slices.ContainsFunc(h.Events, func(e release.HookEvent) bool {
			return strings.HasSuffix(string(e), "-install") || strings.HasSuffix(string(e), "-upgrade")
		}) {
			write(h.Path, h.Manifest)
		}
	}
	result := strings.TrimSpace(text.String())
	if result != "" {
		result += "\n"
	}
	return result, err
}

// Helm leaves out hooks with unknown events without a message.
func TestHooksThatHelmDoesNotKnow(t *testing.T) {
	r := engine.Run(oneTemplate(object("v1", "ConfigMap", "")+"\n---\n"+object("v1", "Secret", `{"helm.sh/hook": crd-install}`)), nil).Targets[0]
	want := "notice hello/templates/x.yaml template-output: a hook for an event that Helm does not know is left out, as Helm leaves it out\n"
	if got := showProblems(r.Problems); got != want || len(r.Manifests.Objects) != 1 {
		t.Errorf("got %s and %v, want %s", got, r.Manifests.Objects, want)
	}
}
