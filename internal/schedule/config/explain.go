package config

import (
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/kalypso-io/kalypso/internal/text/schemas"
)

// explain translates a validation error into findings about keys.
func explain(t *tree, e *jsonschema.ValidationError) []finding {
	at, path := t.find(e.InstanceLocation)
	here := finding{location: e.InstanceLocation, path: "the configuration"}
	if path != "" {
		here.path, here.written = path, at.first()
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Required:
		return missing(here, path, k.Missing, "is required, but missing")
	case *kind.DependentRequired:
		return missing(here, path, k.Missing, "is required together with "+k.Prop+", but missing")
	case *kind.Dependency:
		return missing(here, path, k.Missing, "is required together with "+k.Prop+", but missing")
	case *kind.AdditionalProperties:
		return unknownKeys(t, e.InstanceLocation, k.Properties, "is not allowed by the schema")
	case *kind.PropertyNames:
		// The location of this error is not reliable, its property is.
		return unknownKeys(t, nil, []string{k.Property}, "is not a key name that the schema allows")
	case *kind.AnyOf:
		return []finding{alternatives(t, e, here)}
	case *kind.OneOf:
		if len(k.Subschemas) == 0 { // none of them
			return []finding{alternatives(t, e, here)}
		}
		here.text = schemas.Requirement(k)
	case *kind.FalseSchema:
		here.text = "is not allowed"
	default:
		here.text = schemas.Requirement(e.ErrorKind)
		if path != "" && at.leaf() {
			here.text += ", got " + summary(path, at)
		}
	}
	return []finding{here}
}

// missing returns a finding for each value that a map lacks.
func missing(here finding, path string, names []string, text string) []finding {
	var found []finding
	for _, name := range names {
		f := here
		f.path, f.text, f.missing, f.lacks = join(path, name), text, true, name
		found = append(found, f)
	}
	return found
}

// unknownKeys returns a finding for each field of a map that is not allowed.
func unknownKeys(t *tree, location, keys []string, text string) []finding {
	var found []finding
	for _, key := range keys {
		f := finding{location: append(slices.Clone(location), key), path: key, text: text}
		if at, path := t.find(f.location); path != "" {
			f.path, f.written = path, at.first()
		}
		found = append(found, f)
	}
	return found
}

// alternatives returns one finding with all the reasons why none of several schemas matches.
// If each reason is a missing value, the finding is about a missing value.
func alternatives(t *tree, e *jsonschema.ValidationError, here finding) finding {
	var reasons []string
	here.missing, here.lacks = true, ""
	for _, cause := range e.Causes {
		for _, leaf := range schemas.Leaves(cause) {
			for _, f := range explain(t, leaf) {
				here.missing = here.missing && f.missing
				reason := strings.TrimPrefix(f.path+" "+f.text, here.path+" ")
				reasons = append(reasons, cut(reason, 4*maxShown)) // a reason may itself list alternatives
			}
		}
	}
	slices.Sort(reasons)
	here.text = "matches none of the alternatives: " + schemas.Join(slices.Compact(reasons), "; or ")
	return here
}
