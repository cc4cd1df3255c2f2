package render

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/casetest"
)

// TestRules runs the cases in testdata. Each is named after the rule it shows and consists of
// template.yaml (Template documents), data.yaml (what the templates see) and want (problems and output, in the order of the documents).
func TestRules(t *testing.T) {
	casetest.Run(t, "testdata/*.txtar", func(t *testing.T, c casetest.Case) {
		templates, data := []byte(c.Text("template.yaml")), []byte(c.Text("data.yaml"))
		c.Golden(t, "want", outcome(t, decodeTemplates(t, templates), decodeData(t, data), c.Text("eval")))
	})
}

// load only reads what a chart declares, as far as no test needs more.
func load(job *chart.Job) *chart.Result {
	result := &chart.Result{}
	for _, target := range job.Targets {
		rendered := chart.Rendered{Name: target.Name, Manifests: &chart.Manifests{}}
		if _, err := chart.Describe(job.Files); err != nil {
			rendered.Manifests, rendered.Problems = nil, []fleet.Problem{chart.Failure(err)}
		}
		result.Targets = append(result.Targets, rendered)
	}
	return result
}

// outcome renders the templates and describes everything that came of it.
func outcome(t *testing.T, templates []*fleet.Template, d Data, eval string) string {
	t.Helper()
	var b strings.Builder
	l, problems := NewLibrary(&fleet.Snapshot{Templates: templates}, nil)
	describe(&b, append(problems, l.LoadCharts(load)...)...)
	w := l.Worker()
	for _, source := range templates {
		fmt.Fprintf(&b, "== %s\n", source.Name)
		parsed, problem := l.Find(source.Type, source.Name)
		if problem != nil {
			describe(&b, *problem)
			continue
		}
		out, problems, err := w.Render(parsed, &d)
		describe(&b, problems...)
		describeError(t, &b, err)
		b.Write(out)
	}
	for text := range strings.Lines(eval) {
		fmt.Fprintf(&b, "== %s", text)
		value, err := w.Eval(strings.TrimSuffix(text, "\n"), &d)
		describeError(t, &b, err)
		if err == nil {
			fmt.Fprintf(&b, "%s\n", value)
		}
	}
	return b.String()
}

func describe(b *strings.Builder, problems ...fleet.Problem) {
	for _, p := range problems {
		fmt.Fprintf(b, "%s %s %s %s", p.Severity, p.Kind, p.Object, p.Position)
		if p.Assignment != "" {
			fmt.Fprintf(b, " [%s]", p.Assignment)
		}
		fmt.Fprintf(b, "\n    %s\n", p.Message)
		if p.Hint != "" {
			fmt.Fprintf(b, "    %s\n", p.Hint)
		}
	}
}

func describeError(t *testing.T, b *strings.Builder, err error) {
	t.Helper()
	if err == nil {
		return
	}
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error is a %T, want *Error: %v", err, err)
	}
	describe(b, e.Problem)
}

// decodeTemplates reads Template documents as they are written in a control plane.
func decodeTemplates(t *testing.T, text []byte) []*fleet.Template {
	t.Helper()
	var templates []*fleet.Template
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	for {
		var doc struct {
			Metadata struct{ Name string }
			Spec     struct {
				Type        v1alpha1.TemplateType
				ContentType v1alpha1.ContentType `yaml:"contentType"`
				Keys        map[string]v1alpha1.ManifestKeys
				Chart       string
				Manifests   []yaml.Node
			}
		}
		if err := decoder.Decode(&doc); err != nil {
			return templates
		}
		source := &fleet.Template{Name: doc.Metadata.Name, Type: doc.Spec.Type, ContentType: doc.Spec.ContentType, Keys: doc.Spec.Keys, Chart: doc.Spec.Chart}
		if source.ContentType == "" {
			source.ContentType = v1alpha1.ContentYAML
		}
		source.Digest = sha256.Sum256([]byte(source.Name))
		for _, node := range doc.Spec.Manifests {
			m := fleet.TemplateManifest{Position: fleet.Position{Source: "main", File: "template.yaml", Line: node.Line}}
			if node.Kind == yaml.ScalarNode {
				m.Text = node.Value
				m.Position.Line++ // block scalars begin on the next line
			} else if err := node.Decode(&m.Object); err != nil {
				t.Fatal(err)
			}
			source.Manifests = append(source.Manifests, m)
		}
		templates = append(templates, source)
	}
}

func decodeData(t *testing.T, text []byte) Data {
	t.Helper()
	written := struct {
		Target, Environment string
		Labels, Manifests   map[string]string
		ClusterTypeLabels   map[string]string `yaml:"clusterTypeLabels"`
		ConfigData          map[string]any    `yaml:"configData"`
		Grants              []fleet.GrantedRole
		DependsOn           []struct {
			Target    string
			Manifests map[string]string
		} `yaml:"dependsOn"`
		Wave int
	}{Target: "hello-world-app-functional-test", Environment: "dev"}
	if err := yaml.Unmarshal(text, &written); err != nil {
		t.Fatal(err)
	}
	d := exampleData(written.Target)
	d.Environment = written.Environment
	d.Namespace = Namespace(d.Environment, d.ClusterType, d.DeploymentTargetName)
	d.ConfigData = written.ConfigData
	if written.ClusterTypeLabels != nil {
		d.ClusterTypeLabels = written.ClusterTypeLabels
	}
	d.Grants = GrantsIn(d.Namespace, []*fleet.Grant{{Roles: written.Grants}})
	for _, dep := range written.DependsOn {
		target := &fleet.Target{Name: dep.Target, Workload: "nginx", Workspace: "platform", Manifests: dep.Manifests}
		d.DependsOn = append(d.DependsOn, DependenciesOf(d.Environment, &fleet.ClusterType{Name: d.ClusterType}, []*fleet.Target{target})...)
	}
	d.Wave = written.Wave
	if written.Labels != nil {
		d.Labels = written.Labels
	}
	if written.Manifests != nil {
		d.Manifests = written.Manifests
	}
	return d
}

// exampleData returns the data of an assignment to the cluster type drone.
func exampleData(target string) Data {
	return NewData("dev", &fleet.ClusterType{Name: "drone", Labels: map[string]string{"edge": "true"}}, &fleet.Target{
		Name:      target,
		Workload:  "hello-world-app",
		Workspace: "kaizen-app-team",
		Labels:    map[string]string{"purpose": "functional-test", "use-case": "demo"},
		Manifests: map[string]string{"repo": "https://example.com/kaizen/gitops", "branch": "dev", "path": "./functional-test"},
	})
}
