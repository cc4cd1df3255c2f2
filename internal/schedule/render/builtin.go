package render

import (
	"crypto/sha256"
	"embed"
	"fmt"
	"path"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

//go:embed builtin/*.yaml
var builtinFiles embed.FS

// aliases are other names of built-in templates in existing repositories.
var aliases = map[string]string{"arc-flux": "flux", "configMap": "configmap", "envFile": "env"}

// Builtin returns the templates included in the program, which init writes: file name to content.
func Builtin() map[string][]byte {
	files := map[string][]byte{}
	entries, err := builtinFiles.ReadDir("builtin")
	if err != nil {
		return files // impossible: the folder is embedded
	}
	for _, e := range entries {
		if data, err := builtinFiles.ReadFile("builtin/" + e.Name()); err == nil {
			files[e.Name()] = data
		}
	}
	return files
}

// builtinSources are the documents of the built-in templates, by name and alias.
var builtinSources = sync.OnceValue(func() map[string]*fleet.Template {
	sources := map[string]*fleet.Template{}
	for file, data := range Builtin() {
		if source, err := decodeBuiltin(file, data); err == nil {
			sources[source.Name] = source
		}
	}
	for alias, name := range aliases {
		source := *sources[name]
		source.Name = alias
		sources[alias] = &source
	}
	return sources
})

// builtinTemplates are the built-in templates, parsed once per process: parsing them takes longer
// than rendering a hundred assignments. A test checks that all of them parse.
var builtinTemplates = sync.OnceValue(func() map[string]*Template {
	templates := map[string]*Template{}
	for name, source := range builtinSources() {
		if t, _ := newTemplate(source); t != nil {
			templates[name] = t
		}
	}
	return templates
})

// document is the format of a built-in file.
type document struct {
	Metadata struct {
		Name string `yaml:"name"`
	} `yaml:"metadata"`
	Spec struct {
		Type        v1alpha1.TemplateType            `yaml:"type"`
		ContentType v1alpha1.ContentType             `yaml:"contentType"`
		FileName    v1alpha1.FileName                `yaml:"fileName"`
		Keys        map[string]v1alpha1.ManifestKeys `yaml:"keys"`
		Manifests   []yaml.Node                      `yaml:"manifests"`
	} `yaml:"spec"`
}

func decodeBuiltin(file string, data []byte) (*fleet.Template, error) {
	var d document
	if err := yaml.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("decode %s: %w", file, err)
	}
	if name := strings.TrimSuffix(file, path.Ext(file)); d.Metadata.Name != name {
		return nil, fmt.Errorf("%s contains the template %q", file, d.Metadata.Name)
	}
	t := &fleet.Template{
		Name: d.Metadata.Name, Type: d.Spec.Type, ContentType: d.Spec.ContentType, FileName: d.Spec.FileName, Keys: d.Spec.Keys, Builtin: true,
	}
	if t.ContentType == "" {
		t.ContentType = v1alpha1.ContentYAML
	}
	t.Digest = sha256.Sum256(data)
	t.Position = fleet.Position{Source: "built-in", File: file, Line: 1}
	for _, m := range d.Spec.Manifests {
		// The text of a block scalar begins on the line after its indicator.
		at := fleet.Position{Source: "built-in", File: file, Line: m.Line + 1}
		t.Manifests = append(t.Manifests, fleet.TemplateManifest{Text: m.Value, Position: at})
	}
	return t, nil
}
