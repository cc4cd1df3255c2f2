package render

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"text/template"

	"github.com/Masterminds/sprig/v3"
	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// usual are the templates that nearly every assignment is rendered with.
var usual = []struct {
	kind v1alpha1.TemplateType
	name string
}{
	{v1alpha1.ReconcilerTemplate, "flux"},
	{v1alpha1.NamespaceTemplate, "default"},
	{v1alpha1.ConfigTemplate, "configmap"},
}

// assignments returns the data of n targets on one cluster type, which share one configuration of ten keys.
func assignments(n int) []Data {
	config := map[string]any{}
	for i := range 10 {
		config[fmt.Sprintf("SETTING_%d", i)] = fmt.Sprintf("value %d of the platform", i)
	}
	list := make([]Data, n)
	for i := range list {
		list[i] = exampleData(fmt.Sprintf("app-%d-functional-test", i))
		list[i].ConfigData = config
	}
	return list
}

// BenchmarkRender renders the three files of an assignment.
func BenchmarkRender(b *testing.B) {
	l, problems := NewLibrary(&fleet.Snapshot{}, nil)
	if len(problems) > 0 {
		b.Fatal(problems)
	}
	var templates []*Template
	for _, u := range usual {
		t, _ := l.Find(u.kind, u.name)
		templates = append(templates, t)
	}
	w := l.Worker()
	list := assignments(1000)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		for _, t := range templates {
			if _, _, err := w.Render(t, &list[i%len(list)]); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkFloor executes the same templates as text/template does, without budget, trace and check of the output:
// once with the configuration marshalled for every assignment, once with the YAML at hand.
func BenchmarkFloor(b *testing.B) {
	marshal := func(v any) string {
		data, _ := yaml.Marshal(v)
		return strings.TrimSuffix(string(data), "\n")
	}
	list := assignments(1000)
	ready := marshal(list[0].ConfigData)
	for name, toYAML := range map[string]func(any) string{
		"marshal": marshal,
		"ready":   func(any) string { return ready },
	} {
		b.Run(name, func(b *testing.B) {
			var templates []*template.Template
			for _, u := range usual {
				for _, m := range builtinSources()[u.name].Manifests {
					functions := template.FuncMap{"toYaml": toYAML, "stringify": func(v any) any { return v }}
					templates = append(templates, template.Must(template.New("").Funcs(sprig.TxtFuncMap()).Funcs(functions).Parse(m.Text)))
				}
			}
			var out bytes.Buffer
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				for _, t := range templates {
					out.Reset()
					if err := t.Execute(&out, &list[i%len(list)]); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}
