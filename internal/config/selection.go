package config

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// selection is what applies to one class of targets on one cluster type.
type selection struct {
	*layerSet
	schemas []*schema
	// schemaKey identifies the schemas.
	schemaKey string
	// unknown are names of schemas that do not exist.
	unknown []string
	// broken are the schemas and unreadable objects that should apply and cannot be used. They hold the assignment.
	broken []fleet.Problem

	// fixed is the result without templates. It is the same for the whole class and computed when first asked for.
	fixed func() Result
}

// layerSet are the layers of one or more selections of a stack.
type layerSet struct {
	key       string
	layers    []*layer
	templates []template
	// problems are the conflicts, and the values that cannot be used.
	problems []fleet.Problem
	// precedence is what differs from the rule by names alone, computed when first asked for.
	precedence func() []fleet.Problem
}

func newLayerSet(key string, layers []*layer) *layerSet {
	set := &layerSet{key: key, layers: layers, problems: conflicts(layers)}
	for _, l := range layers {
		set.templates = append(set.templates, l.templates...)
		set.problems = append(set.problems, l.problems...)
	}
	set.precedence = sync.OnceValue(func() []fleet.Problem { return precedence(layers) })
	return set
}

func (s *Stack) selectFor(cl *class) *selection {
	sel := &selection{layerSet: s.layerSet(s.composer.layerIndex.match(s.facts, cl.facts))}
	sel.addSchemas(s.composer, s.facts, cl)
	sel.addUnreadable(s.composer, s.facts, cl)
	sel.fixed = sync.OnceValue(func() Result { return s.composition(sel.layerSet, nil).result(sel) })
	return sel
}

// layerSet returns the one set of these layers.
func (s *Stack) layerSet(ids []int) *layerSet {
	key := string(numbers(ids))
	s.mu.Lock()
	defer s.mu.Unlock()
	set, known := s.layerSets[key]
	if !known {
		layers := make([]*layer, len(ids))
		for i, id := range ids {
			layers[i] = s.composer.layers[id]
		}
		set = newLayerSet(key, layers)
		s.layerSets[key] = set
	}
	return set
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
		if sch.broken != nil {
			sel.broken = append(sel.broken, *sch.broken)
			continue
		}
		sel.schemas = append(sel.schemas, sch)
	}
}

func (c *Composer) isUnreadable(schema string) bool {
	return slices.ContainsFunc(c.unreadable, func(u unreadable) bool { return u.isSchema(schema) })
}

func (u unreadable) isSchema(name string) bool {
	return u.Ref == fleet.Ref{Kind: "ConfigSchema", Name: name}
}

// addUnreadable adds what would apply if it could be read, or is named by the target.
func (sel *selection) addUnreadable(c *Composer, ct facts, cl *class) {
	matching := c.unreadableIndex.match(ct, cl.facts)
	for i, u := range c.unreadable {
		_, matches := slices.BinarySearch(matching, i)
		named := slices.ContainsFunc(cl.schemas, u.isSchema)
		if named || matches && u.selects {
			sel.broken = append(sel.broken, u.held())
		}
	}
}

func (u unreadable) held() fleet.Problem {
	return fleet.Problem{
		Severity: fleet.SeverityError,
		Kind:     fleet.KindHeld,
		Object:   u.Ref,
		Position: u.Position,
		Message:  fmt.Sprintf("%s applies here and cannot be read", u.Ref),
		Hint:     "repair it; what depends on it stays as it is published",
	}
}

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

// compositionKey identifies the layers together with what their templates evaluated to.
func (set *layerSet) compositionKey(results map[string]string) string {
	if len(set.templates) == 0 {
		return set.key
	}
	var key strings.Builder
	key.WriteString(set.key)
	for _, t := range set.templates {
		result, ok := results[t.leaf.raw]
		fmt.Fprintf(&key, "%v%d:%s", ok, len(result), result)
	}
	return key.String()
}
