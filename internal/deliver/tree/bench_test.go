package tree_test

import (
	"fmt"
	"testing"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/charttest"
	"github.com/kalypso-io/kalypso/internal/deliver/tree"
)

// fleet100 is a job with 100 targets of a chart with twenty manifests.
func fleet100() *chart.Job {
	job := &chart.Job{
		Form: chart.FormChart,
		Files: []chart.File{
			{Path: "Chart.yaml", Content: []byte("apiVersion: v2\nname: shop\nversion: 1.0.0\n")},
			{Path: "values.yaml", Content: []byte("replicas: 1\nimage: shop:latest\nenv: {A: 1, B: 2, C: 3}\n")},
			{Path: "templates/_helpers.tpl", Content: []byte(`{{ define "shop.labels" }}{app: {{ .Chart.Name }}, release: {{ .Release.Name }}}{{ end }}`)},
		},
		Config: map[string][]byte{"values.yaml": []byte("replicas: 2\n")},
	}
	for i := range 20 {
		job.Files = append(job.Files, chart.File{Path: fmt.Sprintf("templates/%02d.yaml", i), Content: fmt.Appendf(nil, deployment, i)})
	}
	for i := range 100 {
		name := fmt.Sprintf("target-%03d", i)
		job.Config[name+"/values.yaml"] = fmt.Appendf(nil, "name: %s\n", name)
		job.Targets = append(job.Targets, chart.Target{Name: name, Layers: []string{"values.yaml", name + "/values.yaml"}, Options: chart.Options{Release: "shop"}})
	}
	return job
}

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: {{ .Release.Name }}-%02d, labels: {{ include "shop.labels" . }}}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {{ include "shop.labels" . }}}
  template:
    metadata: {labels: {{ include "shop.labels" . }}}
    spec:
      containers:
        - name: {{ .Values.name | default "shop" }}
          image: {{ .Values.image | quote }}
          env:
            {{- range $name, $value := .Values.env }}
            - {name: {{ $name }}, value: {{ $value | quote }}}
            {{- end }}
`

func build(b *testing.B, r *chart.Result, published *tree.Published) *tree.Tree {
	b.Helper()
	var targets []tree.Target
	for _, rendered := range r.Targets {
		targets = append(targets, tree.Target{Name: rendered.Name, Rendered: rendered})
	}
	t := tree.Build(wanted(targets...), published)
	if len(t.Problems) > 0 {
		b.Fatal(messages(t.Problems))
	}
	return t
}

// BenchmarkRound renders 100 targets of a chart with 20 manifests and compares them with a branch that differs.
func BenchmarkRound(b *testing.B) {
	job := fleet100()
	branch := branch{}
	branch.apply(build(b, charttest.Run(job, nil), nil).Changes())
	job.Config["values.yaml"] = []byte("replicas: 3\n")
	for b.Loop() {
		if got := len(build(b, charttest.Run(job, nil), branch.published(b)).Changes()); got != 201 {
			b.Fatalf("got %d changes, want 201", got)
		}
	}
}

// BenchmarkRoundOfOneValue does the same if the values of one target changed since the previous result.
func BenchmarkRoundOfOneValue(b *testing.B) {
	job := fleet100()
	before := charttest.Run(job, nil)
	branch := branch{}
	branch.apply(build(b, before, nil).Changes())
	n := 0
	for b.Loop() {
		n++
		job.Config["target-042/values.yaml"] = fmt.Appendf(nil, "name: changed-%d\n", n)
		if got := len(build(b, charttest.Run(job, before), branch.published(b)).Changes()); got != 3 {
			b.Fatalf("got %d changes, want 3", got)
		}
	}
}
