package values

import (
	"maps"
	"reflect"
	"slices"

	"github.com/kalypso-io/kalypso/internal/fleet/editing"
	"github.com/kalypso-io/kalypso/internal/text/schemas"
)

// Rule returns who may edit values, according to the schema.
func (s *Schema) Rule() *editing.Rule { return editing.NewRule("schema "+s.at.File, s.compiled) }

// Edits compares two states of a values file. A nil layer is a file that does not exist.
func Edits(was, is *Layer) []editing.Edit {
	before, after := was.written(), is.written()
	keys := maps.Clone(before)
	maps.Copy(keys, after)
	var edits []editing.Edit
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		a, b := before[key], after[key]
		e := editing.Edit{Key: key, Verb: editing.Changed}
		at := b
		switch {
		case a.leaf == nil:
			e.Verb = editing.Added
		case b.leaf == nil:
			e.Verb, at = editing.Removed, a
		case reflect.DeepEqual(a.leaf.value, b.leaf.value):
			continue
		}
		e.Path, e.Position = at.path, at.leaf.at
		e.Opaque = true // also text: it replaces a map of another file or of the chart
		edits = append(edits, e)
	}
	return edits
}

// Rights returns who may change each value of a layer.
func (l *Layer) Rights(rules []*editing.Rule, note func(editing.Editors)) error {
	for _, e := range Edits(nil, l) {
		for _, r := range rules {
			all, err := r.Of(e)
			if err != nil {
				return err
			}
			for _, editors := range all {
				note(editors)
			}
		}
	}
	return nil
}

// writtenValue is a leaf of a layer.
type writtenValue struct {
	path []schemas.Step
	leaf *node
}

// written returns the leaves of a layer by their paths.
func (l *Layer) written() map[string]writtenValue {
	all := map[string]writtenValue{}
	if l != nil {
		l.root.eachStep("", nil, func(key string, path []schemas.Step, leaf *node) {
			if key != "" { // an empty layer
				all[key] = writtenValue{slices.Clone(path), leaf}
			}
		})
	}
	return all
}

// eachStep is like eachLeaf, and also passes the path in steps.
func (n *node) eachStep(key string, path []schemas.Step, f func(key string, path []schemas.Step, leaf *node)) {
	if n.fields == nil {
		f(key, path, n)
		return
	}
	for _, field := range n.keys() {
		n.fields[field].eachStep(Join(key, field), append(path, schemas.Step{Field: field}), f)
	}
}
