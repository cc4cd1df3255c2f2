package config

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Eval executes a configuration value that is a template, with the data of one assignment.
// It runs on the goroutine that calls Compose.
type Eval func(text string) (string, error)

// Composer composes the configurations of one environment. It is safe for concurrent use.
type Composer struct {
	snapshot   *fleet.Snapshot
	vocabulary vocabulary
	layers     []*layer // in order of increasing precedence
	layerIndex index
	schemas    []*schema // by name
	byName     map[string]*schema

	selecting       []*schema // the schemas that apply by their labels
	schemaIndex     index     // of selecting
	unreadable      []unreadable
	unreadableIndex index

	classes     map[*fleet.Target]*class // of the snapshot's targets
	everyTarget facts                    // what the targets together meet
	named       []string                 // schemas, existing or not, that a target names; ascending

	follows bool  // the composer that this one was made from has other values only in the changed layers
	changed []int // layers

	mu    sync.Mutex
	known map[string]*class
}

// unreadable is a ConfigMap or ConfigSchema that exists but cannot be used.
type unreadable struct {
	fleet.Unreadable
}

// class groups targets: those of one class have the same layers and schemas on every cluster type.
type class struct {
	facts   facts
	schemas []string
}

// NewComposer indexes the layers and compiles the schemas of a snapshot.
//
// Schemas that do not compile and values that cannot be used are problems. They hold the assignments they apply to,
// whose results repeat the problem.
func NewComposer(s *fleet.Snapshot) (*Composer, []fleet.Problem) {
	c := &Composer{
		snapshot:   s,
		vocabulary: vocabulary{},
		layers:     newLayers(s.Configs),
		byName:     map[string]*schema{},
		classes:    map[*fleet.Target]*class{},
		known:      map[string]*class{},
	}
	for _, l := range c.layers {
		c.layerIndex.add(c.vocabulary, l.labels)
	}
	c.addSchemas(s.Schemas)
	c.addUnreadable(s.Unreadable)
	for _, x := range []*index{&c.layerIndex, &c.schemaIndex, &c.unreadableIndex} {
		x.build()
	}
	c.addTargets(s.Targets)
	return c, c.problems()
}

// problems returns the problems of the layers and schemas, sorted.
func (c *Composer) problems() []fleet.Problem {
	var problems []fleet.Problem
	for _, l := range c.layers {
		problems = append(problems, l.problems...)
	}
	for _, sch := range c.schemas {
		if sch.broken != nil {
			problems = append(problems, *sch.broken)
		}
	}
	return fleet.SortProblems(problems)
}

// addSchemas compiles the schemas. Broken ones are kept, because they hold what they apply to.
func (c *Composer) addSchemas(schemas []*fleet.Schema) {
	byName := func(a, b *fleet.Schema) int { return cmp.Compare(a.Name, b.Name) }
	for i, source := range slices.SortedFunc(slices.Values(schemas), byName) {
		sch := compile(source)
		sch.order = i
		c.schemas = append(c.schemas, sch)
		c.byName[source.Name] = sch
		if !source.Inline {
			c.schemaIndex.add(c.vocabulary, source.Labels)
			c.selecting = append(c.selecting, sch)
		}
	}
}

// addUnreadable keeps the objects that could be a layer or a schema.
func (c *Composer) addUnreadable(all []fleet.Unreadable) {
	for _, u := range all {
		labels := fleet.MatchingLabels(u.Labels)
		mark, marked := u.Labels[fleet.ConfigLabel]
		isSchema := u.Ref.Kind == "ConfigSchema"
		if isSchema || u.Ref.Kind == "ConfigMap" && (!marked || mark == "true") {
			c.unreadable = append(c.unreadable, unreadable{u})
			c.unreadableIndex.add(c.vocabulary, labels)
		}
	}
}

// addTargets classifies the snapshot's targets in advance, so that looking up their class takes no lock.
func (c *Composer) addTargets(targets []*fleet.Target) {
	for _, t := range targets {
		cl := c.intern(t)
		c.classes[t] = cl
		c.named = append(c.named, cl.schemas...)
	}
	for _, cl := range c.known {
		c.everyTarget = append(c.everyTarget, cl.facts...)
	}
	slices.Sort(c.everyTarget)
	c.everyTarget = slices.Compact(c.everyTarget)
	slices.Sort(c.named)
	c.named = slices.Compact(c.named)
}

// class returns the class of a target, also of one that is not in the snapshot.
func (c *Composer) class(t *fleet.Target) *class {
	if cl, ok := c.classes[t]; ok {
		return cl
	}
	return c.intern(t)
}

// intern returns the class of all targets like t.
func (c *Composer) intern(t *fleet.Target) *class {
	cl := &class{facts: c.vocabulary.target(t), schemas: slices.Clone(t.ConfigSchemas)}
	slices.Sort(cl.schemas)
	cl.schemas = slices.Compact(cl.schemas)

	key := numbers(cl.facts)
	for _, name := range cl.schemas {
		key = fmt.Appendf(key, "%q", name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if same, ok := c.known[string(key)]; ok {
		return same
	}
	c.known[string(key)] = cl
	return cl
}

// numbers encodes a list of numbers as a map key.
func numbers(ids []int) []byte {
	key := binary.AppendUvarint(nil, uint64(len(ids)))
	for _, id := range ids {
		key = binary.AppendUvarint(key, uint64(id))
	}
	return key
}
