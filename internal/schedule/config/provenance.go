package config

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Key is one leaf of a configuration with its provenance.
type Key struct {
	// Path is the key, dotted within maps: "logging.level". Elements of lists are addressed by their name,
	// "hosts[west]", or else by their index, "hosts[0]". Keys within maps that contain such characters are quoted.
	Path string `json:"path"`
	// Value is the value as text.
	Value string `json:"value"`
	// From is the layer that won.
	From Layer `json:"from"`
	// Over are the layers it won against, the strongest first.
	Over []Overridden `json:"over,omitempty"`
}

// Layer is the place a value was written at.
type Layer struct {
	ConfigMap string         `json:"configMap"`
	Position  fleet.Position `json:"position"`
	// Labels is the number of labels that matched, which is the layer's rank.
	Labels int `json:"labels"`
}

// Overridden is a value that lost.
type Overridden struct {
	Layer
	// Value is the value as text. Where a whole map or list was replaced it says which leaf of it this was: "level: debug".
	Value string `json:"value"`
}

// appendKeys appends the leaves of one key.
func (n *node) appendKeys(keys []Key, name string) []Key {
	n.eachLeaf(name, func(path string, leaf *node) {
		keys = append(keys, Key{Path: path, Value: leaf.text(), From: leaf.place(), Over: leaf.overridden()})
	})
	return keys
}

func sortKeys(keys []Key) {
	slices.SortFunc(keys, func(a, b Key) int {
		// Two leaves can share a path only when a top-level key contains a dot; their places decide then.
		return cmp.Or(cmp.Compare(a.Path, b.Path), compareLayers(a.From, b.From), cmp.Compare(a.Value, b.Value))
	})
}

func compareLayers(a, b Layer) int {
	return cmp.Or(cmp.Compare(a.ConfigMap, b.ConfigMap), cmp.Compare(a.Position.Line, b.Position.Line))
}

// overridden lists what a leaf won against, directly and through what it won against, the strongest first.
func (n *node) overridden() []Overridden {
	if len(n.over) == 0 {
		return nil
	}
	losers := n.losers(nil)
	slices.SortStableFunc(losers, func(a, b loser) int { return b.leaf.from.order - a.leaf.from.order })
	all := make([]Overridden, len(losers))
	for i, l := range losers {
		all[i] = Overridden{Layer: l.leaf.place(), Value: l.within + l.leaf.text()}
	}
	return all
}

// losers follows the chain of what a leaf won against down to the first value that was written.
func (n *node) losers(all []loser) []loser {
	for _, l := range n.over {
		all = l.leaf.losers(append(all, l))
	}
	return all
}

// place is where the node was written.
func (n *node) place() Layer {
	p := n.from.config.Position
	p.Line = n.line
	return Layer{ConfigMap: n.from.config.Name, Position: p, Labels: n.from.rank}
}

// eachLeaf calls f for every leaf below n with its path. Empty maps and lists are leaves.
// The order is that of the keys and of the elements.
func (n *node) eachLeaf(path string, f func(path string, leaf *node)) {
	if n.leaf() {
		f(path, n)
		return
	}
	for _, key := range n.keys() {
		n.fields[key].eachLeaf(path+"."+segment(key), f)
	}
	names := elementNames(n.items)
	for i, item := range n.items {
		item.eachLeaf(path+"["+names[i]+"]", f)
	}
}

// segment is a key as a part of a path, quoted where it could be taken for several.
func segment(key string) string {
	if key == "" || strings.ContainsAny(key, `.[]"`) {
		return strconv.Quote(key)
	}
	return key
}

// elementNames addresses the elements of a list: by name where that tells them apart, else by index.
func elementNames(items []*node) []string {
	names := make([]string, len(items))
	taken := map[string]bool{}
	for i, item := range items {
		names[i] = strconv.Itoa(i)
		name, named := item.name()
		_, err := strconv.Atoi(name)
		if looksLikeIndex := err == nil; named && !looksLikeIndex && !taken[name] {
			taken[name] = true
			names[i] = segment(name)
		}
	}
	return names
}
