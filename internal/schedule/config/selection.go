package config

import (
	"fmt"
	"slices"
	"sync"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// selection is what applies to one class of targets on one cluster type.
type selection struct {
	*layerSet
	schemas []*schema
	// schemaKey identifies the schemas.
	schemaKey string
	// schemaNames are their names, and those of the schemas that apply and cannot be used; sorted.
	schemaNames []string
	// unknown are names of schemas that do not exist.
	unknown []string
	// standing are the problems that do not depend on the data, sorted: conflicts, values and schemas that cannot be used,
	// objects that cannot be read. With an error among them the assignment is held.
	standing []fleet.Problem
	hold     bool

	// fixed is the result without templates. It is the same for the whole class and computed when first asked for.
	fixed func() Result
}

// selectFor finds what applies to a class of targets.
func (s *Stack) selectFor(cl *class) *selection {
	sel := &selection{layerSet: s.layerSet(s.composer.layerIndex.match(s.facts, cl.facts))}
	sel.standing = slices.Clone(sel.problems)
	sel.addSchemas(s.composer, s.facts, cl)
	sel.addUnreadable(s.composer, s.facts, cl)
	sel.standing = fleet.SortProblems(sel.standing)
	sel.hold = holds(sel.standing)
	sel.fixed = sync.OnceValue(func() Result { return s.composition(sel.layerSet, nil).result(sel) })
	return sel
}

// holds is true when a problem among them is an error.
func holds(problems []fleet.Problem) bool {
	return slices.ContainsFunc(problems, func(p fleet.Problem) bool { return p.Severity == fleet.SeverityError })
}

// addSchemas adds the schemas that select the pair and those that the target names, each once.
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

// isUnreadable is true for a schema that exists and cannot be read: it is not missing, and already reported.
func (c *Composer) isUnreadable(schema string) bool {
	return slices.ContainsFunc(c.unreadable, func(u unreadable) bool { return u.isSchema(schema) })
}

func (u unreadable) isSchema(name string) bool {
	return u.Ref == fleet.Ref{Kind: "ConfigSchema", Name: name}
}

// addUnreadable adds what would apply if it could be read, or is named by the target.
func (sel *selection) addUnreadable(c *Composer, ct facts, cl *class) {
	ids := c.unreadableIndex.match(ct, cl.facts)
	for i, u := range c.unreadable {
		_, matches := slices.BinarySearch(ids, i)
		named := slices.ContainsFunc(cl.schemas, u.isSchema)
		if named || matches && u.selects {
			sel.standing = append(sel.standing, u.held())
		}
	}
}

// held says why assignments wait for the object. That it cannot be read is reported where it was tried.
func (u unreadable) held() fleet.Problem {
	return fleet.Problem{
		Severity: fleet.SeverityError,
		Kind:     fleet.KindHeld,
		Object:   u.Ref,
		Position: u.Position,
		Message:  fmt.Sprintf("%s would apply and cannot be read", u.Ref),
		Hint:     "repair it; what depends on it stays as it is published",
	}
}

// unknownSchemas are problems of each target, because they name the place where it asks for the schema.
func (sel *selection) unknownSchemas(t *fleet.Target) []fleet.Problem {
	var problems []fleet.Problem
	for _, name := range sel.unknown {
		problems = append(problems, fleet.Problem{
			Severity: fleet.SeverityError,
			Kind:     fleet.KindMissingObject,
			Object:   fleet.Ref{Kind: "DeploymentTarget", Name: t.Name},
			Position: t.Position,
			Message:  fmt.Sprintf("ConfigSchema %q does not exist", name),
			Hint:     "add the ConfigSchema, or take the name out of configSchemas",
		})
	}
	return problems
}
