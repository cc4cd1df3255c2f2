package config

import (
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/text/schemas"
)

// schema is a compiled ConfigSchema.
type schema struct {
	source *fleet.Schema
	// order is the place among the schemas of the environment.
	order    int
	compiled *jsonschema.Schema
	// broken says why the schema cannot be used; nil when it can.
	broken *fleet.Problem
}

// compile compiles a schema, by default after draft 2020-12. Formats are checked, not only noted,
// because "format" in a schema for configuration is meant as a check.
func compile(source *fleet.Schema) *schema {
	s := &schema{source: source}
	compiled, err := schemas.Compile(source.Document, schemas.Options{Formats: true})
	if err == nil {
		s.compiled = compiled
		return s
	}
	s.broken = &fleet.Problem{
		Severity: fleet.SeverityError,
		Kind:     fleet.KindConfigSchema,
		Object:   s.ref(),
		Position: source.Position,
		Message:  fmt.Sprintf("the schema cannot be used: %v", err),
		Hint:     "correct the schema; what it applies to stays as it is published",
	}
	return s
}

func (s *schema) ref() fleet.Ref { return fleet.Ref{Kind: "ConfigSchema", Name: s.source.Name} }
