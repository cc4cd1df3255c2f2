package check

import (
	"bytes"
	"compress/gzip"
	_ "embed" // the schemas of Kubernetes
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kalypso-io/kalypso/internal/text/schemas"
)

// RuleSchema is the rule that an API server accepts the manifests.
const RuleSchema = "schema"

// RuleUnknownKind is the rule that there is a schema for every object.
const RuleUnknownKind = "unknown-kind"

// kubernetesSchemas is made by e2e/tools/schemas of the description that Kubernetes publishes of its API: make schemas.
//
//go:embed kubernetes.json.gz
var kubernetesSchemas []byte

// Schemas are what objects are checked with: those of Kubernetes itself, and of custom resources.
// They are safe for concurrent use.
type Schemas struct {
	version string
	sources map[string]string // where the schema of a kind is, by apiVersion and kind: "apps/v1 Deployment"
	// documents are what sources point to, by URL: here those of custom resources.
	documents map[string]any

	mu sync.Mutex
	// compiler has what was compiled of Kubernetes, whose kinds share most of what they consist of.
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema
}

// kubernetesURL is what the definitions of Kubernetes are called, each followed by its name.
const kubernetesURL = "schema:///kubernetes/"

// kubernetes reads the embedded schemas once.
var kubernetes = sync.OnceValues(func() (*Schemas, error) {
	unpacked, err := gzip.NewReader(bytes.NewReader(kubernetesSchemas))
	if err != nil {
		return nil, err
	}
	var file struct {
		Version string            `json:"version"`
		Kinds   map[string]string `json:"kinds"`
		Defs    map[string]any    `json:"$defs"`
	}
	if err := json.NewDecoder(unpacked).Decode(&file); err != nil {
		return nil, err
	}
	s := &Schemas{version: file.Version, sources: map[string]string{}, documents: map[string]any{}}
	// A document is prepared as a whole before anything of it is compiled, so that each definition is one.
	for name, definition := range file.Defs {
		relocate(definition)
		s.documents[kubernetesURL+name] = definition
	}
	for kind, definition := range file.Kinds {
		s.sources[kind] = kubernetesURL + definition
	}
	return s, nil
})

// relocate has references within the file point to definitions as documents.
func relocate(definition any) {
	switch d := definition.(type) {
	case map[string]any:
		if ref, ok := d["$ref"].(string); ok {
			d["$ref"] = kubernetesURL + strings.TrimPrefix(ref, "#/$defs/")
		}
		for _, part := range d {
			relocate(part)
		}
	case []any:
		for _, part := range d {
			relocate(part)
		}
	}
}

// library is where a compiler finds the documents that others refer to.
type library map[string]any

// Load returns a document.
func (l library) Load(url string) (any, error) {
	if document, ok := l[url]; ok {
		return document, nil
	}
	return schemas.Offline{}.Load(url)
}

func newCompiler(loader jsonschema.URLLoader) *jsonschema.Compiler {
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(loader)
	return c
}

// NewSchemas returns the schemas of Kubernetes together with those of custom resources, which files define.
// A file whose definitions cannot be used is a finding; the others count.
func NewSchemas(definitions map[string][]byte) (*Schemas, []Finding) {
	built, err := kubernetes()
	if err != nil {
		// The file is part of the program.
		return &Schemas{}, []Finding{{Rule: RuleSchema, Level: Refuse, Message: fmt.Sprintf("read the schemas of Kubernetes: %v", err)}}
	}
	s := &Schemas{version: built.version, sources: maps.Clone(built.sources), documents: map[string]any{}, compiled: map[string]*jsonschema.Schema{}}
	s.compiler = newCompiler(library(built.documents))
	var findings []Finding
	for _, file := range slices.Sorted(maps.Keys(definitions)) {
		manifests, broken := parse(file, definitions[file])
		findings = append(findings, broken...)
		for _, m := range manifests {
			if m.kind() == "CustomResourceDefinition" {
				findings = append(findings, s.define(m)...)
			}
		}
	}
	for i := range findings {
		findings[i].Level = Warn
	}
	return s, sorted(findings)
}

// Version is the version of Kubernetes whose schemas these are: "1.36".
func (s *Schemas) Version() string { return s.version }

