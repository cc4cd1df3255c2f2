package chart_test

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/chart"
)

// No kustomization reaches anything outside of the given files.
// Kustomize itself would fetch each of these, or run a program.
func TestKustomizationsStayLocal(t *testing.T) {
	for name, tc := range map[string]struct{ kustomization, more, want string }{
		"URL":                 {kustomization: "resources: ['https://example.com/x.yaml']", want: "outside of the repository"},
		"URL in capitals":     {kustomization: "resources: ['HTTPS://example.com/x.yaml']", want: "outside of the repository"},
		"URL without slashes": {kustomization: "resources: ['http:example.com/x.yaml']", want: "outside of the repository"},
		"repository":          {kustomization: "resources: ['github.com/example/x?ref=main']", want: "outside of the repository"},
		"ssh":                 {kustomization: "bases: ['git@example.com:x/y']", want: "outside of the repository"},
		"file":                {kustomization: "resources: ['file:///etc']", want: "outside of the repository"},
		"component":           {kustomization: "components: ['git::https://example.com/x']", want: "outside of the repository"},
		"patch":               {kustomization: "patches: [{path: 'https://example.com/x.yaml'}]", want: "outside of the repository"},
		"old patch":           {kustomization: "patchesStrategicMerge: ['https://example.com/x.yaml']", want: "outside of the repository"},
		"generated":           {kustomization: "configMapGenerator: [{name: a, files: ['b=https://example.com/x']}]", want: "outside of the repository"},
		"environment":         {kustomization: "secretGenerator: [{name: a, envs: ['https://example.com/x']}]", want: "outside of the repository"},
		"replacement":         {kustomization: "replacements: [{path: 'https://example.com/x'}]", want: "outside of the repository"},
		"OpenAPI":             {kustomization: "openapi: {path: 'https://example.com/x'}", want: "outside of the repository"},
		"transformer":         {kustomization: "transformers: [t.yaml]", more: "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: x}\npath: https://example.com/x", want: "reaches outside"},
		"transformer inline":  {kustomization: "transformers:\n- |-\n  apiVersion: builtin\n  kind: PatchTransformer\n  metadata: {name: x}\n  path: https://example.com/x", want: "reaches outside"},
		"transformer folder":  {kustomization: "transformers: [https://example.com/x]", want: "is not a file of the repository"},
		"function":            {kustomization: "transformers: [t.yaml]", more: "apiVersion: x/v1\nkind: X\nmetadata: {name: x, annotations: {config.kubernetes.io/function: 'container: {image: x}'}}", want: "reaches outside"},
		"program":             {kustomization: "generators: [t.yaml]", more: "apiVersion: someteam.example.com/v1\nkind: Exec\nmetadata: {name: x}", want: "plugin"},
		"charts":              {kustomization: "helmCharts: [{name: x, repo: 'https://example.com'}]", want: "helmCharts is not supported"},
		"chart generator":     {kustomization: "generators: [t.yaml]", more: "apiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {name: x}\nname: x", want: "must specify --enable-helm"},
		"another folder":      {kustomization: "resources: [../../../etc/passwd]", want: "build kustomization"},
		"itself":              {kustomization: "resources: [../deploy]", want: "cycle"},
		"not YAML":            {kustomization: "a: [", want: "not valid YAML"},
	} {
		t.Run(name, func(t *testing.T) {
			files := []chart.File{
				{Path: "deploy/kustomization.yaml", Content: []byte(tc.kustomization)},
				{Path: "deploy/t.yaml", Content: []byte(tc.more)},
			}
			if _, err := chart.Kustomize(files, "deploy"); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
