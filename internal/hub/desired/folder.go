package desired

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/yaml"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/hub/artifact"
)

// selected returns the manifests of a folder: all files, or those that its kustomizations list. Kustomizations are not built: one with
// more than resources is an error, because what it says would be lost. One that says that nothing should run is returned itself.
func selected(files []artifact.File) ([]artifact.File, error) {
	byPath := map[string]artifact.File{}
	for _, f := range files {
		byPath[f.Path] = f
	}
	chosen := map[string]bool{}
	if err := choose(byPath, "", chosen, map[string]bool{}); err != nil {
		return nil, err
	}
	if k, ok := artifact.Emptied(files); ok {
		return []artifact.File{k}, nil
	}
	var all []artifact.File
	for _, name := range slices.Sorted(maps.Keys(chosen)) {
		all = append(all, byPath[name])
	}
	return all, nil
}

func choose(files map[string]artifact.File, folder string, chosen, visited map[string]bool) error {
	if visited[folder] {
		return nil
	}
	visited[folder] = true
	for _, name := range artifact.Kustomizations {
		if f, ok := files[path.Join(folder, name)]; ok {
			return chooseListed(files, folder, f, chosen, visited)
		}
	}
	// Without a kustomization everything below counts, except what kustomizations of subfolders leave out.
	subfolders := map[string]bool{}
	for name := range files {
		rest, ok := below(name, folder)
		if !ok {
			continue
		}
		if first, _, isFolder := strings.Cut(rest, "/"); isFolder {
			subfolders[path.Join(folder, first)] = true
		} else {
			chosen[name] = true
		}
	}
	for _, sub := range slices.Sorted(maps.Keys(subfolders)) {
		if err := choose(files, sub, chosen, visited); err != nil {
			return err
		}
	}
	return nil
}

// bounded returns an error if the aliases of a file make it larger than an archive can be: a reader copies what they refer to.
func bounded(files []artifact.File) error {
	for _, f := range files {
		if !bytes.ContainsRune(f.Content, '&') || !bytes.ContainsRune(f.Content, '*') {
			continue
		}
		decoder := yaml.NewDecoder(bytes.NewReader(f.Content))
		for total := 0; ; {
			var n yaml.Node
			if err := decoder.Decode(&n); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return fmt.Errorf("%s: %w", f.Path, err)
			}
			if total += expanded(&n, map[*yaml.Node]int{}); total > artifact.MaxContent {
				return fmt.Errorf("%s has aliases that make it larger than %d MiB", f.Path, artifact.MaxContent>>20)
			}
		}
	}
	return nil
}

// expanded returns the size of a node with what its aliases refer to, at most one more than an archive can have.
func expanded(n *yaml.Node, sizes map[*yaml.Node]int) int {
	const most = artifact.MaxContent + 1
	if n.Kind == yaml.AliasNode {
		size, known := sizes[n.Alias]
		if !known {
			return most // it contains itself
		}
		return size
	}
	size := 1 + len(n.Value)
	for _, c := range n.Content {
		size = min(size+expanded(c, sizes), most)
	}
	sizes[n] = size
	return size
}

func below(name, folder string) (rest string, ok bool) {
	if folder == "" {
		return name, true
	}
	return strings.CutPrefix(name, folder+"/")
}

func chooseListed(files map[string]artifact.File, folder string, f artifact.File, chosen, visited map[string]bool) error {
	var k map[string]any
	if err := kyaml.Unmarshal(f.Content, &k); err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	for key := range k {
		if key != "apiVersion" && key != "kind" && key != "resources" && key != "metadata" {
			return fmt.Errorf("%s has %.100q, and kustomizations are not built for a cluster without a reconciler: only resources can be listed; commit the result of the build", f.Path, key)
		}
	}
	listed, _ := k["resources"].([]any)
	for _, v := range listed {
		text, _ := v.(string)
		at := path.Join(folder, text)
		_, within := below(at, folder)
		switch _, isFile := files[at]; {
		case text == "" || path.IsAbs(text) || !within || strings.Contains(text, "://") || at == ".." || strings.HasPrefix(at, "../"):
			return fmt.Errorf("%s lists %.200q, which is not in the folder", f.Path, text)
		case isFile:
			chosen[at] = true
		case hasFolder(files, at):
			if err := choose(files, at, chosen, visited); err != nil {
				return err
			}
		default:
			return fmt.Errorf("%s lists %.200q, which does not exist, or is not YAML", f.Path, text)
		}
	}
	return nil
}

func hasFolder(files map[string]artifact.File, folder string) bool {
	for name := range files {
		if strings.HasPrefix(name, folder+"/") {
			return true
		}
	}
	return false
}

// documents returns the documents of kind DirectDelivery in the files, in the order of the files.
func documents(files []artifact.File) ([]hub.DirectDelivery, error) {
	var all []hub.DirectDelivery
	for _, f := range files {
		if !bytes.Contains(f.Content, []byte(hub.KindDirectDelivery)) {
			continue
		}
		found, err := documentsIn(f.Content)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Path, err)
		}
		all = append(all, found...)
		if len(all) > hub.MaxDeliveries {
			return nil, fmt.Errorf("it has more than %d documents of kind %s", hub.MaxDeliveries, hub.KindDirectDelivery)
		}
	}
	return all, nil
}

func documentsIn(content []byte) ([]hub.DirectDelivery, error) {
	var all []hub.DirectDelivery
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	for {
		var n yaml.Node
		if err := decoder.Decode(&n); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		var is struct {
			APIVersion string `yaml:"apiVersion"`
			Kind       string `yaml:"kind"`
		}
		if n.Decode(&is) != nil || is.Kind != hub.KindDirectDelivery || !strings.HasPrefix(is.APIVersion, hub.GroupVersion.Group+"/") {
			continue
		}
		if want := hub.GroupVersion.String(); is.APIVersion != want {
			return nil, fmt.Errorf("it has a %s of %.100q, want %s", is.Kind, is.APIVersion, want)
		}
		text, err := yaml.Marshal(&n)
		if err != nil {
			return nil, err
		}
		var d hub.DirectDelivery
		if err := kyaml.UnmarshalStrict(text, &d); err != nil {
			return nil, fmt.Errorf("%s %.100q: %w", is.Kind, d.Name, err)
		}
		if err := d.Spec.Check(); err != nil {
			return nil, fmt.Errorf("%s %.100q: %w", is.Kind, d.Name, err)
		}
		all = append(all, d)
	}
}
