package config

import (
	"cmp"
	"maps"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/editing"
	"github.com/kalypso-io/kalypso/internal/text/schemas"
)

// CheckEdits returns a problem for each value of the ConfigMaps that differs between two states of an environment, and that
// the author of the difference may not change: see package editing. It also refuses changes of the rights themselves.
//
// sources are the repositories and branches that the change is about, as in [fleet.Position]. Other differences, such as those of
// a promotion, were checked when they were made.
//
// Only ConfigSchemas give rights, not the schemas that applications write. A ConfigSchema covers the ConfigMaps
// that it can apply together with: those that do not require another value of the same label.
func CheckEdits(author editing.Author, before, after *fleet.Snapshot, sources ...string) []fleet.Problem {
	g := newGuard(before)
	if len(g.rules) == 0 {
		return nil
	}
	labels := map[fleet.Ref][]map[string]string{}
	var edits []editing.Edit
	was, is := configMaps(before), configMaps(after)
	for _, name := range slices.Sorted(maps.Keys(union(was, is))) {
		a, b := was[name], is[name]
		if a != nil && b != nil && a.Digest == b.Digest {
			continue
		}
		for _, l := range editsOf(a, b) {
			edits = append(edits, l.edits...)
			labels[l.ref] = append(labels[l.ref], l.labels)
		}
	}
	problems := editing.Judge(author, edits, func(e editing.Edit) []*editing.Rule { return g.covering(labels[e.Object]) })
	problems = append(problems, g.schemaEdits(author, after)...)
	return slices.DeleteFunc(fleet.SortProblems(problems), func(p fleet.Problem) bool { return !slices.Contains(sources, p.Position.Source) })
}

