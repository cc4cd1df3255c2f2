package render

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// verdict is the result of checking rendered documents. It holds for all outputs with the same trace.
type verdict struct {
	broken   *finding // why the documents are not valid; nil if they are
	warnings []finding
	// spots are the places of values that can differ between outputs, and so are checked for each.
	spots []spot
	// unsteady means that a value's place can differ between outputs, so that the verdict holds for this output only.
	unsteady bool

	// Only while judging: the text, and its lines that can differ between outputs.
	text  []byte
	words map[int]bool
}

// finding is a problem of a rendered text. It never quotes text that can contain a printed plain word.
type finding struct {
	line    int // in the rendered text
	kind    fleet.ProblemKind
	message string
	hint    string
}

// maxVerdicts bounds the cached verdicts of one manifest.
const maxVerdicts = 1 << 16

// verdicts caches the verdicts on the output of one manifest, by the trace of the execution.
// All workers share it.
type verdicts struct {
	mu     sync.RWMutex
	by     map[[32]byte]*verdict
	judged int // number of parsed texts
}

// of returns the verdict on the output of an execution with the given trace.
func (v *verdicts) of(t *trace, text []byte) *verdict {
	sum := t.sum()
	v.mu.RLock()
	known := v.by[sum]
	v.mu.RUnlock()
	if known != nil {
		return known
	}
	made := judge(text, t.lines(text))
	v.mu.Lock()
	defer v.mu.Unlock()
	v.judged++
	if made.unsteady {
		return made
	}
	if v.by == nil {
		v.by = map[[32]byte]*verdict{}
	}
	if len(v.by) >= maxVerdicts {
		clear(v.by) // a server renders for months
	}
	v.by[sum] = made
	return made
}

// judge parses and checks the documents of a text. words are the lines that can differ between outputs.
func judge(text []byte, words map[int]bool) *verdict {
	v := &verdict{text: text, words: words, unsteady: hasStrangeLines(text)}
	defer v.settle()
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var document yaml.Node
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return v
		}
		if err != nil {
			v.broken = syntaxFinding(err)
			return v
		}
		v.document(&document)
		if v.broken != nil {
			return v
		}
	}
}

// hasStrangeLines reports whether a text has YAML line breaks other than a newline.
func hasStrangeLines(text []byte) bool {
	return bytes.IndexByte(text, '\r') >= 0 || bytes.ContainsAny(text, "\u0085\u2028\u2029")
}

func syntaxFinding(err error) *finding {
	line, message := fleet.SyntaxError(err)
	return &finding{
		line: line, kind: fleet.KindTemplateOutput,
		message: "the output is not YAML: " + brief(message),
		hint:    "quote printed values (quote, toYaml) and check the indentation",
	}
}

func (v *verdict) document(document *yaml.Node) {
	root := document
	if root.Kind == yaml.DocumentNode && len(root.Content) == 1 {
		root = root.Content[0]
	}
	if root.Kind == 0 || root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return // only comments
	}
	if twice := duplicateKey(root); twice != nil {
		v.broken = &finding{
			line: twice.Line, kind: fleet.KindTemplateOutput,
			message: fmt.Sprintf("the output has the key %q twice in one map", brief(twice.Value)),
			hint:    "remove one of them; a cluster would refuse the document, or use either of the two",
		}
		return
	}
	v.object(root)
}

// object checks that a document is a Kubernetes object with a current API version.
func (v *verdict) object(root *yaml.Node) {
	version, kind := child(root, "apiVersion"), child(root, "kind")
	name := child(child(root, "metadata"), "name")
	for _, required := range []struct {
		key   string
		value *yaml.Node
	}{{"apiVersion", version}, {"kind", kind}, {"metadata.name", name}} {
		if !isText(required.value) {
			v.warnings = append(v.warnings, finding{
				line: root.Line, kind: fleet.KindTemplateOutput,
				message: fmt.Sprintf("the output is not a Kubernetes object: %s is not set to a string", required.key),
				hint:    "a manifest has apiVersion, kind and metadata.name",
			})
			return
		}
	}
	if replacement := replacements[version.Value]; replacement != "" {
		v.warnings = append(v.warnings, oldVersion(version.Line, version.Value, replacement))
	}
	v.rules(root)
}

func isText(n *yaml.Node) bool {
	return n != nil && n.Kind == yaml.ScalarNode && n.Tag == "!!str" && n.Value != ""
}

// child returns the value of a key of a map, or nil.
func child(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

// duplicateKey returns the second of two equal keys in one map, which the parser accepts, or nil.
func duplicateKey(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.MappingNode {
		seen := make(map[string]bool, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i]
			if key.Kind != yaml.ScalarNode {
				continue
			}
			if seen[key.Value] {
				return key
			}
			seen[key.Value] = true
		}
	}
	for _, c := range n.Content {
		if twice := duplicateKey(c); twice != nil {
			return twice
		}
	}
	return nil
}

// replacements maps API versions that current reconcilers no longer serve to their replacements.
var replacements = map[string]string{
	"source.toolkit.fluxcd.io/v1beta1":       "source.toolkit.fluxcd.io/v1",
	"source.toolkit.fluxcd.io/v1beta2":       "source.toolkit.fluxcd.io/v1",
	"kustomize.toolkit.fluxcd.io/v1beta1":    "kustomize.toolkit.fluxcd.io/v1",
	"kustomize.toolkit.fluxcd.io/v1beta2":    "kustomize.toolkit.fluxcd.io/v1",
	"helm.toolkit.fluxcd.io/v2beta1":         "helm.toolkit.fluxcd.io/v2",
	"helm.toolkit.fluxcd.io/v2beta2":         "helm.toolkit.fluxcd.io/v2",
	"notification.toolkit.fluxcd.io/v1beta1": "notification.toolkit.fluxcd.io/v1beta3 (Receiver: v1)",
	"notification.toolkit.fluxcd.io/v1beta2": "notification.toolkit.fluxcd.io/v1beta3 (Receiver: v1)",
	"image.toolkit.fluxcd.io/v1beta1":        "image.toolkit.fluxcd.io/v1",
	"image.toolkit.fluxcd.io/v1beta2":        "image.toolkit.fluxcd.io/v1",
}

func oldVersion(line int, version, replacement string) finding {
	return finding{
		line: line, kind: fleet.KindOldAPIVersion,
		message: fmt.Sprintf("current reconcilers no longer serve %s", version),
		hint:    fmt.Sprintf("use %s", replacement),
	}
}

// versionLine matches a template line with an API version.
var versionLine = regexp.MustCompile(`(?m)^[ -]*["']?apiVersion["']?:[ \t]*["']?([A-Za-z0-9./]+)`)

// writtenVersions returns the old API versions in the text of a template, which are reported once
// per template instead of once per assignment.
func writtenVersions(text string) []finding {
	var found []finding
	for _, m := range versionLine.FindAllStringSubmatchIndex(text, -1) {
		version := text[m[2]:m[3]]
		if replacement := replacements[version]; replacement != "" {
			found = append(found, oldVersion(1+strings.Count(text[:m[2]], "\n"), version, replacement))
		}
	}
	return found
}
