package engine_test

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/chart/engine"
)

// folderJob renders one folder of files.
func folderJob(form chart.Form, files []chart.File, folder string) *chart.Job {
	return &chart.Job{Form: form, Files: files, Targets: []chart.Target{{Name: "t", Folder: folder}}}
}

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
		"transformer folder":  {kustomization: "transformers: [https://example.com/x]", want: "outside of the repository"},
		"transformer missing": {kustomization: "transformers: [x]", want: "is neither a file nor a folder of the repository"},
		"function":            {kustomization: "transformers: [t.yaml]", more: "apiVersion: x/v1\nkind: X\nmetadata: {name: x, annotations: {config.kubernetes.io/function: 'container: {image: x}'}}", want: `is a function that runs the container "x"`},
		"program function":    {kustomization: "transformers: [t.yaml]", more: "apiVersion: x/v1\nkind: X\nmetadata: {name: x, annotations: {config.k8s.io/function: 'exec: {path: ./x.sh}'}}", want: `transformers: deploy/t.yaml is a function that runs the program "./x.sh"`},
		"plugin in a folder":  {kustomization: "transformers: [plugins]", more: "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: x}\npath: http:example.com/x", want: `deploy/t.yaml reaches outside of the repository: "http:example.com/x"`},
		"components":          {kustomization: "components: ['me@example.com/x']", want: "outside of the repository"},
		"GitHub by ssh":       {kustomization: "resources: ['GitHub.com:example/x']", want: "outside of the repository"},
		"plugins that change": {kustomization: "transformers: [changed]", want: "may only list resources; remove namePrefix"},
		"plugins of nobody":   {kustomization: "transformers: [empty]", want: `the folder "deploy/empty" has no kustomization.yaml`},
		"program":             {kustomization: "generators: [t.yaml]", more: "apiVersion: someteam.example.com/v1\nkind: Exec\nmetadata: {name: x}", want: `configures Exec of "someteam.example.com/v1", a plugin that is not part of kustomize`},
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
				{Path: "deploy/plugins/kustomization.yaml", Content: []byte("resources: [../t.yaml]")},
				{Path: "deploy/changed/kustomization.yaml", Content: []byte("resources: [../t.yaml]\nnamePrefix: x-")},
				{Path: "deploy/empty/notes.txt"},
			}
			r := engine.Run(folderJob(chart.FormKustomization, files, "deploy"), nil).Targets[0]
			if got := showProblems(r.Problems); r.Manifests != nil || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

// A kustomization among plain manifests is not an object. The kind of the same name that Flux has is one.
func TestKustomizationsAmongManifestsAreNotPublished(t *testing.T) {
	job := &chart.Job{Form: chart.FormManifests, Files: []chart.File{
		{Path: "deploy/kustomization.yaml", Content: []byte("apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [x.yaml]\n")},
		{Path: "deploy/a/kustomization.yml", Content: []byte("resources: [x.yaml]\n")},
		{Path: "deploy/b/kustomization.yaml", Content: []byte("apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: f}\n")},
		{Path: "deploy/x.yaml", Content: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n")},
	}, Targets: []chart.Target{{Name: "t", Folder: "deploy"}}}
	r := engine.Run(job, nil).Targets[0]
	if r.Manifests == nil || len(r.Manifests.Objects) != 2 || strings.Contains(string(r.Manifests.Content), "resources") {
		t.Errorf("got %v", r.Manifests)
	}
	want := "notice source:deploy/a/kustomization.yml template-output: a kustomization in a folder of plain manifests is not applied\n" +
		"notice source:deploy/kustomization.yaml template-output: a kustomization in a folder of plain manifests is not applied\n"
	if got := strings.ReplaceAll(showProblems(r.Problems), "source:", ""); got != strings.ReplaceAll(want, "source:", "") {
		t.Errorf("got %s, want %s", got, want)
	}
}

// The label of kustomize does not contain the version of this program.
func TestLabelOfKustomizeHasNoVersion(t *testing.T) {
	m := engine.Run(folderJob(chart.FormKustomization, []chart.File{
		{Path: "kustomization.yaml", Content: []byte("resources: [x.yaml]\nbuildMetadata: [managedByLabel]\n")},
		{Path: "x.yaml", Content: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n")},
	}, ""), nil).Targets[0].Manifests
	if m == nil || !strings.Contains(string(m.Content), "app.kubernetes.io/managed-by: kustomize\n") {
		t.Errorf("got %v", m)
	}
}

// A folder that does not exist is not taken for one without objects.
func TestFolderOfManifestsThatDoesNotExist(t *testing.T) {
	files := []chart.File{{Path: "deploy/notes.txt"}}
	for folder, want := range map[string]string{"deploy": `the folder "deploy" has no objects`, "deplyo": `the folder "deplyo" does not exist`} {
		r := engine.Run(folderJob(chart.FormManifests, files, folder), nil).Targets[0]
		if got := showProblems(r.Problems); r.Manifests != nil || !strings.Contains(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
