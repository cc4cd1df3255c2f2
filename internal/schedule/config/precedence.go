package config

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Precedence returns a notice for each key whose winner differs from the original scheduler's rule, which ordered
// ConfigMaps by name alone. It helps users who migrate. Templates are compared unevaluated.
func (c *Composer) Precedence(s *Stack, t *fleet.Target) []fleet.Problem {
	sel := s.selection(c.class(t))
	return slices.Clone(sel.precedence())
}

func precedence(layers []*layer) []fleet.Problem {
	byName := func(a, b *layer) int {
		if a.config.Store && b.config.Store {
			return cmp.Compare(a.order, b.order)
		}
		return cmp.Or(cmp.Compare(a.step(), b.step()), cmp.Compare(a.config.Name, b.config.Name))
	}
	if slices.IsSortedFunc(layers, byName) {
		return nil
	}
	original := map[string]Key{}
	for _, key := range winners(slices.SortedFunc(slices.Values(layers), byName)) {
		original[key.Path] = key
	}
	var found []fleet.Problem
	for _, key := range winners(layers) {
		was, exists := original[key.Path]
		if !exists || was.From != key.From {
			found = append(found, outranked(key, was, exists))
		}
	}
	return found
}

// winners returns the leaves that result from applying the layers in this order.
func winners(layers []*layer) []Key {
	var keys []Key
	for key, values := range valuesByKey(layers) {
		keys = fold(values, nil, nil).appendKeys(keys, key)
	}
	sortKeys(keys)
	return keys
}

func outranked(key, was Key, exists bool) fleet.Problem {
	p := fleet.Problem{
		Severity: fleet.SeverityNotice,
		Kind:     fleet.KindConfigPrecedence,
		Object:   fleet.Ref{Kind: "ConfigMap", Name: key.From.ConfigMap},
		Position: key.From.Position,
		Hint:     "no change needed if the more specific value is intended; otherwise change the labels",
	}
	if !exists {
		p.Message = fmt.Sprintf("%s is %s here; if only the ConfigMaps' names counted, it would not exist",
			key.Path, quoteText(key.Path, key.Value))
		return p
	}
	p.Message = fmt.Sprintf("%s is %s here, because %s is more specific; if only names counted, it would be %s from %s (ConfigMap %s)",
		key.Path, quoteText(key.Path, key.Value), key.From.ConfigMap, quoteText(key.Path, was.Value), was.From.Position, was.From.ConfigMap)
	return p
}
