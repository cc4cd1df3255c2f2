package plan

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// SourceChange is a difference in what a reconciler applies.
type SourceChange struct {
	// What is repository, branch, tag, commit, path, chart or version.
	What string `json:"what"`
	// Old and New are the values in all objects of the reconciler, each once; empty if there are none.
	Old string `json:"old,omitempty"`
	New string `json:"new,omitempty"`
}

// String says it in words: "path ./t1 -> ./".
func (c SourceChange) String() string {
	value := func(text string) string {
		if text == "" {
			return "(not set)"
		}
		return text
	}
	return fmt.Sprintf("%s %s -> %s", c.What, value(c.Old), value(c.New))
}

const reconcilerFile = "reconciler.yaml"

// sourceFields are the fields of reconcilers' objects that say what is applied, and what they are called in plans, in their order there.
var sourceFields = []struct {
	what   string
	fields []string
}{
	{"repository", []string{"url", "repoURL", "repo"}},
	{"branch", []string{"branch", "targetRevision"}},
	{"tag", []string{"tag", "semver"}},
	{"commit", []string{"commit", "digest", "revision"}},
	{"path", []string{"path", "paths"}},
	{"chart", []string{"chart"}},
	{"version", []string{"version"}},
}

// sourceChanges returns the differences between two files of a reconciler.
func sourceChanges(old, now []byte) []SourceChange {
	if len(old) == 0 || len(now) == 0 {
		return nil
	}
	was, is := sourcesIn(old), sourcesIn(now)
	var changes []SourceChange
	for _, f := range sourceFields {
		if before, after := strings.Join(was[f.what], ", "), strings.Join(is[f.what], ", "); before != after {
			changes = append(changes, SourceChange{f.what, before, after})
		}
	}
	return changes
}

// sourcesIn returns what the objects of a file say about their sources.
func sourcesIn(text []byte) map[string][]string {
	found := map[string][]string{}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var d struct{ Spec yaml.Node }
		if decoder.Decode(&d) != nil {
			return found
		}
		addSources(&d.Spec, found)
	}
}

func addSources(n *yaml.Node, found map[string][]string) {
	if n.Kind != yaml.MappingNode {
		for _, child := range n.Content {
			addSources(child, found)
		}
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i].Value, n.Content[i+1]
		if addSources(value, found); value.Kind != yaml.ScalarNode {
			continue
		}
		for _, f := range sourceFields {
			if slices.Contains(f.fields, key) && value.Value != "" && !slices.Contains(found[f.what], value.Value) {
				found[f.what] = append(found[f.what], value.Value)
			}
		}
	}
}

// addSources adds what changes in the sources of the reconciler.
func (c *Change) addSources(file string, old, now []byte) {
	if c.Op == Changed && path.Base(file) == reconcilerFile {
		c.Sources = append(c.Sources, sourceChanges(old, now)...)
	}
}
