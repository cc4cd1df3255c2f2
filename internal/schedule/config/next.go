package config

import (
	"maps"
	"reflect"
	"slices"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// few is how many ConfigMaps can have other values for [Composer.Next] to use the rest again. Each is compared with each cluster.
const few = 100

// Next returns the composer of a later snapshot of the same environment, and its problems, like [NewComposer]. If only values
// have changed, in few ConfigMaps, everything else of c is used again. The result is the same. c may be nil.
func (c *Composer) Next(s *fleet.Snapshot) (*Composer, []fleet.Problem) {
	if c == nil {
		return NewComposer(s)
	}
	changed, ok := c.changedValues(s.Configs)
	if !ok || !slices.EqualFunc(c.snapshot.Schemas, s.Schemas, sameSchema) || !reflect.DeepEqual(c.snapshot.Unreadable, s.Unreadable) {
		return NewComposer(s)
	}
	next := &Composer{
		snapshot: s, vocabulary: c.vocabulary, layers: slices.Clone(c.layers), layerIndex: c.layerIndex,
		schemas: c.schemas, byName: c.byName, selecting: c.selecting, schemaIndex: c.schemaIndex,
		unreadable: c.unreadable, unreadableIndex: c.unreadableIndex,
		classes: map[*fleet.Target]*class{}, known: map[string]*class{},
	}
	next.addTargets(s.Targets)
	if !slices.Equal(next.everyTarget, c.everyTarget) || !slices.Equal(next.named, c.named) {
		return NewComposer(s)
	}
	next.follows = true
	for _, config := range changed {
		i := slices.IndexFunc(c.layers, func(l *layer) bool { return l.config.Name == config.Name })
		next.layers[i] = newLayer(config)
		next.layers[i].order = i
		next.changed = append(next.changed, i)
	}
	return next, next.problems()
}

// changedValues returns the ConfigMaps that differ from those of c. ok is false if they are many, or more than their values differ.
func (c *Composer) changedValues(configs []*fleet.ConfigMap) (changed []*fleet.ConfigMap, ok bool) {
	if len(configs) != len(c.snapshot.Configs) {
		return nil, false
	}
	for i, now := range configs {
		was := c.snapshot.Configs[i]
		if was.Digest == now.Digest {
			continue
		}
		if len(changed) == few || was.Store || now.Store || was.Name != now.Name || !maps.Equal(was.Labels, now.Labels) {
			return nil, false
		}
		changed = append(changed, now)
	}
	return changed, true
}

func sameSchema(a, b *fleet.Schema) bool { return a.Name == b.Name && a.Digest == b.Digest }

// Unchanged reports whether the candidates of a cluster type that has not changed are still the same. They must be of the composer
// that c was made from with [Composer.Next]. False means that they may have changed.
func (c *Composer) Unchanged(earlier Candidates) bool {
	return c.follows && !slices.ContainsFunc(c.changed, func(layer int) bool {
		return c.layerIndex.meet(layer, earlier.facts, c.everyTarget)
	})
}
