package engine_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"
	commonutil "helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	helm "helm.sh/helm/v4/pkg/engine"
	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/engine"
)

// pieces are parts of templates. Combined in any order, they cover how blocks, trimming and texts interact.
var pieces = []string{
	"text\n", "  \n", " ", "{{ .Values.a }}", "{{- .Values.a -}}", "{{ .Values.a -}} \n", "\n {{- .Values.a }}",
	"{{/* a {{ comment }} */}}", "{{- /* end */ -}}", `{{ "}}" }}`, "{{ `{{` }}", `{{ "\"}}" }}`, "{{ '}' }}",
	"{{ range .Values.list }}", "{{- range $i, $x := .Values.list -}}", "{{ range .Values.none -}}",
	"{{ if .Values.a }}", "{{- if .Values.none -}}", "{{ else }}", "{{- else if .Values.a -}}", "{{ with .Values.a }}",
	"{{ end }}", "{{- end }}", "{{ end -}}", "{{end}}", "{{ break }}", "{{ continue }}",
	`{{ define "a" }}`, `{{- define "b" -}}`, `{{ block "c" . }}`, `{{ template "a" . }}`, `{{ include "a" $ }}`, `{{ include "b" $ | indent 2 }}`,
	`{{ tpl "{{ .Values.a }} {{- range .Values.list }} x {{- end }}" $ }}`, `{{ tpl .Values.t $ }}`, `{{ (tpl (print .Values.t "x") $) | upper }}`,
	`{{ tpl (tpl "{{ print .Values.t }}" $) $ }}`, "{{ $x := 1 }}", `{{ $.Values.map.tpl }}`, `{{ tpl $.Values.map.tpl $|trim }}`,
	`{{ tpl "{{ define \"a\" }}new{{ end }}{{ include \"a\" . }}" $ }}`, `{{ define "a" }} {{/* empty */}} {{ end }}`,
}

const valuesOfPieces = `{a: yes, list: [1, 2], t: "[{{ .Values.a }}{{- range .Values.list }}{{ . }}{{ end }}]", map: {tpl: " {{ .Release.Name }}"}}`

// With the meter's calls, a template prints the same bytes as without, or fails as well.
func TestGuardedTemplatesMakeTheSame(t *testing.T) {
	failed, made := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		template := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "pieces"), "")
		// Close open blocks, so that more templates parse.
		for range rapid.IntRange(0, 4).Draw(t, "ends") {
			template += "{{ end }}"
		}
		want, err := byHelm(template)
		got, problems := byUs(template)
		if (err != nil) != (problems != "") {
			t.Fatalf("%s\nhelm: %v\nours: %s", template, err, problems)
		}
		if err != nil {
			failed++
			return
		}
		made++
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s\n-helm +got:\n%s", template, diff)
		}
	})
	t.Logf("%d made, %d failed", made, failed)
	if made < failed/20 {
		t.Errorf("only %d templates of %d were made by Helm", made, made+failed)
	}
}

// helpers are definitions that the pieces use. The template follows them.
const helpers = `{{ define "a" }}A{{ range .Values.list }}{{ . }}{{ end }}{{ end }}{{ define "b" -}} B {{- end }}`

// byHelm renders with Helm's own code only.
func byHelm(template string) (string, error) {
	c, err := loader.LoadFiles([]*archive.BufferedFile{
		{Name: "Chart.yaml", Data: []byte("apiVersion: v2\nname: hello\nversion: 0.1.0\n")},
		{Name: "values.yaml", Data: []byte(valuesOfPieces)},
		{Name: "templates/_a.tpl", Data: []byte(helpers)},
		{Name: "templates/_x.txt", Data: []byte(template)},
		{Name: "templates/out.yaml", Data: []byte(output)},
	})
	if err != nil {
		return "", err
	}
	visible, err := commonutil.ToRenderValues(c, map[string]any{}, common.ReleaseOptions{Name: "hello", Revision: 1, IsInstall: true}, nil)
	if err != nil {
		return "", err
	}
	files, err := helm.Render(c, visible)
	if err != nil {
		return "", err
	}
	return files["hello/templates/out.yaml"], nil
}

// output is an object with the output of the tested template.
const output = `apiVersion: v1
kind: ConfigMap
metadata: {name: x}
data: {x: {{ include "hello/templates/_x.txt" . | toJson }}}`

func byUs(template string) (text, problems string) {
	job := &chart.Job{
		Form: chart.FormChart,
		Files: []chart.File{
			{Path: "Chart.yaml", Content: []byte("apiVersion: v2\nname: hello\nversion: 0.1.0\n")},
			{Path: "values.yaml", Content: []byte(valuesOfPieces)},
			{Path: "templates/_a.tpl", Content: []byte(helpers)},
			{Path: "templates/_x.txt", Content: []byte(template)},
			{Path: "templates/out.yaml", Content: []byte(output)},
		},
		Targets: []chart.Target{{Name: "t", Options: chart.Options{Release: "hello"}}},
	}
	r := engine.Run(job, nil).Targets[0]
	if r.Manifests == nil {
		return "", showProblems(r.Problems)
	}
	_, text, _ = strings.Cut(string(r.Manifests.Content), "templates/out.yaml\n")
	return strings.TrimSuffix(text, "\n"), ""
}

