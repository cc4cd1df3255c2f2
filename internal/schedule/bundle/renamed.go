package bundle

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/text/nearest"
)

// renamedKeys explains why the configuration of a published assignment must not change: a key is gone, or has another value, and a new key has
// nearly its name; or the published configuration cannot be read, so that this is not known. It returns nil if none is.
func (f *folderBuild) renamedKeys(s *step) *fleet.Problem {
	if s.published == nil || f.options.Approved {
		return nil
	}
	for _, file := range s.assignment.Files {
		if !IsConfig(file.Path) {
			continue
		}
		before, found := s.published.File(file.Name())
		if !found || before.Hash == file.Hash {
			continue
		}
		old, err := f.builder.published.Read(before.Path)
		if err != nil {
			s.unread = true
			p := withheld(s.published, fmt.Sprintf("its published configuration cannot be read, so that it is not known which keys it would lose: %v", err), fleet.Unreadable{})
			p.Position = fleet.Position{Source: "gitops", File: before.Path}
			p.Hint = "it stays as published until the file can be read, or removals are approved"
			return p
		}
		if gone, now := f.mistyped.renamed(old, file.Content()); gone != "" {
			p := withheld(s.published, fmt.Sprintf("its configuration would lose %s, probably because of a typo: there is a new key %s", gone, now), fleet.Unreadable{})
			p.Hint = "it stays as published until that is corrected, or removals are approved"
			for _, k := range s.composed.Keys() {
				if k.Path == now || strings.HasPrefix(k.Path, now+".") || strings.HasPrefix(k.Path, now+"[") {
					p.Object, p.Position = configRef(k.From.ConfigMap), k.From.Position
				}
			}
			return p
		}
	}
	return nil
}

// renames identifies two configurations, without what they have besides.
type renames struct{ was, is [sha256.Size]byte }

// renamed is the function renamed for two texts. Many assignments share their configurations.
func (m *mistyped) renamed(was, is []byte) (gone, now string) {
	was, is = withoutHead(was), withoutHead(is)
	key := renames{sha256.Sum256(was), sha256.Sum256(is)}
	if known, ok := m.renames.Load(key); ok {
		found, _ := known.([2]string)
		return found[0], found[1]
	}
	gone, now = renamed(settings(was), settings(is))
	m.renames.Store(key, [2]string{gone, now})
	return gone, now
}

// withoutHead returns a ConfigMap's text from its data on, which does not have the name of the assignment.
func withoutHead(text []byte) []byte {
	if i := bytes.Index(text, []byte("\ndata:")); i >= 0 {
		return text[i+1:]
	}
	return text
}

// renamed returns a key of a configuration that another one does not have, or has with another value, and the new key that is nearly the same.
func renamed(was, is map[string]string) (gone, now string) {
	for _, key := range slices.Sorted(maps.Keys(is)) {
		if _, known := was[key]; known {
			continue
		}
		above, name := parent(key)
		for _, old := range slices.Sorted(maps.Keys(was)) {
			aboveOld, oldName := parent(old)
			if above != aboveOld || !nearest.IsTypo(name, oldName) {
				continue
			}
			if value, stays := is[old]; !stays || value != was[old] && was[old] == is[key] {
				return old, key
			}
		}
	}
	return "", ""
}

// parent returns the path above the last key of a path, and the key.
func parent(path string) (above, key string) {
	i := strings.LastIndexByte(path, '.')
	return path[:i+1], path[i+1:]
}

// settings returns the keys of a rendered configuration with their values: those of the data of a ConfigMap and below it, or of a shell script.
func settings(text []byte) map[string]string {
	all := map[string]string{}
	if !bytes.Contains(text, []byte("data:")) {
		for line := range bytes.Lines(text) {
			if key, value, ok := bytes.Cut(bytes.TrimPrefix(bytes.TrimSpace(line), []byte("export ")), []byte("=")); ok {
				all[string(key)] = string(value)
			}
		}
		return all
	}
	var d struct{ Data yaml.Node }
	if yaml.Unmarshal(text, &d) == nil {
		addSettings("", &d.Data, all, 0)
	}
	return all
}

// maxSettings bounds how deep maps are compared.
const maxSettings = 16

func addSettings(path string, n *yaml.Node, all map[string]string, depth int) {
	if n.Kind == yaml.ScalarNode && strings.Contains(n.Value, ":") {
		var inner yaml.Node
		if yaml.Unmarshal([]byte(n.Value), &inner) == nil && len(inner.Content) == 1 && inner.Content[0].Kind == yaml.MappingNode {
			n = inner.Content[0]
		}
	}
	if n.Kind != yaml.MappingNode || depth == maxSettings {
		if path != "" {
			text, _ := yaml.Marshal(n)
			all[path] = string(text)
		}
		return
	}
	if path != "" {
		all[path], path = "", path+"."
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		addSettings(path+n.Content[i].Value, n.Content[i+1], all, depth+1)
	}
}
