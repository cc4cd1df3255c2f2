package deliver

import (
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/internal/chart"
)

// reachable selects the files that kustomizations in folders can use: those that they name, and those that these name.
// Whatever else is in the repository, such as kustomizations of other programs, has no effect.
func (f *Files) reachable(folders []string) (func(Entry) bool, error) {
	r := reach{files: f, entries: map[string]bool{}, folders: map[string]bool{"": true}, used: map[string]bool{}, followed: map[[2]string]bool{}}
	for _, e := range f.Entries {
		r.entries[e.Path] = true
		for dir := path.Dir(e.Path); dir != "."; dir = path.Dir(dir) {
			r.folders[dir] = true
		}
	}
	for _, folder := range folders {
		if err := r.folder(folder); err != nil {
			return nil, err
		}
	}
	return func(e Entry) bool { return r.used[e.Path] }, nil
}

// reach collects the files that kustomizations use.
type reach struct {
	files            *Files
	entries, folders map[string]bool
	used             map[string]bool
	// followed are the kustomizations that were followed, and the configurations of plugins with the folder of the kustomization that uses
	// them.
	followed map[[2]string]bool
}

// folder follows the kustomization in a folder: its texts name files and folders, relative to it.
func (r *reach) folder(folder string) error {
	for _, name := range chart.KustomizationFiles {
		at := path.Join(folder, name)
		if key := [2]string{"", at}; r.entries[at] && !r.followed[key] {
			r.followed[key], r.used[at] = true, true
			if err := r.documents(at, func(document *yaml.Node) error { return r.node(folder, document, true) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// plugins are the fields whose files name files themselves.
var plugins = []string{"generators", "transformers", "validators"}

func (r *reach) node(folder string, n *yaml.Node, root bool) error {
	switch n.Kind {
	case yaml.ScalarNode:
		return r.text(folder, n.Value)
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if root && slices.Contains(plugins, n.Content[i].Value) {
				for _, item := range n.Content[i+1].Content {
					if err := r.plugin(folder, path.Join(folder, item.Value)); err != nil {
						return err
					}
				}
			}
			if err := r.node(folder, n.Content[i+1], false); err != nil {
				return err
			}
		}
		return nil
	}
	for _, child := range n.Content {
		if err := r.node(folder, child, root && n.Kind == yaml.DocumentNode); err != nil {
			return err
		}
	}
	return nil
}

// plugin adds a file that configures plugins, or those that the kustomization of a folder lists. The plugins read files relative to the
// kustomization that uses them, in base.
func (r *reach) plugin(base, at string) error {
	at = strings.TrimPrefix(at, ".")
	if r.followed[[2]string{base, at}] {
		return nil
	}
	r.followed[[2]string{base, at}] = true
	if r.entries[at] {
		r.used[at] = true
		return r.documents(at, func(document *yaml.Node) error { return r.node(base, document, false) })
	}
	for _, name := range chart.KustomizationFiles {
		file := path.Join(at, name)
		if !r.folders[at] || !r.entries[file] {
			continue
		}
		r.used[file] = true
		if err := r.documents(file, func(document *yaml.Node) error { return r.listed(base, at, document) }); err != nil {
			return err
		}
	}
	return nil
}

// listed follows all texts of a plugin folder's kustomization, which lists files and folders.
func (r *reach) listed(base, folder string, n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode && n.Value != "" && len(n.Value) <= 1024 {
		return r.plugin(base, path.Join(folder, n.Value))
	}
	for _, child := range n.Content {
		if err := r.listed(base, folder, child); err != nil {
			return err
		}
	}
	return nil
}

// documents calls follow for the documents of a file.
func (r *reach) documents(at string, follow func(*yaml.Node) error) error {
	content, err := r.files.Read(at)
	if err != nil {
		return err
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(content)))
	for {
		var document yaml.Node
		if decoder.Decode(&document) != nil {
			return nil // the end, or what kustomize reports
		}
		if err := follow(&document); err != nil {
			return err
		}
	}
}

// text follows a text that may be a file or folder, or KEY=FILE as in a generator.
func (r *reach) text(folder, text string) error {
	if text == "" || len(text) > 1024 || strings.Contains(text, "\n") {
		return nil
	}
	_, file, _ := strings.Cut(text, "=")
	for _, named := range []string{text, file} {
		at := path.Join(folder, named)
		switch {
		case named == "" || at == ".." || strings.HasPrefix(at, "../"):
		case r.entries[at]:
			r.used[at] = true
		case r.folders[strings.TrimPrefix(at, ".")]:
			if err := r.folder(strings.TrimPrefix(at, ".")); err != nil {
				return err
			}
		}
	}
	return nil
}
