package schemas

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// Leaves returns the errors that are meaningful on their own: those without causes, and each set of alternatives as one.
func Leaves(e *jsonschema.ValidationError) []*jsonschema.ValidationError {
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf, *kind.Contains, *kind.MinContains, *kind.PropertyNames:
		return []*jsonschema.ValidationError{e}
	}
	if len(e.Causes) == 0 {
		return []*jsonschema.ValidationError{e}
	}
	var all []*jsonschema.ValidationError
	for _, cause := range e.Causes {
		all = append(all, Leaves(cause)...)
	}
	return all
}

// Requirements returns what the schema requires at an error, sorted; one entry per alternative.
func Requirements(e *jsonschema.ValidationError) []string {
	if len(e.Causes) == 0 {
		return []string{Requirement(e.ErrorKind)}
	}
	var all []string
	for _, cause := range e.Causes {
		for _, leaf := range Leaves(cause) {
			all = append(all, Requirements(leaf)...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Requirement returns what the schema requires, as a predicate: must be "a" or "b".
func Requirement(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return "must be " + oneOf(k.Want, withArticle)
	case *kind.Enum:
		return "must be " + oneOf(k.Want, Show)
	case *kind.Const:
		return "must be " + Show(k.Want)
	case *kind.Required:
		return "must have " + Join(quoted(k.Missing), ", ")
	case *kind.AdditionalProperties:
		return "must not have " + Join(quoted(k.Properties), ", ")
	case *kind.Pattern:
		return fmt.Sprintf("must match the pattern %q", clip(k.Want))
	case *kind.Format:
		return "must have the format " + k.Want
	case *kind.MinLength:
		return fmt.Sprintf("must have at least %d characters", k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("must have at most %d characters", k.Want)
	case *kind.Minimum:
		return "must be at least " + number(k.Want)
	case *kind.Maximum:
		return "must be at most " + number(k.Want)
	case *kind.ExclusiveMinimum:
		return "must be more than " + number(k.Want)
	case *kind.ExclusiveMaximum:
		return "must be less than " + number(k.Want)
	case *kind.MultipleOf:
		return "must be a multiple of " + number(k.Want)
	case *kind.OneOf: // of which more than one fits
		return "must match exactly one of the alternatives, but matches several"
	case *kind.Not:
		return "is forbidden by the schema"
	default:
		text := k.LocalizedString(message.NewPrinter(language.English))
		return "is invalid: " + strings.Join(strings.Fields(text), " ")
	}
}

// quoted returns sorted, quoted key names.
func quoted(names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = strconv.Quote(clip(name))
	}
	slices.Sort(all)
	return all
}

// withArticle names a JSON Schema type as users know it.
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

func oneOf[T any](values []T, show func(T) string) string {
	shown := make([]string, len(values))
	for i, v := range values {
		shown[i] = show(v)
	}
	return Join(shown, " or ")
}

// Join joins the first few of many.
func Join(texts []string, separator string) string {
	const most = 10
	if len(texts) > most {
		texts = append(slices.Clone(texts[:most]), "...")
	}
	return strings.Join(texts, separator)
}

// Show formats a value for a message: as JSON, shortened.
func Show(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return clip(string(text))
}

func number(r *big.Rat) string {
	if r.IsInt() {
		return clip(r.Num().String())
	}
	f, _ := r.Float64()
	return fmt.Sprint(f)
}

// maxShown is how many bytes of a value a message shows.
const maxShown = 80

// clip shortens a string without splitting a character.
func clip(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + "..."
}
