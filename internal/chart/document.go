package chart

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"unicode"

	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	sigs "sigs.k8s.io/yaml"
)

// document is a document of a file, parsed once.
type document struct {
	source, text string
	// fields is nil for a document with only comments.
	fields map[string]any
}

// split divides a text as Helm does, without the documents that are empty.
func split(text string) []string {
	if !strings.Contains(text, "---") { // nearly always: searching for separators takes a tenth of the time of parsing
		if text = strings.TrimLeftFunc(text, unicode.IsSpace); text == "" {
			return nil
		}
		return []string{text}
	}
	documents := releaseutil.SplitManifests(text)
	names := slices.Collect(maps.Keys(documents))
	sort.Sort(releaseutil.BySplitManifestsOrder(names))
	texts := make([]string, len(names))
	for i, name := range names {
		texts[i] = documents[name]
	}
	return texts
}

// read reads a document.
func read(source, text string) (document, error) {
	d := document{source: source, text: text}
	var data any
	if err := unmarshal([]byte(text), &data); err != nil {
		return d, fmt.Errorf("%s: what it makes is not valid YAML: %w", source, plain(err))
	}
	fields, ok := data.(map[string]any)
	if data != nil && !ok {
		return d, fmt.Errorf("%s: what it makes is not a Kubernetes object: it begins with %.40q", source, text)
	}
	d.fields = fields
	return d, nil
}

// unmarshal decodes YAML. The parser is known to panic on some invalid input.
func unmarshal(content []byte, into any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the YAML parser gave up: %v", r)
		}
	}()
	return sigs.Unmarshal(content, into)
}

func (d document) kind() string { return text(d.fields, "kind") }

func text(fields map[string]any, key string) string {
	s, _ := fields[key].(string)
	return s
}
