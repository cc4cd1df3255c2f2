package values

import (
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
	case *kind.AnyOf, *kind.OneOf, *kind.Contains, *kind.PropertyNames:
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

// maxWishes is how many alternatives a message lists.
const maxWishes = 10

// wishes says what a schema wanted, each alternative for itself.
func wishes(e *jsonschema.ValidationError) []string {
	if len(e.Causes) == 0 {
		said := e.ErrorKind.LocalizedString(message.NewPrinter(language.English))
		return []string{strings.Join(strings.Fields(said), " ")}
	}
	var all []string
	for _, cause := range e.Causes {
		for _, leaf := range leaves(cause) {
			all = append(all, wishes(leaf)...)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(len(all), maxWishes)]
}