// define takes the schemas of a custom resource.
func (s *Schemas) define(m *manifest) []Finding {
	spec, _ := m.content["spec"].(map[string]any)
	names, _ := spec["names"].(map[string]any)
	group, kind := text(spec, "group"), text(names, "kind")
	versions, _ := spec["versions"].([]any)
	var findings []Finding
	for i, v := range versions {
		version, _ := v.(map[string]any)
		holder, _ := version["schema"].(map[string]any)
		structural, ok := holder["openAPIV3Schema"].(map[string]any)
		at := fieldPath{"spec", "versions", i}
		if !ok || group == "" || kind == "" || text(version, "name") == "" {
			findings = append(findings, m.finding(RuleSchema, at, "defines no usable schema", "set group, kind, version and openAPIV3Schema"))
			continue
		}
		apiVersion := group + "/" + text(version, "name")
		url := "schema:///crd/" + apiVersion + "/" + kind
		s.documents[url] = structuralSchema(structural, true)
		s.sources[apiVersion+" "+kind] = url
		if _, err := s.schema(apiVersion + " " + kind); err != nil {
			delete(s.sources, apiVersion+" "+kind)
			findings = append(findings, m.finding(RuleSchema, at, fmt.Sprintf("the schema cannot be used: %v", err), "correct the definition"))
		}
	}
	return findings
}

// schema compiles the schema of a kind when it is asked for the first time; nil when there is none.
func (s *Schemas) schema(kind string) (*jsonschema.Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	from, ok := s.sources[kind]
	if !ok {
		return nil, nil
	}
	if compiled, ok := s.compiled[kind]; ok {
		return compiled, nil
	}
	c := s.compiler
	if own, ok := s.documents[from]; ok {
		c = newCompiler(schemas.Offline{})
		if err := c.AddResource(from, own); err != nil {
			return nil, err
		}
	}
	compiled, err := c.Compile(from)
	if err == nil {
		s.compiled[kind] = compiled
	}
	return compiled, err
}

// check returns the findings that an API server would refuse an object for.
func (s *Schemas) check(m *manifest) []Finding {
	compiled, err := s.schema(m.apiVersion() + " " + m.kind())
	switch {
	case err != nil:
		return []Finding{m.finding(RuleSchema, nil, fmt.Sprintf("cannot be checked: %v", err), "")}
	case compiled == nil && s.served(m):
		return []Finding{m.finding(RuleSchema, fieldPath{"apiVersion"},
			fmt.Sprintf("Kubernetes %s has no %s in %s", s.version, m.kind(), m.apiVersion()), s.elsewhere(m.kind()))}
	case compiled == nil:
		return []Finding{m.finding(RuleUnknownKind, fieldPath{"kind"},
			fmt.Sprintf("not checked: no schema for %s of %s", m.kind(), m.apiVersion()), "add its CustomResourceDefinition to the control plane")}
	}
	err = compiled.Validate(asApplied(m.content))
	if err == nil {
		return nil
	}
	invalid, ok := err.(*jsonschema.ValidationError) //nolint:errorlint // that is what it returns
	if !ok {
		return []Finding{m.finding(RuleSchema, nil, err.Error(), "")}
	}
	return explain(m, invalid)
}

// asApplied returns an object without the metadata of its encryption, as it is applied.
func asApplied(content map[string]any) map[string]any {
	if content["sops"] == nil {
		return content
	}
	applied := maps.Clone(content)
	delete(applied, "sops")
	return applied
}

// served reports whether the API group of an object is one of Kubernetes' own, whose kinds are all known.
func (s *Schemas) served(m *manifest) bool {
	group, _, grouped := strings.Cut(m.apiVersion(), "/")
	return !grouped || !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io") && s.hasGroup(group)
}

func (s *Schemas) hasGroup(group string) bool {
	for kind, from := range s.sources {
		if strings.HasPrefix(kind, group+"/") && strings.HasPrefix(from, kubernetesURL) {
			return true
		}
	}
	return false
}

// elsewhere returns a hint with the API versions of a kind.
func (s *Schemas) elsewhere(kind string) string {
	var versions []string
	for known := range s.sources {
		if version, ok := strings.CutSuffix(known, " "+kind); ok {
			versions = append(versions, version)
		}
	}
	if len(versions) == 0 {
		return ""
	}
	slices.Sort(versions)
	return "use " + strings.Join(versions, " or ")
}
