package config

import (
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/kalypso-io/kalypso/internal/text/schemas"
)

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
		here.text = schemas.Wish(k)
	case *kind.FalseSchema:
		here.text = "is not allowed"
	default:
		here.text = schemas.Wish(e.ErrorKind)
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
		for _, leaf := range schemas.Leaves(cause) {
			for _, f := range explain(t, leaf) {
				here.missing = here.missing && f.missing
				reason := strings.TrimPrefix(f.path+" "+f.text, here.path+" ")
				reasons = append(reasons, cut(reason, 4*maxShown)) // a reason may list alternatives itself
			}
		}
	}
	slices.Sort(reasons)
	here.text = "fits none of the alternatives: " + schemas.Some(slices.Compact(reasons), "; or ")
	return here
}
