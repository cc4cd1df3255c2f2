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

// Leaves returns the errors that say something by themselves: those without causes, and alternatives as a whole.
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

// Wishes says what a keyword of a schema wanted, each alternative for itself.
func Wishes(e *jsonschema.ValidationError) []string {
	if len(e.Causes) == 0 {
		return []string{Wish(e.ErrorKind)}
	}
	var all []string
	for _, cause := range e.Causes {
		for _, leaf := range Leaves(cause) {
			all = append(all, Wishes(leaf)...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Wish says what a schema wanted.
func Wish(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return "wants " + oneOf(k.Want, withArticle)
	case *kind.Enum:
		return "wants " + oneOf(k.Want, Show)
	case *kind.Const:
		return "wants " + Show(k.Want)
	case *kind.Required:
		return "wants " + Some(quoted(k.Missing), ", ") + ", which is missing"
	case *kind.AdditionalProperties:
		return "does not allow " + Some(quoted(k.Properties), ", ")
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
	case *kind.OneOf: // of which more than one fits
		return "fits more than one of the alternatives, and wants to fit exactly one"
	case *kind.Not:
		return "is what the schema forbids"
	default:
		return "does not fit: " + library(k)
	}
}

// quoted are names of keys, in a fixed order.
func quoted(names []string) []string {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = strconv.Quote(clip(name))
	}
	slices.Sort(all)
	return all
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
	return Some(shown, " or ")
}

// Some joins the first few of many.
func Some(texts []string, separator string) string {
	const most = 10
	if len(texts) > most {
		texts = append(slices.Clone(texts[:most]), "...")
	}
	return strings.Join(texts, separator)
}

// Show is a value of a schema in a message.
func Show(v any) string {
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

// maxShown is how many bytes of a value a message shows.
const maxShown = 80

// clip shortens a text without cutting through a character.
func clip(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + "..."
}
