package config

import (
	"crypto/sha256"
	"fmt"
	"hash"
	"slices"
	"sync"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Candidates identify the layers and schemas that can apply on one cluster type.
// A layer can if the cluster type and the snapshot's targets together meet its labels.
type Candidates struct {
	facts facts
	// place has the facts that expressions read; nil if no layer has any.
	place *place
	// chosen identifies the layers and schemas, digest also what cannot be read.
	chosen, digest fleet.Digest
}

// Stack holds the layers that can apply on one cluster type. It is safe for concurrent use.
type Stack struct {
	Candidates
	composer *Composer

	selections sync.Map // *selection by *class, read once per assignment

	mu           sync.Mutex
	layerSets    map[string]*layerSet    // by layers
	compositions map[string]*composition // by layers and template results
	evaluated    int
}

// maxEvaluated bounds how many compositions with templates a stack keeps for sharing.
// Templates that differ for every target would otherwise fill the memory without being shared.
const maxEvaluated = 256

// Stack prepares the layers for a cluster type. Reuse it: it caches configurations.
func (c *Composer) Stack(ct *fleet.ClusterType) *Stack { return c.StackOf(c.Candidates(ct)) }

// StackOf is [Composer.Stack] for a cluster type whose candidates are known.
func (c *Composer) StackOf(candidates Candidates) *Stack {
	return &Stack{Candidates: candidates, composer: c, layerSets: map[string]*layerSet{}, compositions: map[string]*composition{}}
}

// Candidates determines what can apply on a cluster type.
func (c *Composer) Candidates(ct *fleet.ClusterType) Candidates {
	found := Candidates{facts: c.vocabulary.clusterType(ct), place: c.placeOf(ct)}
	found.chosen = c.chosenDigest(found.facts, found.place)
	found.digest = c.digest(found)
	return found
}

// Same reports whether the same layers and schemas can apply on two cluster types of a composer. Then
// all configurations are equal. Layers and schemas that cannot be read do not count.
func (s Candidates) Same(other Candidates) bool { return s.chosen == other.chosen }

// Digest identifies everything that a composition on this cluster type can depend on besides the target:
// the candidate layers and schemas, in order.
func (s Candidates) Digest() fleet.Digest { return s.digest }

// chosenDigest hashes the layers and schemas in an order that depends only on their names and labels.
func (c *Composer) chosenDigest(ct facts, at *place) fleet.Digest {
	h := sha256.New()
	for _, i := range c.layerIndex.match(ct, c.everyTarget) {
		h.Write(c.layers[i].config.Digest[:])
		if c.layers[i].config.Store { // its other layers have the same digest
			fmt.Fprintf(h, "%q", c.layers[i].labels)
		}
		ct.writeMet(h, c.layerIndex.needs[i])
		at.writeRead(h, c.layers[i])
	}
	for _, i := range c.schemaIndex.match(ct, c.everyTarget) {
		fmt.Fprintf(h, "schema %q %x", c.selecting[i].source.Name, c.selecting[i].source.Digest)
		ct.writeMet(h, c.schemaIndex.needs[i])
	}
	return fleet.Digest(h.Sum(nil))
}

// digest hashes all inputs.
func (c *Composer) digest(s Candidates) fleet.Digest {
	h := sha256.New()
	h.Write(s.chosen[:])
	for _, name := range c.named {
		fmt.Fprintf(h, "named %q", name)
		if sch, ok := c.byName[name]; ok {
			h.Write(sch.source.Digest[:])
		}
	}
	for _, i := range c.unreadableIndex.match(s.facts, c.everyTarget) {
		u := c.unreadable[i]
		fmt.Fprintf(h, "unreadable %q %q", u.Ref, u.Position)
		s.facts.writeMet(h, c.unreadableIndex.needs[i])
	}
	// Named schemas apply whatever their labels are, including unreadable ones.
	for _, u := range c.unreadable {
		if _, named := slices.BinarySearch(c.named, u.Ref.Name); named && u.Ref.Kind == "ConfigSchema" {
			fmt.Fprintf(h, "unreadable named %q %q", u.Ref, u.Position)
		}
	}
	return fleet.Digest(h.Sum(nil))
}

// writeMet adds which requirements the cluster type itself meets; the target has to meet the others.
func (f facts) writeMet(h hash.Hash, needs []int) {
	for _, id := range needs {
		met := byte(0)
		if f.has(id) {
			met = 1
		}
		h.Write([]byte{met})
	}
	h.Write([]byte{'\n'})
}

// Compose returns the configuration of a target. eval is called only for values that are templates.
// If it is nil, templates are kept unevaluated.
//
// Targets with equal layers and equal template results have equal digests, and usually share one *Composed.
func (s *Stack) Compose(t *fleet.Target, eval Eval) Result {
	sel := s.selection(s.composer.class(t))
	if len(sel.templates) == 0 && len(sel.cells) == 0 && len(sel.unknown) == 0 {
		return sel.fixed()
	}
	results, failed := evaluate(sel.templates, eval)
	computed, wrong := s.compute(sel.layerSet, t, results)
	r := s.composition(sel.layerSet, results, computed).result(sel)
	r.add(failed)
	r.add(wrong)
	r.add(sel.unknownSchemas(t))
	return r
}

// selection returns what applies to a class of targets.
func (s *Stack) selection(cl *class) *selection {
	if sel, ok := s.selections.Load(cl); ok {
		return sel.(*selection)
	}
	sel, _ := s.selections.LoadOrStore(cl, s.selectFor(cl))
	return sel.(*selection)
}

// composition returns the composition of these layers and template results, from the cache if possible.
func (s *Stack) composition(set *layerSet, results map[string]string, computed map[*node]*node) *composition {
	key := set.compositionKey(results, computed)
	if known := s.known(key); known != nil {
		return known
	}
	made := newComposition(set, results, computed)
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.compositions[key]; known != nil {
		return known
	}
	if len(results) > 0 || len(computed) > 0 {
		if s.evaluated == maxEvaluated {
			return made
		}
		s.evaluated++
	}
	s.compositions[key] = made
	return made
}

func (s *Stack) known(key string) *composition {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.compositions[key]
}

// evaluate executes templates, equal ones once. A template that fails is a problem and has no result.
func evaluate(templates []template, eval Eval) (results map[string]string, failed []fleet.Problem) {
	if eval == nil {
		return nil, nil
	}
	results = make(map[string]string, len(templates))
	errs := map[string]error{}
	for _, t := range templates {
		text := t.leaf.raw
		if _, done := results[text]; !done && errs[text] == nil {
			result, err := eval(text)
			if err != nil {
				errs[text] = err
			} else {
				results[text] = result
			}
		}
		if err := errs[text]; err != nil {
			failed = append(failed, fleet.Problem{
				Severity: fleet.SeverityError,
				Kind:     fleet.KindConfigValue,
				Object:   t.leaf.from.ref(),
				Position: t.leaf.place().Position,
				Message:  fmt.Sprintf("evaluate %s: %v", t.path, err),
				Hint:     "correct the template, or make single quotes part of the text if it is not a template",
			})
		}
	}
	return results, failed
}
