package rendering

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const targets, manifests = 100, 20

// application is an application in folders: its source, the configuration of one environment, and what is published there.
type application struct{ source, config, published string }

// newApplication writes an application with a chart of several manifests, of which the workload wants many targets.
func newApplication(tb testing.TB) application {
	tb.Helper()
	dir := tb.TempDir()
	a := application{filepath.Join(dir, "shop"), filepath.Join(dir, "shop-configs"), filepath.Join(dir, "shop-gitops")}
	var workload strings.Builder
	workload.WriteString("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workload\nmetadata: {name: shop}\nspec:\n  deploymentTargets:\n")
	files := map[string]string{
		"shop/helm/Chart.yaml":             "apiVersion: v2\nname: shop\nversion: 1.0.0\nappVersion: \"1.0\"\n",
		"shop/helm/values.yaml":            chartValues,
		"shop/helm/templates/_helpers.tpl": labels,
		"shop-configs/values.yaml":         "logging: {level: info, format: json}\nreplicas: 2\n",
	}
	for i := range manifests {
		files[fmt.Sprintf("shop/helm/templates/deployment-%02d.yaml", i)] = strings.ReplaceAll(deployment, "NUMBER", fmt.Sprint(i))
	}
	for i := range targets {
		fmt.Fprintf(&workload, "  - {name: %s, environment: dev}\n", target(i))
		files["shop-configs/"+target(i)+"/values.yaml"] = fmt.Sprintf("env: {TARGET: %q, NUMBER: %d}\n", target(i), i)
	}
	files["shop/workload.yaml"] = workload.String()
	for path, text := range files {
		path = filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	return a
}

// target is the name of a target, and of its folder in the configuration.
func target(i int) string { return fmt.Sprintf("target-%03d", i) }

const chartValues = `replicas: 1
image: {repository: registry.example/shop, tag: none}
resources: {limits: {cpu: 100m, memory: 128Mi}, requests: {cpu: 10m, memory: 16Mi}}
env: {A: 1, B: 2, C: 3}
`

const labels = `{{- define "shop.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end -}}
`

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}-NUMBER
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
            - {name: LEVEL, value: {{ .Values.logging.level | quote }}}
            {{- range $name, $value := .Values.env }}
            - name: {{ $name }}
              value: {{ $value | quote }}
            {{- end }}
          resources: {{- toYaml .Values.resources | nindent 12 }}
`
