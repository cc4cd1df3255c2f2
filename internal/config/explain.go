package config

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// leaves returns the errors that say something by themselves: those without causes, and alternatives as a whole.
func leaves(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf, *kind.Contains, *kind.MinContains, *kind.PropertyNames:
		return []*jsonschema.ValidationError{e}
	}
	if len(e.Causes) == 0 {
		return []*jsonschema.ValidationError{e}
	}
	var all []*jsonschema.ValidationError
	for _, cause := range e.Causes {
		all = append(all, leaves(cause)...)
	}
	return all
}

// explain says what an error means for the keys it concerns.
func explain(t *tree, e *jsonschema.ValidationError) []finding {
	at, path := t.find(e.InstanceLocation)
	here := finding{way: e.InstanceLocation, path: "the configuration"}
	if path != "" {
		here.path, here.written = path, at.first()
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return missing(here, path, k.Missing, "is required and missing")
	case *kind.DependentRequired:
		return missing(here, path, k.Missing, "is required next to "+k.Prop+" and missing")
	case *kind.Dependency:
		return missing(here, path, k.Missing, "is required next to "+k.Prop+" and missing")
	case *kind.AdditionalProperties:
		return unknownKeys(t, e.InstanceLocation, k.Properties, "is not a key that the schema allows")
	case *kind.PropertyNames:
		// The location of this error is not reliable, its property is.
		return unknownKeys(t, nil, []string{k.Property}, "is not a name that the schema allows for a key")
	case *kind.AnyOf:
		return []finding{alternatives(t, e, here)}
	case *kind.OneOf:
		if len(k.Subschemas) == 0 { // none of them
			return []finding{alternatives(t, e, here)}
		}
		here.text = "fits more than one of the alternatives, and wants to fit exactly one"
	case *kind.FalseSchema:
		here.text = "is not allowed"
	default:
		here.text = wish(e.ErrorKind)
		if path != "" && at.leaf() {
			here.text += ", got " + summary(at)
		}
	}
	return []finding{here}
}

// missing makes one finding for each value that a map lacks.
func missing(here finding, path string, names []string, text string) []finding {
	var found []finding
	for _, name := range names {
		f := here
		f.path, f.text, f.missing = join(path, name), text, true
		found = append(found, f)
	}
	return found
}

// unknownKeys makes one finding for each field of a map that must not be there.
func unknownKeys(t *tree, way, keys []string, text string) []finding {
	var found []finding
	for _, key := range keys {
		f := finding{way: append(slices.Clone(way), key), path: key, text: text}
		if at, path := t.find(f.way); path != "" {
			f.path, f.written = path, at.first()
		}
		found = append(found, f)
	}
	return found
}

// alternatives makes one finding of all the reasons why none of several schemas fits.
// When each of them only lacks a value, a value is missing rather than wrong.
func alternatives(t *tree, e *jsonschema.ValidationError, here finding) finding {
	var reasons []string
	here.missing = true
	for _, cause := range e.Causes {
		for _, leaf := range leaves(cause) {
			for _, f := range explain(t, leaf) {
				here.missing = here.missing && f.missing
				reason := strings.TrimPrefix(f.path+" "+f.text, here.path+" ")
				reasons = append(reasons, cut(reason, 4*maxShown)) // a reason may list alternatives itself
			}
		}
	}
	slices.Sort(reasons)
	here.text = "fits none of the alternatives: " + some(slices.Compact(reasons), "; or ")
	return here
}

// wish says what a schema wanted.
func wish(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return "wants " + oneOf(k.Want, withArticle)
	case *kind.Enum:
		return "wants " + oneOf(k.Want, show)
	case *kind.Const:
		return "wants " + show(k.Want)
	case *kind.Pattern:
		return fmt.Sprintf("wants a text that matches %q", clip(k.Want))
	case *kind.Format:
		return "wants the format " + k.Want
	case *kind.MinLength:
		return fmt.Sprintf("wants at least %d characters", k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("wants at most %d characters", k.Want)
	case *kind.Minimum:
		return "wants at least " + number(k.Want)
	case *kind.Maximum:
		return "wants at most " + number(k.Want)
	case *kind.ExclusiveMinimum:
		return "wants more than " + number(k.Want)
	case *kind.ExclusiveMaximum:
		return "wants less than " + number(k.Want)
	case *kind.MultipleOf:
		return "wants a multiple of " + number(k.Want)
	default:
		return "does not fit: " + library(k)
	}
}

// library is an error in the words of the library, in one line.
func library(k jsonschema.ErrorKind) string {
	text := k.LocalizedString(message.NewPrinter(language.English))
	return strings.Join(strings.Fields(text), " ")
}

// withArticle names a type of JSON Schema in the words of this package.
func withArticle(typ string) string {
	switch typ {
	case "null":
		return "null"
	case "integer":
		return "an integer"
	case "array":
		return "a list"
	case "object":
		return "a map"
	default:
		return "a " + typ
	}
}

// oneOf lists what is possible.
func oneOf[T any](values []T, show func(T) string) string {
	shown := make([]string, len(values))
	for i, v := range values {
		shown[i] = show(v)
	}
	return some(shown, " or ")
}

// some joins the first few of many.
func some(texts []string, separator string) string {
	const most = 10
	if len(texts) > most {
		texts = append(slices.Clone(texts[:most]), "...")
	}
	return strings.Join(texts, separator)
}

// show is a value of a schema in a message.
func show(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return clip(string(text))
}

// number is a limit as people write it.
func number(r *big.Rat) string {
	if r.IsInt() {
		return clip(r.Num().String())
	}
	f, _ := r.Float64()
	return fmt.Sprint(f)
}
