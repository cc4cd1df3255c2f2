package bundle

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/config"
)

// mistyped finds typos in labels and references, by which a published assignment would be removed or lose values. Labels are an open
// map, so that only what is published tells that another one was meant.
type mistyped struct {
	words func() *fleet.Words // collected when they are needed

	mu sync.Mutex
	// layers are the ConfigMaps that a published assignment was made from, and do not apply any more.
	layers map[layersKey][]*fleet.ConfigMap

	renames sync.Map // what [mistyped.renamed] found, by the texts
}

// layersKey are what an assignment was made from, and what it is made from now. Many assignments share both.
type layersKey struct {
	published *Sources
	now       *config.Layers
}

func newMistyped(s *fleet.Snapshot) *mistyped {
	return &mistyped{words: sync.OnceValue(func() *fleet.Words { return fleet.NewWords(s) }), layers: map[layersKey][]*fleet.ConfigMap{}}
}

const typoHint = "it stays as published until that is corrected, or the label is changed where it is asked for, too; or until removals are approved"

// removedBy explains why a published assignment that is no longer wanted must not be removed: a policy does not select it because of
// a typo. It returns nil if it can be removed.
func (b *builder) removedBy(published *Assignment, ct *fleet.ClusterType) *fleet.Problem {
	t := b.target(published.Target)
	if t == nil || ct == nil || b.options.Approved {
		return nil
	}
	for _, name := range published.Policies {
		i, found := slices.BinarySearchFunc(b.snapshot.Policies, name, func(p *fleet.Policy, name string) int { return cmp.Compare(p.Name, name) })
		if !found {
			continue
		}
		p := b.snapshot.Policies[i]
		if typo := b.mistyped.words().Deselected(p, t, ct); typo != "" {
			problem := withheld(published, "it is no longer scheduled, probably because of a typo: "+typo, fleet.Unreadable{Ref: policyRef(p.Name), Position: p.Position})
			problem.Hint = typoHint
			return problem
		}
	}
	return nil
}

func (b *builder) target(name string) *fleet.Target {
	i, ok := slices.BinarySearchFunc(b.snapshot.Targets, name, func(t *fleet.Target, name string) int { return cmp.Compare(t.Name, name) })
	if !ok {
		return nil
	}
	return b.snapshot.Targets[i]
}

// strippedBy explains why a published assignment must not lose the values of a ConfigMap: its labels do not match because of a typo.
func (f *folderBuild) strippedBy(published *Assignment, composed *config.Composed, t *fleet.Target) *fleet.Problem {
	if published == nil || published.Sources == nil || composed == nil || f.options.Approved {
		return nil
	}
	for _, c := range f.mistyped.lostLayers(f.snapshot, layersKey{published.Sources, composed.Layers}) {
		if typo := f.mistyped.words().Unlayered(c, t, f.clusterType); typo != "" {
			problem := withheld(published, fmt.Sprintf("%s, whose values do not apply any more, probably because of a typo: %s", madeFrom(configRef(c.Name)), typo),
				fleet.Unreadable{Ref: configRef(c.Name), Position: c.Position})
			problem.Hint = typoHint
			return problem
		}
	}
	return nil
}

// lostLayers returns the ConfigMaps that are there and were layers of published assignments, but are not any more.
func (m *mistyped) lostLayers(s *fleet.Snapshot, key layersKey) []*fleet.ConfigMap {
	m.mu.Lock()
	defer m.mu.Unlock()
	lost, known := m.layers[key]
	if known {
		return lost
	}
	names := key.now.Names()
	for _, ref := range key.published.Refs() {
		if ref.Kind != "ConfigMap" || slices.Contains(names, ref.Name) {
			continue
		}
		for _, c := range s.Configs {
			if c.Name == ref.Name && !c.Store {
				lost = append(lost, c)
			}
		}
	}
	m.layers[key] = lost
	return lost
}
