package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
	"github.com/kalypso-io/kalypso/internal/text/schemas"
)

// Field is a value that a ConfigMap has, or that a ConfigSchema describes where the ConfigMap can apply. The key of a value in a text that is
// a map has dots.
type Field struct {
	schemas.Field
	// Set means that the ConfigMap has the value: the text Value, at Position.
	Set      bool           `json:"set"`
	Value    string         `json:"value,omitempty"`
	Position fleet.Position `json:"position,omitzero"`
	// Nested means that the value is in a text that is a map, so that it has a YAML type.
	Nested bool `json:"nested,omitempty"`
	// Editors are the users and groups that may set it; empty if everyone may who may change the file.
	Editors []string `json:"editors,omitempty"`
}

// maxFields is the maximum number of fields of a ConfigMap.
const maxFields = 500

// Fields returns the values of a ConfigMap, sorted by key, and those that ConfigSchemas describe which can apply together with it. more
// reports that there are others.
func Fields(s *fleet.Snapshot, c *fleet.ConfigMap) (fields []Field, more bool, err error) {
	w := &fieldSet{all: map[string]Field{}, maps: map[string]bool{}}
	for _, e := range c.Entries {
		w.entry(e, c.Position)
	}
	for _, source := range s.Schemas {
		if source.Inline || c.Store || c.Expressions || !together(source.Labels, c.Labels) {
			continue
		}
		sch := compile(source)
		if sch.broken != nil { // reported elsewhere
			continue
		}
		described, left, err := schemas.Fields(sch.compiled)
		if err != nil {
			return nil, false, fmt.Errorf("ConfigSchema %s: %w", source.Name, err)
		}
		more = more || left
		for _, d := range described {
			w.describe(d)
		}
	}
	rules := newGuard(s).covering([]map[string]string{c.Labels})
	for _, key := range slices.Sorted(maps.Keys(w.all)) {
		if len(fields) == maxFields {
			return fields, true, nil
		}
		f := w.all[key]
		for _, r := range rules {
			f.Editors = append(f.Editors, r.Editors(f.Path)...)
		}
		slices.Sort(f.Editors)
		f.Editors = slices.Compact(f.Editors)
		fields = append(fields, f)
	}
	return fields, more, nil
}

// MayEdit reports whether an author may set a value, which needs the consent of every schema that covers it.
func MayEdit(s *fleet.Snapshot, c *fleet.ConfigMap, author editing.Author, path []string) bool {
	for _, r := range newGuard(s).covering([]map[string]string{c.Labels}) {
		if names := r.Editors(path); len(names) > 0 && !author.In(names) {
			return false
		}
	}
	return true
}

// fieldSet collects fields by key. maps are the keys whose texts are maps.
type fieldSet struct {
	all  map[string]Field
	maps map[string]bool
}

// entry adds a key of the ConfigMap or, if its text is a map, the values in it.
func (w *fieldSet) entry(e fleet.ConfigEntry, at fleet.Position) {
	if at.Line = e.Value.Line; e.Value.Kind != yaml.ScalarNode {
		return // it is not a text, and cannot be set by hand
	}
	var inner map[string]any
	if roots, _, err := fleet.ParseYAML([]byte(e.Value.Value), 2); err == nil && len(roots) == 1 && roots[0].Kind == yaml.MappingNode && roots[0].Decode(&inner) == nil && len(inner) > 0 {
		w.maps[e.Key] = true
		w.nested([]string{e.Key}, inner, at)
		return
	}
	w.all[e.Key] = Field{Field: schemas.Field{Path: []string{e.Key}, Key: e.Key}, Set: true, Value: e.Value.Value, Position: at}
}

func (w *fieldSet) nested(path []string, inner map[string]any, at fleet.Position) {
	for key, value := range inner {
		path := append(slices.Clone(path), key)
		if below, ok := value.(map[string]any); ok && len(below) > 0 {
			w.nested(path, below, at)
			continue
		}
		text, ok := value.(string)
		var types []string
		if ok {
			types = []string{"string"}
		} else {
			encoded, err := json.Marshal(value)
			if err != nil {
				continue // a map with keys that are not texts
			}
			text = string(encoded)
		}
		f := Field{Field: schemas.Field{Path: path, Key: nestedKey(path), Types: types}, Set: true, Value: text, Position: at, Nested: true}
		w.all[f.Key] = f
	}
}

// nestedKey is the key of a value in a text that is a map.
func nestedKey(path []string) string {
	key := path[0]
	for _, step := range path[1:] {
		key = key + "." + segment(step)
	}
	return key
}

// describe adds what a schema says of a value. A value in a map that the ConfigMap does not have is described by the key of the map.
func (w *fieldSet) describe(d schemas.Field) {
	if d.Key = nestedKey(d.Path); len(d.Path) > 1 && !w.maps[d.Path[0]] {
		d = schemas.Field{Path: d.Path[:1], Key: d.Path[0], Types: []string{"object"}, Required: d.Required, Help: "A map in YAML, with " + strings.Join(d.Path[1:], ".")}
		if was, ok := w.all[d.Key]; ok && was.Help != "" {
			d.Help = was.Help + ", " + strings.TrimPrefix(d.Help, "A map in YAML, with ")
		}
	}
	if len(d.Path) == 1 && w.maps[d.Key] {
		return // shown as the values in it
	}
	f, ok := w.all[d.Key]
	if ok {
		if len(d.Types) == 0 {
			d.Types = f.Types
		}
		d.Title, d.Help = cmp.Or(f.Title, d.Title), cmp.Or(d.Help, f.Help)
		d.Required, d.Secret, d.ReadOnly = d.Required || f.Required, d.Secret || f.Secret, d.ReadOnly || f.ReadOnly
		d.Rules = slices.Compact(slices.Sorted(slices.Values(slices.Concat(f.Rules, d.Rules))))
	}
	f.Field, f.Nested = d, len(d.Path) > 1
	w.all[d.Key] = f
}
