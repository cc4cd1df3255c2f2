package schemas

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// EditableBy is the keyword that says who may change a value: a list of users and groups. It checks no value.
const EditableBy = "editableBy"

// Limits of editableBy.
const (
	maxEditors    = 100
	maxEditorName = 253
	// maxEditSteps bounds the work for one value: schemas with references repeat themselves.
	maxEditSteps = 100_000
)

// editors is the compiled keyword.
type editors struct{ names []string }

// Validate accepts every value.
func (editors) Validate(*jsonschema.ValidatorContext, any) {}

func compileEditors(_ *jsonschema.CompilerContext, schema map[string]any) (jsonschema.SchemaExt, error) {
	written, ok := schema[EditableBy]
	if !ok {
		return nil, nil
	}
	list, ok := written.([]any)
	if !ok || len(list) == 0 || len(list) > maxEditors {
		return nil, fmt.Errorf("%s must be a list of 1 to %d users and groups, got %s", EditableBy, maxEditors, Show(written))
	}
	e := editors{}
	for _, item := range list {
		name, ok := item.(string)
		if !ok || name == "" || len(name) > maxEditorName || strings.TrimSpace(name) != name || strings.ContainsFunc(name, isControl) {
			return nil, fmt.Errorf("%s has %s, which is not the name of a user or group", EditableBy, Show(item))
		}
		e.names = append(e.names, name)
	}
	slices.Sort(e.names)
	e.names = slices.Compact(e.names)
	return e, nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// editorsVocabulary adds the keyword to schemas of every draft.
var editorsVocabulary = &jsonschema.Vocabulary{URL: "https://kalypso.io/vocabularies/editable-by", Compile: compileEditors}

// Step leads from a value to one below it: to the field of a map or, without a name, to an element of a list.
type Step struct {
	Field string
	Item  bool
}

// Rights answers who may change which values, according to a schema. It is not safe for concurrent use.
type Rights struct {
	root  *jsonschema.Schema
	steps int
}

// ErrEditSteps is returned for a schema that takes too long to search for editableBy.
var ErrEditSteps = errors.New("the schema takes too many steps to find who may edit a value")

// NewRights returns the rights that a schema declares.
func NewRights(s *jsonschema.Schema) *Rights { return &Rights{root: s} }

// Editors returns the users and groups that may change the value at a path; nil if everyone may.
//
// The declaration closest to the value counts, that of the value itself or of the nearest map or list around it.
// If several subschemas of one value declare it, only those that all of them name may change it.
func (r *Rights) Editors(path []Step) (names []string, restricted bool, err error) {
	r.steps = 0
	at := []*jsonschema.Schema{r.root}
	for i := 0; ; i++ {
		if at, err = r.inPlace(at); err != nil {
			return nil, false, err
		}
		if declared, ok := declaredBy(at); ok {
			names, restricted = declared, true
		}
		if i == len(path) {
			return names, restricted, nil
		}
		at = below(at, path[i])
	}
}

// Declaration is one editableBy of a schema.
type Declaration struct {
	// Path leads to the values it is about. A field without a fixed name is "*".
	Path  []Step
	Names []string
	// Among tells apart which fields each "*" in the path stands for: the patterns, and the fields that have schemas of their own.
	Among string
}

// Declarations returns every editableBy at or below a path, in the order of the paths. Recursive schemas are entered once.
func (r *Rights) Declarations(path []Step) ([]Declaration, error) {
	r.steps = 0
	at, err := r.inPlace([]*jsonschema.Schema{r.root})
	for _, step := range path {
		if err != nil {
			return nil, err
		}
		at, err = r.inPlace(below(at, step))
	}
	if err != nil {
		return nil, err
	}
	var all []Declaration
	err = r.collect(at, slices.Clone(path), "", map[*jsonschema.Schema]bool{}, &all)
	slices.SortFunc(all, func(a, b Declaration) int { return strings.Compare(PathText(a.Path), PathText(b.Path)) })
	return all, err
}

// collect adds the declarations at and below schemas of one value.
func (r *Rights) collect(at []*jsonschema.Schema, path []Step, among string, above map[*jsonschema.Schema]bool, all *[]Declaration) error {
	if names, ok := declaredBy(at); ok {
		*all = append(*all, Declaration{slices.Clone(path), names, among})
	}
	fields := map[Step]bool{}
	entered := false
	for _, s := range at {
		if above[s] {
			continue
		}
		above[s], entered = true, true
		defer delete(above, s)
		for name := range s.Properties {
			fields[Step{Field: name}] = true
		}
		if len(s.PatternProperties) > 0 || isSchema(s.AdditionalProperties) || s.UnevaluatedProperties != nil {
			fields[Step{Field: "*"}] = true
		}
		if s.Items != nil || s.Items2020 != nil || len(s.PrefixItems) > 0 || s.AdditionalItems != nil || s.UnevaluatedItems != nil {
			fields[Step{Item: true}] = true
		}
	}
	if !entered {
		return nil
	}
	for step := range fields {
		next, err := r.inPlace(below(at, step))
		if err != nil {
			return err
		}
		inner := among
		if step.Field == "*" {
			inner += fmt.Sprintf("%q", amongOf(at))
		}
		if err := r.collect(next, append(path, step), inner, above, all); err != nil {
			return err
		}
	}
	return nil
}

// amongOf describes which fields schemas of one value cover without naming them.
func amongOf(at []*jsonschema.Schema) []string {
	var all []string
	for _, s := range at {
		var fields []string
		for pattern, sub := range s.PatternProperties {
			names, _ := declaredBy([]*jsonschema.Schema{sub})
			fields = append(fields, fmt.Sprintf("pattern %q %q", pattern, names))
		}
		if isSchema(s.AdditionalProperties) || s.UnevaluatedProperties != nil {
			for name := range s.Properties {
				fields = append(fields, fmt.Sprintf("but %q", name))
			}
		}
		if len(fields) > 0 {
			slices.Sort(fields)
			all = append(all, strings.Join(fields, " "))
		}
	}
	slices.Sort(all)
	return all
}

func isSchema(v any) bool {
	s, ok := v.(*jsonschema.Schema)
	return ok && s != nil
}

// inPlace returns schemas with all that apply, or may apply, to the same value.
func (r *Rights) inPlace(at []*jsonschema.Schema) ([]*jsonschema.Schema, error) {
	seen := map[*jsonschema.Schema]bool{}
	var all []*jsonschema.Schema
	for len(at) > 0 {
		s := at[len(at)-1]
		at = at[:len(at)-1]
		if r.steps++; r.steps > maxEditSteps {
			return nil, ErrEditSteps
		}
		if s == nil || seen[s] {
			continue
		}
		seen[s] = true
		all = append(all, s)
		at = append(at, s.Ref, s.If, s.Then, s.Else)
		at = slices.Concat(at, s.AllOf, s.AnyOf, s.OneOf)
		for _, sub := range s.DependentSchemas {
			at = append(at, sub)
		}
	}
	return all, nil
}

// declaredBy returns the names that all declarations of one value have in common.
func declaredBy(at []*jsonschema.Schema) (names []string, declared bool) {
	for _, s := range at {
		for _, x := range s.Extensions {
			e, ok := x.(editors)
			switch {
			case !ok:
			case !declared:
				names, declared = e.names, true
			default:
				names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !slices.Contains(e.names, n) })
			}
		}
	}
	return names, declared
}

