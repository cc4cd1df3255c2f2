package engine_test

import (
	"fmt"
	"testing"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/engine"
)

// fleetOfTargets is a job of many targets of a chart with twenty manifests.
func fleetOfTargets(targets int) *chart.Job {
	job := &chart.Job{
		Form: chart.FormChart,
		Files: []chart.File{
			{Path: "Chart.yaml", Content: []byte("apiVersion: v2\nname: shop\nversion: 1.0.0\nappVersion: \"1.0\"\n")},
			{Path: "values.yaml", Content: []byte("replicas: 1\nimage: {repository: shop, tag: latest}\nresources: {limits: {cpu: 100m, memory: 128Mi}}\nenv: {A: 1, B: 2, C: 3}\n")},
			{Path: "templates/_helpers.tpl", Content: []byte("{{- define \"shop.labels\" -}}\napp.kubernetes.io/name: {{ .Chart.Name }}\napp.kubernetes.io/instance: {{ .Release.Name }}\napp.kubernetes.io/version: {{ .Chart.AppVersion | quote }}\n{{- end -}}\n")},
		},
		Config:       map[string][]byte{"values.yaml": []byte("logging: {level: info, format: json}\nreplicas: 2\n")},
		ConfigSource: "dev",
	}
	for i := range 20 {
		job.Files = append(job.Files, chart.File{Path: fmt.Sprintf("templates/deployment-%02d.yaml", i), Content: fmt.Appendf(nil, deployment, i)})
	}
	for i := range targets {
		folder := fmt.Sprintf("target-%03d", i)
		job.Config[folder+"/values.yaml"] = fmt.Appendf(nil, "name: %s\nenv: {D: %d}\n", folder, i)
		job.Targets = append(job.Targets, chart.Target{
			Name: folder, Layers: []string{"values.yaml", folder + "/values.yaml"},
			Image: map[string]string{"image.tag": "1.4.0"}, Options: chart.Options{Release: "shop", Namespace: folder},
		})
	}
	return job
}

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}-%02d
  labels: {{- include "shop.labels" . | nindent 4 }}
spec:
  replicas: {{ .Values.replicas }}
  selector:
    matchLabels: {{- include "shop.labels" . | nindent 6 }}
  template:
    metadata:
      labels: {{- include "shop.labels" . | nindent 8 }}
    spec:
      containers:
        - name: {{ .Chart.Name }}
          image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}"
          env:
            {{- range $name, $value := .Values.env }}
            - name: {{ $name }}
              value: {{ $value | quote }}
            {{- end }}
          resources: {{- toYaml .Values.resources | nindent 12 }}
`

// BenchmarkHundredTargets renders 100 targets of a chart with 20 manifests.
func BenchmarkHundredTargets(b *testing.B) {
	job := fleetOfTargets(100)
	for b.Loop() {
		for _, t := range engine.Run(job, nil).Targets {
			if t.Manifests == nil {
				b.Fatal(t.Problems)
			}
		}
	}
}

// BenchmarkOneTargetChanged renders them again after the values of one have changed.
func BenchmarkOneTargetChanged(b *testing.B) {
	job := fleetOfTargets(100)
	before := engine.Run(job, nil)
	n := 0
	for b.Loop() {
		n++
		job.Config["target-042/values.yaml"] = fmt.Appendf(nil, "name: changed-%d\n", n)
		engine.Run(job, before)
	}
}
