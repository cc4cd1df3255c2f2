package config

import (
	"fmt"
	"slices"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/text/schemas"
)

// conflicts returns a warning for each key that equally specific layers give different values.
// Values are compared unevaluated, so that the warning is the same for every assignment.
func conflicts(layers []*layer) []fleet.Problem {
	var found []fleet.Problem
	for start := 0; start < len(layers); {
		end := start
		for end < len(layers) && layers[end].rank == layers[start].rank && layers[end].step() == layers[start].step() {
			end++
		}
		found = append(found, conflictsAmong(layers[start:end])...)
		start = end
	}
	return found
}

// conflictsAmong compares every pair of layers of one rank, for the keys that both have.
func conflictsAmong(equals []*layer) []fleet.Problem {
	var found []fleet.Problem
	earlier := map[string][]*node{}
	for _, l := range equals {
		for _, e := range l.entries {
			for _, other := range earlier[e.key] {
				eachDifference(e.key, other, e.value, func(path string, a, b *node) {
					found = append(found, conflict(path, a, b))
				})
			}
			earlier[e.key] = append(earlier[e.key], e.value)
		}
	}
	return found
}

// eachDifference calls f where merging b over a loses something of a.
func eachDifference(path string, a, b *node, f func(path string, a, b *node)) {
	switch {
	case a.kind == mapping && b.kind == mapping && !b.replaces:
		for _, key := range a.keys() {
			if field, shared := b.fields[key]; shared {
				eachDifference(path+"."+segment(key), a.fields[key], field, f)
			}
		}
	case a.kind == list && b.kind == list && !b.replaces:
		eachElementDifference(path, a, b, f)
	case !a.same(b):
		f(path, a, b)
	}
}

// eachElementDifference compares the elements with the same name. The others are appended and lose nothing.
func eachElementDifference(path string, a, b *node, f func(path string, a, b *node)) {
	for _, item := range b.items {
		name, named := item.name()
		if !named {
			continue
		}
		sameName := func(other *node) bool {
			n, ok := other.name()
			return ok && n == name
		}
		if i := slices.IndexFunc(a.items, sameName); i >= 0 {
			eachDifference(path+"["+segment(name)+"]", a.items[i], item, f)
		}
	}
}

// conflict is the problem for a key where b wins over a only by the name of its ConfigMap.
func conflict(path string, a, b *node) fleet.Problem {
	winner, loser := b.place(), a.place()
	return fleet.Problem{
		Severity: fleet.SeverityWarning,
		Kind:     fleet.KindConfigConflict,
		Object:   b.from.ref(),
		Position: winner.Position,
		Message: fmt.Sprintf("%s is %s here and %s in %s (ConfigMap %s), which is equally specific; %s wins by its name",
			path, summary(path, b), summary(path, a), loser.Position, loser.ConfigMap, winner.ConfigMap),
		Hint: "remove one of the two values, or add a label to one of the ConfigMaps",
	}
}

// summary formats a value of any shape for a message.
func summary(key string, n *node) string {
	if n.leaf() {
		return quote(key, n)
	}
	return check.RedactValue(key, schemas.Show(n.data()))
}
