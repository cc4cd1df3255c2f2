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
	// Path is the key, dotted within maps: "logging.level". List elements are addressed by name,
	// "hosts[west]", or else by index, "hosts[0]". Keys that contain any of .[]" are quoted.
	Path  string `json:"path"`
	Value string `json:"value"`
	// Expression is the expression that computed the value, and Reads what it reads, sorted: "config.HOST", "clusterType.labels.region".
	Expression string   `json:"expression,omitempty"`
	Reads      []string `json:"reads,omitempty"`
	// From is the layer that won.
	From Layer `json:"from"`
	// Over are the values it overrode, in decreasing precedence.
	Over []Overridden `json:"over,omitempty"`
}

// Layer is the position of a value in a layer.
type Layer struct {
	ConfigMap string         `json:"configMap"`
	Position  fleet.Position `json:"position"`
	// Labels is the number of the layer's labels: its specificity.
	Labels int `json:"labels"`
}

// Overridden is a value that lost.
type Overridden struct {
	Layer
	// Value starts with the path of the leaf if a whole map or list was replaced: "level: debug".
	Value string `json:"value"`
}

func (n *node) appendKeys(keys []Key, name string) []Key {
	n.eachLeaf(name, func(path string, leaf *node) {
		k := Key{Path: path, Value: leaf.text(), From: leaf.place(), Over: leaf.overridden()}
		if leaf.formula != nil {
			k.Expression = leaf.formula.String()
			for _, r := range leaf.formula.Reads() {
				k.Reads = append(k.Reads, r.String())
			}
		}
		keys = append(keys, k)
	})
	return keys
}

func sortKeys(keys []Key) {
	slices.SortFunc(keys, func(a, b Key) int {
		// Two leaves share a path only if a top-level key contains a dot.
		return cmp.Or(cmp.Compare(a.Path, b.Path), compareLayers(a.From, b.From), cmp.Compare(a.Value, b.Value))
	})
}

func compareLayers(a, b Layer) int {
	return cmp.Or(cmp.Compare(a.ConfigMap, b.ConfigMap), cmp.Compare(a.Position.Line, b.Position.Line))
}

// overridden returns what a leaf overrode, directly and indirectly, in decreasing precedence.
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

// losers collects all leaves that a leaf overrode, directly and indirectly.
func (n *node) losers(all []loser) []loser {
	for _, l := range n.over {
		all = l.leaf.losers(append(all, l))
	}
	return all
}

func (n *node) place() Layer {
	p := n.from.config.Position
	p.Line = n.line
	return Layer{ConfigMap: n.from.config.Name, Position: p, Labels: n.from.rank}
}

// eachLeaf calls f for every leaf at or below n with its path, in the order of keys and elements.
// Empty maps and lists are leaves.
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

// segment formats a key as a part of a path, quoted if it is ambiguous.
func segment(key string) string {
	if key == "" || strings.ContainsAny(key, `.[]"`) {
		return strconv.Quote(key)
	}
	return key
}

// elementNames returns the addresses of list elements: the name if it is unique, else the index.
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
