package config

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kalypso-io/kalypso/internal/text/schemas"
)

// want is a set of types that a schema asks for at one value.
type want uint8

const (
	wantText want = 1 << iota
	wantNumber
	wantBool
	wantOther
)

// maxSteps bounds the work of checking one configuration with one schema.
// A step applies one subschema to one value, or to one of its fields or elements.
const maxSteps = 200_000

// maxInPlace bounds the depth of references at one value. Without it, a schema that refers to itself
// would overflow the stack before it runs out of steps.
const maxInPlace = 500

var errSteps = errors.New("the schema refers to itself endlessly, or takes too many steps to check")

// survey walks a schema along the data before validation.
// It collects the types that are asked for at each string, and counts a lower bound of validation's steps:
// with references, a schema of ten lines can take billions.
type survey struct {
	wants map[*node]want
	steps int
}

// walk follows the paths of validation. depth counts the schemas applied to the same value.
// It may take more paths, such as both "then" and "else", but never fewer.
func (v *survey) walk(s *jsonschema.Schema, n *node, depth int) error {
	v.steps += 1 + len(n.fields) + len(n.items)
	if v.steps > maxSteps || depth > maxInPlace {
		return errSteps
	}
	if _, isText := n.value.(string); n.kind == scalar && isText {
		v.wants[n] |= wantsOf(s)
	}
	for _, sub := range inPlace(s, n) {
		if err := v.walk(sub, n, depth+1); err != nil {
			return err
		}
	}
	for key, field := range n.fields {
		for _, sub := range ofProperty(s, key) {
			if err := v.walk(sub, field, 0); err != nil {
				return err
			}
		}
		if s.PropertyNames != nil {
			if err := v.walk(s.PropertyNames, &node{}, depth+1); err != nil {
				return err
			}
		}
	}
	for i, item := range n.items {
		for _, sub := range ofItem(s, i) {
			if err := v.walk(sub, item, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// wantsOf returns the types a schema asks for: by "type", or else by its values and limits.
func wantsOf(s *jsonschema.Schema) want {
	if s.Types != nil {
		var w want
		for _, name := range s.Types.ToStrings() {
			w |= wantOfType(name)
		}
		return w
	}
	var w want
	if s.Const != nil {
		w |= wantOfValue(*s.Const)
	}
	if s.Enum != nil {
		for _, value := range s.Enum.Values {
			w |= wantOfValue(value)
		}
	}
	if s.Minimum != nil || s.Maximum != nil || s.ExclusiveMinimum != nil || s.ExclusiveMaximum != nil || s.MultipleOf != nil {
		w |= wantNumber
	}
	return w
}

func wantOfType(name string) want {
	switch name {
	case "string":
		return wantText
	case "integer", "number":
		return wantNumber
	case "boolean":
		return wantBool
	default:
		return wantOther
	}
}

func wantOfValue(v any) want {
	switch v.(type) {
	case string:
		return wantText
	case json.Number:
		return wantNumber
	case bool:
		return wantBool
	default:
		return wantOther
	}
}

// inPlace returns the subschemas that apply to the same value.
func inPlace(s *jsonschema.Schema, n *node) []*jsonschema.Schema {
	subs := slices.Concat(s.AllOf, s.AnyOf, s.OneOf)
	for _, sub := range []*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else} {
		if sub != nil {
			subs = append(subs, sub)
		}
	}
	for key, sub := range s.DependentSchemas {
		if n.fields[key] != nil {
			subs = append(subs, sub)
		}
	}
	for key, dependency := range s.Dependencies {
		if sub, ok := dependency.(*jsonschema.Schema); ok && n.fields[key] != nil {
			subs = append(subs, sub)
		}
	}
	return subs
}

// ofProperty returns the subschemas that apply to a field.
func ofProperty(s *jsonschema.Schema, key string) []*jsonschema.Schema {
	var subs []*jsonschema.Schema
	if sub, ok := s.Properties[key]; ok {
		subs = append(subs, sub)
	}
	for pattern, sub := range s.PatternProperties {
		if pattern.MatchString(key) {
			subs = append(subs, sub)
		}
	}
	if len(subs) > 0 {
		return subs
	}
	if sub, ok := s.AdditionalProperties.(*jsonschema.Schema); ok {
		subs = append(subs, sub)
	}
	if s.UnevaluatedProperties != nil {
		subs = append(subs, s.UnevaluatedProperties)
	}
	return subs
}

// ofItem returns the subschemas that apply to a list element.
func ofItem(s *jsonschema.Schema, i int) []*jsonschema.Schema {
	var subs []*jsonschema.Schema
	add := func(sub any) {
		if sub, ok := sub.(*jsonschema.Schema); ok && sub != nil {
			subs = append(subs, sub)
		}
	}
	tuple, isTuple := s.Items.([]*jsonschema.Schema)
	if !isTuple {
		tuple = s.PrefixItems
		add(s.Items)
	}
	if i < len(tuple) {
		add(tuple[i])
	} else {
		add(s.Items2020)
		add(s.AdditionalItems)
	}
	add(s.Contains)
	add(s.UnevaluatedItems)
	return subs
}

// as converts text to the type that is asked for. It returns false if it cannot.
func (w want) as(text string) (any, bool) {
	switch {
	case w&wantNumber != 0 && schemas.Number.MatchString(text):
		return json.Number(text), true
	case w&wantBool != 0 && (text == "true" || text == "false"):
		return text == "true", true
	}
	return nil, false
}

// instance returns the data to validate, with strings converted to the type that is asked for.
// Where a string is allowed as well, the value is converted only if the leaf is in flipped.
func (v *survey) instance(n *node, flipped map[*node]bool) any {
	switch n.kind {
	case mapping:
		data := make(map[string]any, len(n.fields))
		for key, field := range n.fields {
			data[key] = v.instance(field, flipped)
		}
		return data
	case list:
		data := make([]any, len(n.items))
		for i, item := range n.items {
			data[i] = v.instance(item, flipped)
		}
		return data
	}
	text, isText := n.value.(string)
	w := v.wants[n]
	if isText && (w&wantText == 0 || flipped[n]) {
		if typed, ok := w.as(text); ok {
			return typed
		}
	}
	return n.value
}

// ambiguous returns the strings at or below n that are valid both as a string and as another type that is asked for.
func (v *survey) ambiguous(n *node) []*node {
	var found []*node
	n.eachLeaf("", func(_ string, leaf *node) {
		text, isText := leaf.value.(string)
		if w := v.wants[leaf]; isText && w&wantText != 0 {
			if _, ok := w.as(text); ok {
				found = append(found, leaf)
			}
		}
	})
	return found
}
