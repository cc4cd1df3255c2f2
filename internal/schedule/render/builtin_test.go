package render

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/casetest"
)

// TestBuiltin renders every built-in template. A case testdata/builtin/<template>.txtar has pairs of <name>.yaml,
// the data, and <name>.want, the file.
func TestBuiltin(t *testing.T) {
	untested := Builtin()
	casetest.Run(t, "testdata/builtin/*.txtar", func(t *testing.T, c casetest.Case) {
		delete(untested, c.Name+".yaml")
		source := builtinSources()[c.Name]
		if source == nil {
			t.Fatalf("%s.yaml is not a Template of that name", c.Name)
		}
		for _, f := range c.Files {
			if data, isData := strings.CutSuffix(f.Name, ".yaml"); isData {
				c.Golden(t, data+".want", outcome(t, []*fleet.Template{source}, decodeData(t, f.Data), ""))
			}
		}
	})
	for file := range untested {
		t.Errorf("the built-in template %s has no case", file)
	}
}

// TestBuiltinKeepsStructure fills the built-in templates with hostile values.
// Whatever application teams and configuration say, the objects and their keys stay those of the template.
func TestBuiltinKeepsStructure(t *testing.T) {
	sources := builtinSources()
	rapid.Check(t, func(t *rapid.T) {
		hostile := rapid.OneOf(rapid.SampledFrom(words), rapid.String(), rapid.Just("x\"\nmetadata:\n  name: evil\n---\na: b"))
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(sources))).Draw(t, "template")
		if sources[name].ContentType == "sh" {
			return
		}
		storage, keys := "git", []string{"repo"}
		if all := sources[name].Keys; all != nil {
			storage = rapid.SampledFrom(slices.Sorted(maps.Keys(all))).Draw(t, "storage")
			for _, key := range all[storage] {
				keys = append(keys, rapid.SampledFrom(strings.Split(key, "|")).Draw(t, "key"))
			}
		}
		protocol := "https://"
		if storage == "oci" {
			protocol = "oci://"
		}
		tame, wild := exampleData("t"), exampleData("t")
		tame.Manifests, wild.Manifests = map[string]string{"storage": storage}, map[string]string{"storage": storage}
		tame.ConfigData, wild.ConfigData = map[string]any{}, map[string]any{}
		for _, key := range keys {
			tame.Manifests[key], wild.Manifests[key] = "x", "x"+hostile.Draw(t, key)
		}
		// With another beginning, or a line break, clusters would refuse it.
		for _, d := range []*Data{&tame, &wild} {
			d.Manifests["repo"] = protocol + strings.ReplaceAll(d.Manifests["repo"], "\n", " ")
		}
		for _, key := range []string{"SECRET_PROVIDER", "QUOTA_CPU", "OTHER"} {
			tame.ConfigData[key], wild.ConfigData[key] = "x", "x"+hostile.Draw(t, key)
		}
		l, _ := NewLibrary(&fleet.Snapshot{}, nil)
		template, _ := l.Find(sources[name].Type, name)
		want, got := shape(t, l, template, &tame), shape(t, l, template, &wild)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s: the structure changed:\n%s", name, diff)
		}
	})
}

// shape returns the structure of the rendered documents: their keys, without the values.
func shape(t *rapid.T, l *Library, template *Template, d *Data) string {
	out, problems, err := l.Worker().Render(template, d)
	if err != nil || len(problems) > 0 {
		t.Fatalf("%v %v", problems, err)
	}
	var b strings.Builder
	decoder := yaml.NewDecoder(strings.NewReader(string(out)))
	for {
		var n yaml.Node
		if decoder.Decode(&n) != nil {
			return b.String()
		}
		writeShape(&b, &n, "\n")
	}
}

func writeShape(b *strings.Builder, n *yaml.Node, indent string) {
	for i, c := range n.Content {
		b.WriteString(indent)
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			b.WriteString(c.Value)
		}
		writeShape(b, c, indent+" ")
	}
}
