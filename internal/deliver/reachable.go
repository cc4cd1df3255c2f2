package deliver

import (
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/konfig"
)

// reachable selects the files that kustomizations in folders can use: those that they name, and those that these name.
// Whatever else is in the repository, such as kustomizations of other programs, has no effect.
func (f *Files) reachable(folders []string) (func(Entry) bool, error) {
	r := reach{files: f, entries: map[string]bool{}, folders: map[string]bool{"": true}, used: map[string]bool{}}
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
}

// folder follows the kustomization in a folder.
func (r *reach) folder(folder string) error {
	for _, name := range konfig.RecognizedKustomizationFileNames() {
		if err := r.file(path.Join(folder, name), true); err != nil {
			return err
		}
	}
	return nil
}

// file adds a file. The texts in one that is followed name others, relative to its folder.
func (r *reach) file(at string, follow bool) error {
	if !r.entries[at] || r.used[at] {
		return nil
	}
	r.used[at] = true
	if ext := path.Ext(at); !follow || ext != ".yaml" && ext != ".yml" && path.Base(at) != "Kustomization" {
		return nil
	}
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
		if err := r.node(path.Dir(at), &document, true); err != nil {
			return err
		}
	}
}

// plugins are the fields whose files name files themselves.
var plugins = []string{"generators", "transformers", "validators"}

func (r *reach) node(folder string, n *yaml.Node, root bool) error {
	switch n.Kind {
	case yaml.ScalarNode:
		return r.text(folder, n.Value, false)
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if root && slices.Contains(plugins, n.Content[i].Value) {
				for _, item := range n.Content[i+1].Content {
					if err := r.text(folder, item.Value, true); err != nil {
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

// text follows a text that may be a file or folder, or KEY=FILE as in a generator.
func (r *reach) text(folder, text string, follow bool) error {
	if text == "" || len(text) > 1024 || strings.Contains(text, "\n") {
		return nil
	}
	_, file, _ := strings.Cut(text, "=")
	for _, named := range []string{text, file} {
		at := path.Join(folder, named)
		switch {
		case named == "" || at == ".." || strings.HasPrefix(at, "../"):
		case r.entries[at]:
			if err := r.file(at, follow); err != nil {
				return err
			}
		case r.folders[strings.TrimPrefix(at, ".")]:
			if err := r.folder(strings.TrimPrefix(at, ".")); err != nil {
				return err
			}
		}
	}
	return nil
}
