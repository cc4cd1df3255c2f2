package config

import (
	"fmt"
	"slices"
	"sync"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// selection holds what applies to one class of targets on one cluster type.
type selection struct {
	*layerSet
	schemas []*schema
	// schemaKey identifies the schemas.
	schemaKey string
	// schemaNames are the sorted names of all schemas that apply, also of those that cannot be used.
	schemaNames []string
	// unknown are names of schemas that do not exist.
	unknown []string
	// standing are the problems that do not depend on the data, sorted: conflicts, values and schemas that cannot be used,
	// objects that cannot be read. An error among them holds the assignment.
	standing []fleet.Problem
	hold     bool

	// fixed computes the result for the whole class once, if there are no templates.
	fixed func() Result
}

// selectFor returns what applies to a class of targets.
func (s *Stack) selectFor(cl *class) *selection {
	sel := &selection{layerSet: s.layerSet(s.composer.layerIndex.match(s.facts, cl.facts))}
	sel.standing = slices.Clone(sel.problems)
	sel.addSchemas(s.composer, s.facts, cl)
	sel.addUnreadable(s.composer, s.facts, cl)
	sel.standing = fleet.SortProblems(sel.standing)
	sel.hold = holds(sel.standing)
	sel.fixed = sync.OnceValue(func() Result { return s.composition(sel.layerSet, nil, nil).result(sel) })
	return sel
}

// holds reports whether one of the problems is an error.
func holds(problems []fleet.Problem) bool {
	return slices.ContainsFunc(problems, func(p fleet.Problem) bool { return p.Severity == fleet.SeverityError })
}

// addSchemas adds the schemas that select the pair and those that the target names, without duplicates.
func (sel *selection) addSchemas(c *Composer, ct facts, cl *class) {
	var ids []int
	for _, i := range c.schemaIndex.match(ct, cl.facts) {
		ids = append(ids, c.selecting[i].order)
	}
	for _, name := range cl.schemas {
		if sch, ok := c.byName[name]; ok {
			ids = append(ids, sch.order)
		} else if !c.isUnreadable(name) {
			sel.unknown = append(sel.unknown, name)
		}
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	sel.schemaKey = string(numbers(ids))
	for _, i := range ids {
		sch := c.schemas[i]
		sel.schemaNames = append(sel.schemaNames, sch.source.Name)
		if sch.broken != nil {
			sel.standing = append(sel.standing, *sch.broken)
			continue
		}
		sel.schemas = append(sel.schemas, sch)
	}
}

// isUnreadable reports whether a schema exists but cannot be read. That is reported elsewhere; it is not missing.
func (c *Composer) isUnreadable(schema string) bool {
	return slices.ContainsFunc(c.unreadable, func(u unreadable) bool { return u.isSchema(schema) })
}

func (u unreadable) isSchema(name string) bool {
	return u.Ref == fleet.Ref{Kind: "ConfigSchema", Name: name}
}

// addUnreadable adds the unreadable objects that would apply, or that the target names.
func (sel *selection) addUnreadable(c *Composer, ct facts, cl *class) {
	ids := c.unreadableIndex.match(ct, cl.facts)
	for i, u := range c.unreadable {
		_, matches := slices.BinarySearch(ids, i)
		named := slices.ContainsFunc(cl.schemas, u.isSchema)
		if named || matches {
			sel.standing = append(sel.standing, fleet.Problem{
				Severity: fleet.SeverityError,
				Kind:     fleet.KindHeld,
				Object:   u.Ref,
				Position: u.Position,
				Message:  fmt.Sprintf("%s would apply, but cannot be read", u.Ref),
				Hint:     "fix it; what depends on it is held",
			})
		}
	}
}

// unknownSchemas returns a problem for each schema that the target names and that does not exist, at the target's position.
func (sel *selection) unknownSchemas(t *fleet.Target) []fleet.Problem {
	var problems []fleet.Problem
	for _, name := range sel.unknown {
		problems = append(problems, fleet.Problem{
			Severity: fleet.SeverityError,
			Kind:     fleet.KindMissingObject,
			Object:   fleet.Ref{Kind: "DeploymentTarget", Name: t.Name},
			Position: t.Position,
			Message:  fmt.Sprintf("ConfigSchema %q does not exist", name),
			Hint:     "add the ConfigSchema, or remove the name from configSchemas",
		})
	}
	return problems
}