func union[T any](a, b map[string]T) map[string]T {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

func configMaps(s *fleet.Snapshot) map[string]*fleet.ConfigMap {
	all := map[string]*fleet.ConfigMap{}
	for _, c := range s.Configs {
		all[c.Name] = c
	}
	return all
}

// Editors returns who may set each key that a ConfigSchema gives rights for, sorted. Schemas of applications give none.
func Editors(s *fleet.Schema, keys []string) map[string][]string {
	sch := compile(s)
	if sch.broken != nil { // reported elsewhere
		return nil
	}
	editors := map[string][]string{}
	for _, key := range keys {
		if names := sch.editors([]string{key}); len(names) > 0 {
			editors[key] = names
		}
	}
	return editors
}

// editorsOf returns who may set the value at a path. The result can be called by several goroutines.
func editorsOf(source *fleet.Schema, compiled *jsonschema.Schema) func(path []string) []string {
	if source.Inline {
		return func([]string) []string { return nil }
	}
	return func(path []string) []string { return editing.NewRule("", compiled).Editors(path) }
}

// guard has the ConfigSchemas that declare rights.
type guard struct {
	schemas []*fleet.Schema
	rules   []*editing.Rule
	// declared are the declarations of each rule; nil if they cannot be listed.
	declared [][]schemas.Declaration
}

func newGuard(s *fleet.Snapshot) *guard {
	g := &guard{}
	for _, source := range s.Schemas {
		if source.Inline {
			continue
		}
		sch := compile(source)
		if sch.broken != nil { // it is reported elsewhere, and holds what it applies to
			continue
		}
		rule := editing.NewRule("ConfigSchema "+source.Name, sch.compiled)
		declared, err := rule.Declared()
		if err == nil && len(declared) == 0 {
			continue
		}
		g.schemas, g.rules, g.declared = append(g.schemas, source), append(g.rules, rule), append(g.declared, declared)
	}
	return g
}

// covering returns the rules that can apply where a ConfigMap with one of the labels does.
func (g *guard) covering(labels []map[string]string) []*editing.Rule {
	var rules []*editing.Rule
	for i, sch := range g.schemas {
		if slices.ContainsFunc(labels, func(l map[string]string) bool { return together(sch.Labels, l) }) {
			rules = append(rules, g.rules[i])
		}
	}
	return rules
}

// together reports whether two sets of labels do not exclude each other.
func together(a, b map[string]string) bool {
	for key, value := range a {
		if other, ok := b[key]; ok && other != value {
			return false
		}
	}
	return true
}

// layerEdits are the edits of one layer.
type layerEdits struct {
	ref    fleet.Ref
	labels map[string]string
	edits  []editing.Edit
}

// editsOf compares two states of a ConfigMap, of which one may be nil. If more than its values changed, such as its labels, all
// values are removed where they were and added where they are.
func editsOf(was, is *fleet.ConfigMap) []layerEdits {
	var all []layerEdits
	layersOf := func(c *fleet.ConfigMap) []*layer {
		if c == nil {
			return nil
		}
		return newLayers([]*fleet.ConfigMap{c})
	}
	before, after := layersOf(was), layersOf(is)
	moved := was != nil && is != nil && (was.Replace != is.Replace || was.Store != is.Store || was.Expressions != is.Expressions)
	for _, a := range before {
		i := slices.IndexFunc(after, func(b *layer) bool { return !moved && maps.Equal(a.labels, b.labels) })
		if i < 0 {
			all = append(all, compareLayerValues(a, nil))
			continue
		}
		all = append(all, compareLayerValues(a, after[i]))
		after = slices.Delete(after, i, i+1)
	}
	for _, b := range after {
		all = append(all, compareLayerValues(nil, b))
	}
	return all
}

// leafValue is one leaf of a layer.
type leafValue struct {
	path []schemas.Step
	key  string
	node *node
}

// compareLayerValues compares the leaves of two states of a layer.
func compareLayerValues(was, is *layer) layerEdits {
	some := cmp.Or(is, was)
	found := layerEdits{ref: some.ref(), labels: some.labels}
	before, after := was.leaves(), is.leaves()
	for _, key := range slices.Sorted(maps.Keys(union(before, after))) {
		a, b := before[key], after[key]
		e := editing.Edit{Verb: editing.Changed, Object: found.ref}
		at := b
		switch {
		case a.node == nil:
			e.Verb = editing.Added
		case b.node == nil:
			e.Verb, at = editing.Removed, a
		case a.node.same(b.node) && sameBoolean(a.node, b.node):
			continue
		}
		e.Path, e.Key, e.Position = at.path, at.key, at.node.place().Position
		e.Opaque = true // also text: it replaces a map of the layers below
		found.edits = append(found.edits, e)
	}
	found.edits = append(found.edits, reordered(was, is, found.ref)...)
	found.edits = append(found.edits, replaced(was, is, found.ref)...)
	return found
}

func sameBoolean(a, b *node) bool {
	if a.boolean == nil || b.boolean == nil {
		return a.boolean == b.boolean
	}
	return *a.boolean == *b.boolean
}

// replaced returns an edit for each key that only one state of a replacing layer has: it removes everything below it.
func replaced(was, is *layer, ref fleet.Ref) []editing.Edit {
	if !cmp.Or(is, was).config.Replace {
		return nil
	}
	before, after := was.keys(), is.keys()
	var edits []editing.Edit
	for _, key := range slices.Sorted(maps.Keys(union(before, after))) {
		n, verb := after[key], editing.Added
		switch {
		case n != nil && before[key] != nil:
			continue
		case n == nil:
			n, verb = before[key], editing.Removed
		}
		if !n.leaf() { // a leaf is an edit of its own
			edits = append(edits, editing.Edit{Path: []schemas.Step{{Field: key}}, Key: segment(key), Verb: verb, Opaque: true, Object: ref, Position: n.place().Position})
		}
	}
	return edits
}

// keys returns the values of a layer. A nil layer has none.
func (l *layer) keys() map[string]*node {
	all := map[string]*node{}
	if l != nil {
		for _, e := range l.entries {
			all[e.key] = e.value
		}
	}
	return all
}

// reordered returns an edit for each list whose named elements are in another order: their leaves have the same names and values.
func reordered(was, is *layer, ref fleet.Ref) []editing.Edit {
	before, after := was.lists(), is.lists()
	var edits []editing.Edit
	for _, key := range slices.Sorted(maps.Keys(after)) {
		a, b := before[key], after[key]
		if a.node == nil {
			continue
		}
		old, now := elementNames(a.node.items), elementNames(b.node.items)
		kept := func(in []string) func(string) bool {
			return func(name string) bool { return !slices.Contains(in, name) }
		}
		if slices.Equal(slices.DeleteFunc(slices.Clone(old), kept(now)), slices.DeleteFunc(slices.Clone(now), kept(old))) {
			continue
		}
		edits = append(edits, editing.Edit{Path: b.path, Key: key, Verb: editing.Changed, Opaque: true, Object: ref, Position: b.node.place().Position})
	}
	return edits
}

// lists returns the lists of a layer by their keys. A nil layer has none.
func (l *layer) lists() map[string]leafValue {
	all := map[string]leafValue{}
	if l == nil {
		return all
	}
	var visit func(n *node, path []schemas.Step, key string)
	visit = func(n *node, path []schemas.Step, key string) {
		for _, field := range n.keys() {
			visit(n.fields[field], append(path, schemas.Step{Field: field}), key+"."+segment(field))
		}
		if len(n.items) == 0 {
			return
		}
		all[key] = leafValue{slices.Clone(path), key, n}
		for i, name := range elementNames(n.items) {
			visit(n.items[i], append(path, schemas.Step{Item: true}), key+"["+name+"]")
		}
	}
	for _, e := range l.entries {
		visit(e.value, []schemas.Step{{Field: e.key}}, segment(e.key))
	}
	return all
}

// leaves returns the leaves of a layer by their keys. A nil layer has none.
func (l *layer) leaves() map[string]leafValue {
	all := map[string]leafValue{}
	if l == nil {
		return all
	}
	for _, e := range l.entries {
		e.value.eachStep([]schemas.Step{{Field: e.key}}, segment(e.key), func(path []schemas.Step, key string, leaf *node) {
			all[key] = leafValue{slices.Clone(path), key, leaf}
		})
	}
	return all
}

// eachStep is like eachLeaf, and also passes the path in steps.
func (n *node) eachStep(path []schemas.Step, key string, f func(path []schemas.Step, key string, leaf *node)) {
	if n.leaf() {
		f(path, key, n)
		return
	}
	for _, field := range n.keys() {
		n.fields[field].eachStep(append(path, schemas.Step{Field: field}), key+"."+segment(field), f)
	}
	names := elementNames(n.items)
	for i, item := range n.items {
		item.eachStep(append(path, schemas.Step{Item: true}), key+"["+names[i]+"]", f)
	}
}

// schemaEdits refuses changes of rights by authors who do not have them.
func (g *guard) schemaEdits(author editing.Author, after *fleet.Snapshot) []fleet.Problem {
	now := map[string]*fleet.Schema{}
	for _, s := range after.Schemas {
		if !s.Inline {
			now[s.Name] = s
		}
	}
	var problems []fleet.Problem
	for i, was := range g.schemas {
		is := now[was.Name]
		if is != nil && is.Digest == was.Digest {
			continue
		}
		for _, d := range g.lost(i, is) {
			if author.In(d.Names) {
				continue
			}
			at := was.Position
			if is != nil {
				at = is.Position
			}
			problems = append(problems, fleet.Problem{
				Severity: fleet.SeverityError, Kind: fleet.KindEditRight, Object: fleet.Ref{Kind: "ConfigSchema", Name: was.Name}, Position: at,
				Message: "the change takes away that " + schemas.PathText(d.Path) + " is editable by " + editing.Names(d.Names) + " only; " + author.String(),
				Hint:    "let " + editing.Names(d.Names) + " open the pull request, or keep editableBy",
			})
		}
	}
	return problems
}

// lost returns the declarations of a rule that do not hold any more, or not for the same values. Rights that are added are
// lost ones only where they replace others.
func (g *guard) lost(i int, is *fleet.Schema) []schemas.Declaration {
	if is == nil || !maps.Equal(is.Labels, g.schemas[i].Labels) {
		return g.declared[i]
	}
	sch := compile(is)
	if sch.broken != nil {
		return g.declared[i]
	}
	rule := editing.NewRule("", sch.compiled)
	declared, err := rule.Declared()
	if err != nil {
		return g.declared[i]
	}
	var lost []schemas.Declaration
	for _, d := range g.declared[i] {
		same := func(o schemas.Declaration) bool {
			return slices.Equal(o.Path, d.Path) && slices.Equal(o.Names, d.Names) && o.Among == d.Among
		}
		if !slices.ContainsFunc(declared, same) {
			lost = append(lost, d)
		}
	}
	for _, d := range declared { // a new declaration replaces the one around it
		was, err := g.rules[i].Of(editing.Edit{Path: d.Path, Key: schemas.PathText(d.Path)})
		if err != nil || len(was) == 0 || slices.Equal(was[0].Names, d.Names) {
			continue
		}
		if !slices.ContainsFunc(lost, func(o schemas.Declaration) bool { return slices.Equal(o.Path, d.Path) }) {
			lost = append(lost, schemas.Declaration{Path: d.Path, Names: was[0].Names})
		}
	}
	return lost
}

// Owners returns the files of a source that hold values with edit rights.
func Owners(s *fleet.Snapshot, source string) ([]editing.FileOwners, error) {
	g := newGuard(s)
	var failed error
	files := editing.Collect(func(note func(string, editing.Editors)) {
		for _, l := range newLayers(s.Configs) {
			if l.config.Position.Source != source {
				continue
			}
			rules := g.covering([]map[string]string{l.labels})
			for _, leaf := range l.leaves() {
				for _, r := range rules {
					all, err := r.Of(editing.Edit{Path: leaf.path, Key: leaf.key, Opaque: leaf.node.kind != scalar || leaf.node.formula != nil})
					if failed == nil {
						failed = err
					}
					for _, e := range all {
						note(l.config.Position.File, e)
					}
				}
			}
		}
		for i, sch := range g.schemas { // who may change a value may change who may
			if sch.Position.Source == source {
				for _, d := range g.declared[i] {
					note(sch.Position.File, editing.Editors{Key: schemas.PathText(d.Path), Names: d.Names})
				}
			}
		}
	})
	return files, failed
}
