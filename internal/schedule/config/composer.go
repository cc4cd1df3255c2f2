package config

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Eval executes a configuration value that contains template actions with the data of one assignment.
// It is called from whichever goroutine calls Compose.
type Eval func(text string) (string, error)

// Composer composes the configurations of one environment. It is safe for concurrent use.
type Composer struct {
	vocabulary vocabulary
	layers     []*layer // in the order of application
	layerIndex index
	schemas    []*schema // in the order of names
	byName     map[string]*schema
	// schemaIndex is over schemas; those that select nothing are not in it.
	schemaIndex index
	selecting   []*schema // by their number in schemaIndex
	unreadable  []unreadable
	// unreadableIndex is over unreadable.
	unreadableIndex index

	// classes are those of the snapshot's targets; everyTarget is what they meet together.
	classes     map[*fleet.Target]*class
	everyTarget facts
	// named are the schemas, existing or not, that some target names; ascending.
	named []string

	mu    sync.Mutex
	known map[string]*class
}

// unreadable is a ConfigMap or ConfigSchema that exists and cannot be used.
type unreadable struct {
	fleet.Unreadable
	// selects is false for a schema that applies only where it is named.
	selects bool
}

// class is what distinguishes targets for configurations: targets of one class have the same layers and schemas
// on every cluster type.
type class struct {
	facts   facts
	schemas []string
}

// NewComposer indexes the layers and compiles the schemas of a snapshot.
//
// Schemas that do not compile and values that cannot be used are problems; the assignments they apply to are held,
// and their results carry the same problem again.
func NewComposer(s *fleet.Snapshot) (*Composer, []fleet.Problem) {
	c := &Composer{
		vocabulary: vocabulary{},
		layers:     newLayers(s.Configs),
		byName:     map[string]*schema{},
		classes:    map[*fleet.Target]*class{},
		known:      map[string]*class{},
	}
	var problems []fleet.Problem
	for _, l := range c.layers {
		c.layerIndex.file(c.vocabulary, l.config.Labels)
		problems = append(problems, l.problems...)
	}
	problems = append(problems, c.addSchemas(s.Schemas)...)
	c.addUnreadable(s.Unreadable)
	c.addTargets(s.Targets)
	return c, fleet.SortProblems(problems)
}

// addSchemas compiles the schemas. A broken one is kept too, because what it applies to is held.
func (c *Composer) addSchemas(schemas []*fleet.Schema) []fleet.Problem {
	byName := func(a, b *fleet.Schema) int { return cmp.Compare(a.Name, b.Name) }
	var problems []fleet.Problem
	for i, source := range slices.SortedFunc(slices.Values(schemas), byName) {
		sch := compile(source)
		sch.order = i
		c.schemas = append(c.schemas, sch)
		c.byName[source.Name] = sch
		if source.Selects {
			c.schemaIndex.file(c.vocabulary, source.Labels)
			c.selecting = append(c.selecting, sch)
		}
		if sch.broken != nil {
			problems = append(problems, *sch.broken)
		}
	}
	return problems
}

// addUnreadable keeps what could have been a layer or a schema.
func (c *Composer) addUnreadable(all []fleet.Unreadable) {
	for _, u := range all {
		mark, marked := u.Labels[labelPlatformConfig]
		switch {
		case u.Ref.Kind == "ConfigSchema":
			c.fileUnreadable(unreadable{u, len(matching(u.Labels)) > 0})
		case u.Ref.Kind == "ConfigMap" && (!marked || mark == "true"):
			c.fileUnreadable(unreadable{u, true})
		}
	}
}

func (c *Composer) fileUnreadable(u unreadable) {
	c.unreadable = append(c.unreadable, u)
	c.unreadableIndex.file(c.vocabulary, matching(u.Labels))
}

// addTargets classifies the targets of the snapshot beforehand, so that asking for them takes no lock.
func (c *Composer) addTargets(targets []*fleet.Target) {
	c.everyTarget = facts{has: make([]bool, len(c.vocabulary))}
	for _, t := range targets {
		cl := c.intern(t)
		c.classes[t] = cl
		c.named = append(c.named, cl.schemas...)
		for _, id := range cl.facts.ids {
			if !c.everyTarget.has[id] {
				c.everyTarget.has[id] = true
				c.everyTarget.ids = append(c.everyTarget.ids, id)
			}
		}
	}
	slices.Sort(c.named)
	c.named = slices.Compact(c.named)
}

// class returns the class of a target. That of the snapshot's own targets is known.
func (c *Composer) class(t *fleet.Target) *class {
	if cl, ok := c.classes[t]; ok {
		return cl
	}
	return c.intern(t)
}

// intern returns the one class of all targets like t.
func (c *Composer) intern(t *fleet.Target) *class {
	cl := &class{facts: c.vocabulary.target(t), schemas: slices.Clone(t.ConfigSchemas)}
	slices.Sort(cl.schemas)
	cl.schemas = slices.Compact(cl.schemas)

	key := numbers(cl.facts.ids)
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

// numbers encodes a list of numbers as a key.
func numbers(ids []int) []byte {
	key := binary.AppendUvarint(nil, uint64(len(ids)))
	for _, id := range ids {
		key = binary.AppendUvarint(key, uint64(id))
	}
	return key
}
