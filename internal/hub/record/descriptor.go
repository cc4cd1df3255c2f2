package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// description is the content of a deployment descriptor.
type description struct {
	version ledger.Version
	// repository and branch are where the manifests are; optional.
	repository, branch string
	line               int
}

const descriptorKind = "DeploymentDescriptor"

// parseDescriptors returns the descriptors among the documents of a file. An invalid descriptor makes the whole file unreadable.
// Files without descriptors are ignored.
func parseDescriptors(content []byte) ([]description, *unreadable) {
	if !bytes.Contains(content, []byte(descriptorKind)) {
		return nil, nil
	}
	var all []description
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, &unreadable{kind: fleet.KindYAMLSyntax, message: "the file cannot be read: " + err.Error(), hint: "write valid YAML"}
		}
		if !isDescriptor(&document) {
			continue
		}
		d, err := parseDescriptor(&document)
		if err != nil {
			return nil, &unreadable{
				kind: fleet.KindInvalidValue, line: document.Line, message: "the descriptor cannot be read: " + err.Error(),
				hint: "write workload, target, environment, folder and version",
			}
		}
		all = append(all, d)
	}
}

// isDescriptor reports whether a document is a descriptor of any version.
func isDescriptor(document *yaml.Node) bool {
	kind, version := field(document, "kind"), field(document, "apiVersion")
	return kind != nil && kind.Value == descriptorKind && version != nil && strings.HasPrefix(version.Value, hub.GroupVersion.Group+"/")
}

// field returns the value of a key of a document, or nil.
func field(document *yaml.Node, key string) *yaml.Node {
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil
	}
	pairs := document.Content[0].Content
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i].Value == key {
			return pairs[i+1]
		}
	}
	return nil
}

func parseDescriptor(document *yaml.Node) (description, error) {
	var spec hub.DeploymentDescriptorSpec
	node := field(document, "spec")
	if node == nil {
		return description{}, errors.New("spec is missing")
	}
	if err := decodeTexts(node, &spec); err != nil {
		return description{}, fmt.Errorf("decode spec: %w", err)
	}
	w, t, v := spec.Workload, spec.DeploymentTarget, spec.WorkloadVersion
	version := ledger.Version{
		Workload: w.Name, Target: t.Name, Environment: t.Environment, Path: ledger.CleanPath(t.Manifests.Path),
		Version: v.Version, Build: v.Build, Commit: v.Commit, Built: parseTime(v.BuildTime),
	}
	if w.Application != nil && w.Application.Workspace != nil {
		version.Workspace = w.Application.Workspace.Name
	}
	for _, required := range [][2]string{
		{"workload.name", w.Name}, {"deploymentTarget.name", t.Name}, {"deploymentTarget.environment", t.Environment}, {"workloadVersion.version", v.Version},
	} {
		if required[1] == "" {
			return description{}, fmt.Errorf("spec.%s is missing", required[0])
		}
	}
	err := checkNames(w.Name, version.Workspace, t.Name, t.Environment, version.Path, v.Version, v.Build, v.Commit, t.Manifests.Repo, t.Manifests.Branch)
	return description{version, t.Manifests.Repo, t.Manifests.Branch, document.Line}, err
}

// decodeTexts decodes a document with all scalars as text: a version 1.10 is not the number 1.1.
func decodeTexts(node *yaml.Node, into any) error {
	asTexts(node)
	var plain map[string]any
	if err := node.Decode(&plain); err != nil {
		return err
	}
	text, err := json.Marshal(plain)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

func asTexts(node *yaml.Node) {
	switch node.Tag {
	case "!!int", "!!float", "!!bool", "!!timestamp":
		node.Tag = "!!str"
	}
	for _, child := range node.Content {
		asTexts(child)
	}
}

// parseTime parses the time of a build; zero if it is invalid.
func parseTime(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil || t.Year() < 1970 {
		return time.Time{}
	}
	return t.UTC()
}

// maxName limits names, in bytes.
const maxName = 2048

// checkNames returns an error for text that not every database can store or that is not fit to show.
func checkNames(names ...string) error {
	for _, name := range names {
		if len(name) > maxName || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
			return fmt.Errorf("name %.80q is too long or has control characters", name)
		}
	}
	return nil
}