// The order of files, values and targets does not affect the output, and targets do not affect each other.
func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		job := &chart.Job{
			Form: chart.FormChart,
			Files: []chart.File{
				{Path: "Chart.yaml", Content: []byte("apiVersion: v2\nname: hello\nversion: 0.1.0\n")},
				{Path: "templates/a.yaml", Content: []byte(printing("{{ .Values.x }}{{ range $k, $v := .Values.m }}{{ $k }}{{ end }}{{ keys .Values.m }}"))},
				{Path: "templates/b.yaml", Content: []byte(printing("{{ values .Values.m }}"))},
				{Path: "charts/one/Chart.yaml", Content: []byte("apiVersion: v2\nname: one\nversion: 0.1.0\n")},
				{Path: "charts/one/crds/x.yaml", Content: []byte("apiVersion: v1\nkind: One\n")},
				{Path: "charts/two/Chart.yaml", Content: []byte("apiVersion: v2\nname: two\nversion: 0.1.0\n")},
				{Path: "charts/two/crds/x.yaml", Content: []byte("apiVersion: v1\nkind: Two\n")},
			},
			Config: map[string][]byte{"values.yaml": []byte("x: 1\nm: {a: 1, b: 2, c: 3, d: 4}")},
		}
		for i := range 5 {
			job.Targets = append(job.Targets, chart.Target{Name: fmt.Sprint(i), Layers: []string{"values.yaml"}, Set: []string{fmt.Sprintf("x=%d", i)}, Options: chart.Options{Release: "hello"}})
		}
		want := byName(engine.Run(job, nil))
		shuffled := *job
		shuffled.Files = rapid.Permutation(job.Files).Draw(t, "files")
		shuffled.Targets = rapid.Permutation(job.Targets).Draw(t, "targets")[:3]
		for name, r := range byName(engine.Run(&shuffled, nil)) {
			if diff := cmp.Diff(want[name], r); diff != "" {
				t.Errorf("target %s: %s", name, diff)
			}
		}
	})
}

func byName(r *chart.Result) map[string]chart.Rendered {
	m := map[string]chart.Rendered{}
	for _, t := range r.Targets {
		m[t.Name] = t
	}
	return m
}

// Targets with unchanged inputs are taken from the previous result; only others are rendered again.
func TestPreviousResults(t *testing.T) {
	job := oneTemplate(printing("{{ .Values.x }}"))
	job.Config = map[string][]byte{"a/values.yaml": []byte("x: 1"), "b/values.yaml": []byte("x: 2")}
	job.Targets = []chart.Target{
		{Name: "a", Layers: []string{"a/values.yaml"}, Options: chart.Options{Release: "r"}},
		{Name: "b", Layers: []string{"b/values.yaml"}, Options: chart.Options{Release: "r"}},
	}
	first := engine.Run(job, nil)
	job.Config = maps.Clone(job.Config)
	job.Config["b/values.yaml"] = []byte("x: 3")
	rest, kept := job.Rest(first)
	if names := slices.Collect(func(yield func(string) bool) {
		for _, t := range rest.Targets {
			yield(t.Name)
		}
	}); !slices.Equal(names, []string{"b"}) {
		t.Errorf("got %v to be made again, want b", names)
	}
	if kept.Targets[0].Manifests != first.Targets[0].Manifests {
		t.Error("what did not change was made again")
	}
	if diff := cmp.Diff(engine.Run(job, nil), engine.Run(job, first)); diff != "" {
		t.Errorf("the result depends on the earlier one: %s", diff)
	}
	_, kept = job.Rest(nil)
	kept.Fill(&chart.Result{})
	for _, target := range kept.Targets {
		if got := showProblems(target.Problems); !strings.Contains(got, "was not rendered") {
			t.Errorf("%s: got %q", target.Name, got)
		}
	}
	job.Config["b/values.yaml"] = []byte("[")
	failing := engine.Run(job, first)
	if rest, _ := job.Rest(failing); failing.Targets[1].Manifests != nil || len(rest.Targets) != 1 || rest.Targets[0].Name != "b" {
		t.Errorf("what failed is not tried again: %v", rest.Targets)
	}
	for name, change := range map[string]func(*chart.Job){
		"file":    func(j *chart.Job) { j.Files = append(slices.Clone(j.Files), chart.File{Path: "x"}) },
		"vars":    func(j *chart.Job) { j.Vars = map[string]string{"a": "b"} },
		"schema":  func(j *chart.Job) { j.Schema = []byte("{}") },
		"form":    func(j *chart.Job) { j.Form = chart.FormManifests },
		"release": func(j *chart.Job) { j.Targets[0].Release = "other" },
		"image":   func(j *chart.Job) { j.Targets[0].Image = map[string]string{"image.tag": "1"} },
	} {
		changed := *job
		changed.Targets = slices.Clone(job.Targets)
		change(&changed)
		if changed.Digests()[0] == job.Digests()[0] {
			t.Errorf("%s: the digest is the same", name)
		}
	}
}
