package schemas

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Limits of [Fields].
const (
	maxFields     = 500
	maxFieldDepth = 16
)

// Field is a value that a schema describes, with what a user must know to enter it.
type Field struct {
	// Path has the keys that lead to it. Key is the path as users write it, with dots.
	Path []string `json:"-"`
	Key  string   `json:"key"`
	// Title and Help are the schema's title and description; optional.
	Title string `json:"title,omitempty"`
	Help  string `json:"help,omitempty"`
	// Types are the allowed JSON types; empty for any.
	Types []string `json:"types,omitempty"`
	// Allowed lists the values that the schema allows; empty if it allows any.
	Allowed []any `json:"allowed,omitempty"`
	// Rules say what else a value must be: "at least 1".
	Rules []string `json:"rules,omitempty"`
	// Default is what the schema gives as the default; nil if it gives none. It is not applied.
	Default any `json:"default,omitempty"`
	// Required means that the configuration is not valid without it.
	Required bool `json:"required,omitempty"`
	// Secret means that the value must not be shown.
	Secret bool `json:"secret,omitempty"`
	// ReadOnly means that users must not set it.
	ReadOnly bool `json:"readOnly,omitempty"`
}

// Fields returns the values that a schema describes by name, sorted by key: those without named values below them. more reports that
// there are others. What only some alternatives of the schema have is included, without their rules.
func Fields(s *jsonschema.Schema) (fields []Field, more bool, err error) {
	w := &fieldWalk{rights: NewRights(s), above: map[*jsonschema.Schema]bool{}}
	if err := w.visit([]*jsonschema.Schema{s}, nil, false); err != nil {
		return nil, false, err
	}
	slices.SortFunc(w.fields, func(a, b Field) int { return cmp.Compare(a.Key, b.Key) })
	return w.fields, w.more, nil
}

type fieldWalk struct {
	rights *Rights
	above  map[*jsonschema.Schema]bool
	fields []Field
	more   bool
}

// visit adds the fields at and below the schemas of one value.
func (w *fieldWalk) visit(at []*jsonschema.Schema, path []string, required bool) error {
	all, err := w.rights.inPlace(at)
	if err != nil || w.more {
		return err
	}
	names := map[string]bool{}
	for _, s := range all {
		if w.above[s] {
			continue
		}
		w.above[s] = true
		defer delete(w.above, s)
		for name := range s.Properties {
			names[name] = true
		}
	}
	if len(names) == 0 || len(path) == maxFieldDepth {
		if len(path) > 0 {
			w.add(certain(at), path, required)
		}
		return nil
	}
	needed := map[string]bool{}
	for _, s := range certain(at) {
		for _, name := range s.Required {
			needed[name] = len(path) == 0 || required
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if err := w.visit(below(all, Step{Field: name}), append(slices.Clone(path), name), needed[name]); err != nil {
			return err
		}
	}
	return nil
}

func (w *fieldWalk) add(at []*jsonschema.Schema, path []string, required bool) {
	if len(w.fields) == maxFields {
		w.more = true
		return
	}
	f := Field{Path: path, Key: keyText(path), Required: required}
	for _, s := range at {
		f.describe(s)
	}
	w.fields = append(w.fields, f)
}

// certain returns the schemas that apply to a value in any case, the closest first.
func certain(at []*jsonschema.Schema) []*jsonschema.Schema {
	var all []*jsonschema.Schema
	for len(at) > 0 && len(all) < maxFields {
		s := at[0]
		at = at[1:]
		if s == nil || slices.Contains(all, s) {
			continue
		}
		all = append(all, s)
		at = append(slices.Concat([]*jsonschema.Schema{s.Ref}, s.AllOf), at...)
	}
	return all
}

// describe adds what one schema says.
func (f *Field) describe(s *jsonschema.Schema) {
	f.Title, f.Help = cmp.Or(f.Title, s.Title), cmp.Or(f.Help, s.Description)
	if types := s.Types; types != nil && !types.IsEmpty() {
		f.Types = types.ToStrings()
	}
	if s.Enum != nil {
		f.Allowed = s.Enum.Values
	}
	if s.Const != nil {
		f.Allowed = []any{*s.Const}
	}
	if f.Default == nil && s.Default != nil {
		f.Default = *s.Default
	}
	f.Secret, f.ReadOnly = f.Secret || s.WriteOnly || s.Format != nil && s.Format.Name == "password", f.ReadOnly || s.ReadOnly
	for text, limit := range map[string]*big.Rat{
		"at least ": s.Minimum, "at most ": s.Maximum, "more than ": s.ExclusiveMinimum, "less than ": s.ExclusiveMaximum, "a multiple of ": s.MultipleOf,
	} {
		if limit != nil {
			f.rule(text + number(limit))
		}
	}
	for text, limit := range map[string]*int{
		"at least %d characters": s.MinLength, "at most %d characters": s.MaxLength, "at least %d elements": s.MinItems, "at most %d elements": s.MaxItems,
	} {
		if limit != nil {
			f.rule(fmt.Sprintf(text, *limit))
		}
	}
	if s.Pattern != nil {
		f.rule("matches " + s.Pattern.String())
	}
	if s.Format != nil && s.Format.Name != "password" {
		f.rule("a valid " + s.Format.Name)
	}
	if s.UniqueItems {
		f.rule("no element twice")
	}
	slices.Sort(f.Rules)
}

func (f *Field) rule(text string) {
	if !slices.Contains(f.Rules, text) {
		f.Rules = append(f.Rules, text)
	}
}

// keyText formats keys as a path that users write. Keys with dots are quoted.
func keyText(path []string) string {
	steps := make([]Step, len(path))
	for i, key := range path {
		steps[i] = Step{Field: key}
	}
	return PathText(steps)
}

// Text reports whether only texts are allowed, so that what a user enters is taken literally.
func (f *Field) Text() bool {
	return len(f.Types) > 0 && !slices.ContainsFunc(f.Types, func(t string) bool { return t != "string" })
}
