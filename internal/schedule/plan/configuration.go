package plan

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/config"
)

// ConfigChange is a configuration key that differs.
type ConfigChange struct {
	// Key is the key, dotted within maps.
	Key string `json:"key"`
	// Old and New are the values as text; nil if the key is not set.
	Old *string `json:"old,omitempty"`
	New *string `json:"new,omitempty"`
	// From is where the new value is written; zero if the key is removed or its origin is unknown.
	From fleet.Position `json:"from,omitzero"`
	// Over is the place with the highest precedence that it overrides; zero if there is none.
	Over fleet.Position `json:"over,omitzero"`
}

// configChanges compares the data of two rendered configurations. The files that the old one was composed from may no
// longer exist, so only its rendered text is compared. The origins of the new values are known.
func (d *details) configChanges(old, now []byte, composed *config.Composed) []ConfigChange {
	return CompareConfig(d.configData(old), d.configData(now), func(key string) (from, over fleet.Position) { return d.origin(composed, key) })
}

// CompareConfig compares two configurations, values by key. The changes are sorted by key. origin returns where the
// new value of a key is written, and what it overrides.
func CompareConfig(was, is map[string]string, origin func(key string) (from, over fleet.Position)) []ConfigChange {
	var changes []ConfigChange
	for _, key := range sortedKeys(was, is) {
		o, inOld := was[key]
		n, inNew := is[key]
		if inOld == inNew && o == n {
			continue
		}
		c := ConfigChange{Key: key}
		if inOld {
			c.Old = &o
		}
		if inNew {
			c.New = &n
			c.From, c.Over = origin(key)
		}
		changes = append(changes, c)
	}
	return changes
}

// origin returns where the value of a rendered key is written, and what it overrides. If a template renders a map as
// one value, the origin is that of its first leaf.
func (d *details) origin(composed *config.Composed, key string) (from, over fleet.Position) {
	if composed == nil {
		return from, over
	}
	for _, k := range d.keysOf(composed) {
		if k.Path == key || strings.HasPrefix(k.Path, key+".") || strings.HasPrefix(k.Path, key+"[") {
			if len(k.Over) > 0 {
				over = k.Over[0].Position
			}
			return k.From.Position, over
		}
	}
	return from, over
}

// keysOf returns the keys of a configuration, which several assignments share.
func (d *details) keysOf(composed *config.Composed) []config.Key {
	keys, known := d.keys[composed]
	if !known {
		keys = composed.Keys()
		d.keys[composed] = keys
	}
	return keys
}

// configData returns the leaves of a rendered configuration: the data of a ConfigMap, or the exports of a shell
// script. Other formats have no keys to compare.
func (d *details) configData(text []byte) map[string]string {
	section := dataSection(text)
	if leaves, ok := d.data[string(section)]; ok {
		return leaves
	}
	leaves := map[string]string{}
	if bytes.HasPrefix(section, []byte("data:")) {
		var doc struct{ Data yaml.Node }
		if yaml.Unmarshal(section, &doc) == nil {
			flatten("", &doc.Data, leaves)
		}
	} else {
		exports(section, leaves)
	}
	d.data[string(section)] = leaves
	return leaves
}

// dataSection returns a ConfigMap's text starting at its data. It does not contain the assignment's name, so that one
// parsed section serves all assignments with the same configuration.
func dataSection(text []byte) []byte {
	if bytes.HasPrefix(text, []byte("data:")) {
		return text
	}
	if i := bytes.Index(text, []byte("\ndata:")); i >= 0 {
		return text[i+1:]
	}
	return text
}

// flatten adds the leaves below a node. A text that contains a YAML map, such as a rendered map, is parsed, too.
func flatten(prefix string, n *yaml.Node, leaves map[string]string) {
	if n.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(n.Content); i += 2 {
			key := n.Content[i].Value
			if prefix != "" {
				key = prefix + "." + key
			}
			flatten(key, n.Content[i+1], leaves)
		}
		return
	}
	if n.Kind == yaml.ScalarNode {
		var inner yaml.Node
		if strings.Contains(n.Value, "\n") && yaml.Unmarshal([]byte(n.Value), &inner) == nil &&
			len(inner.Content) == 1 && inner.Content[0].Kind == yaml.MappingNode {
			flatten(prefix, inner.Content[0], leaves)
			return
		}
		leaves[prefix] = n.Value
		return
	}
	if text, err := yaml.Marshal(n); err == nil && prefix != "" {
		leaves[prefix] = strings.TrimSpace(string(text))
	}
}

// exports reads the lines "export KEY=value" of a shell script, in the format of the built-in template. Of a value
// with several lines, only the first one is read.
func exports(text []byte, leaves map[string]string) {
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "export "); ok {
			if key, value, ok := strings.Cut(rest, "="); ok {
				leaves[key] = strings.Trim(value, `'"`)
			}
		}
	}
}

// mergeRenamed merges the changes of a renamed configuration file, which is removed under one name and added under
// another: a key that is in both only changed if its value did.
func mergeRenamed(changes []ConfigChange) []ConfigChange {
	var merged []ConfigChange
	for _, c := range changes {
		last := len(merged) - 1
		if last < 0 || merged[last].Key != c.Key {
			merged = append(merged, c)
			continue
		}
		m := &merged[last]
		if c.Old != nil {
			m.Old = c.Old
		}
		if c.New != nil {
			m.New, m.From, m.Over = c.New, c.From, c.Over
		}
	}
	return slices.DeleteFunc(merged, func(c ConfigChange) bool { return c.Old != nil && c.New != nil && *c.Old == *c.New })
}

func sortedKeys(a, b map[string]string) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}