// below returns the schemas of a field or element.
func below(at []*jsonschema.Schema, step Step) []*jsonschema.Schema {
	var all []*jsonschema.Schema
	add := func(sub any) {
		switch sub := sub.(type) {
		case *jsonschema.Schema:
			if sub != nil {
				all = append(all, sub)
			}
		case []*jsonschema.Schema:
			all = append(all, sub...)
		}
	}
	for _, s := range at {
		if step.Item {
			for _, sub := range []any{s.Items, s.Items2020, s.PrefixItems, s.AdditionalItems, s.UnevaluatedItems} {
				add(sub)
			}
			continue
		}
		named := len(all)
		if sub, ok := s.Properties[step.Field]; ok {
			add(sub)
		}
		for pattern, sub := range s.PatternProperties {
			if step.Field == "*" || pattern.MatchString(step.Field) {
				add(sub)
			}
		}
		if len(all) == named {
			add(s.AdditionalProperties)
			add(s.UnevaluatedProperties)
		}
	}
	return all
}

// PathText formats a path: "database.url", "hosts[].port".
func PathText(path []Step) string {
	var b strings.Builder
	for i, step := range path {
		switch {
		case step.Item:
			b.WriteString("[]")
			continue
		case i > 0:
			b.WriteByte('.')
		}
		if step.Field == "" || step.Field != "*" && strings.ContainsAny(step.Field, `.[]"`) {
			fmt.Fprintf(&b, "%q", step.Field)
			continue
		}
		b.WriteString(step.Field)
	}
	return b.String()
}
