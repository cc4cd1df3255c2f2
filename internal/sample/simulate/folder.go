package simulate

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kalypso-io/kalypso/internal/git"
)

// Limits of a folder.
const (
	maxFileBytes = 3 << 20
	maxObjects   = 20_000
)

// folder selects files of a commit, and says how their objects are built.
type folder struct {
	path string
	// flat leaves out subfolders, as Argo CD does by default.
	flat bool
	// namespace is the namespace of all objects if override is set, else of those without one.
	namespace string
	override  bool
}

// buildError means that a folder has invalid content. Only another commit can fix it.
type buildError struct {
	missing string // the folder, when there is none
	text    string
}

func (e *buildError) Error() string { return e.text }

func wrongf(format string, args ...any) error { return &buildError{text: fmt.Sprintf(format, args...)} }

// build returns the objects of a folder, in file order.
func build(ctx context.Context, tree *git.Tree, f folder) ([]*manifest, error) {
	b := &builder{tree: tree, flat: f.flat}
	root := clean(f.path)
	entries, err := b.list(ctx, root)
	if err != nil {
		return nil, err
	}
	if err := b.addFolder(ctx, root, entries); err != nil {
		return nil, err
	}
	setNamespace(b.objects, f.namespace, f.override)
	return manifestsOf(b.objects)
}

// clean returns a path relative to the root of the repository, which is "". No path leads out of it.
func clean(p string) string { return strings.TrimPrefix(path.Clean("/"+p), "/") }

func parent(p string) string { return clean(path.Dir(p)) }

// setNamespace sets the namespace of objects; an empty namespace changes nothing.
func setNamespace(objects []*unstructured.Unstructured, namespace string, override bool) {
	for _, u := range objects {
		if namespace == "" || u.GetNamespace() != "" && !override {
			continue
		}
		// An unknown kind counts as namespaced, as in kustomize.
		if k, ok := builtin(u.GroupVersionKind()); !ok || k.namespaced {
			u.SetNamespace(namespace)
		}
	}
}

func manifestsOf(objects []*unstructured.Unstructured) ([]*manifest, error) {
	all := make([]*manifest, 0, len(objects))
	known := make(map[key]bool, len(objects))
	for _, u := range objects {
		m, err := newManifest(u)
		if err != nil {
			return nil, wrongf("%s: %s", u.GetName(), err)
		}
		if known[m.key] {
			return nil, wrongf("may not add resource with an already registered id: %s", m.key)
		}
		known[m.key] = true
		all = append(all, m)
	}
	return all, nil
}

// builder collects the objects of a folder.
type builder struct {
	tree    *git.Tree
	flat    bool
	objects []*unstructured.Unstructured
	// listing holds the folders whose kustomization.yaml is being read, outermost first.
	listing []string
}

// list returns the YAML files at a path or below it.
func (b *builder) list(ctx context.Context, p string) ([]git.Entry, error) {
	entries, err := git.Manifests(ctx, b.tree, p)
	if errors.Is(err, git.ErrPathNotFound) {
		return nil, &buildError{missing: p, text: fmt.Sprintf("stat %s: no such file or directory", p)}
	}
	return entries, err
}

// addFolder adds the files that the folder's kustomization.yaml lists, or all files if it has none.
// A subfolder with a kustomization.yaml of its own is added the same way.
func (b *builder) addFolder(ctx context.Context, dir string, entries []git.Entry) error {
	listing := map[string]bool{}
	for _, e := range entries {
		if isKustomization(e.Path) {
			listing[parent(e.Path)] = true
		}
	}
	for _, e := range entries {
		if b.flat && parent(e.Path) != dir {
			continue
		}
		var err error
		switch of, listed := outermost(dir, e.Path, listing); {
		case !listed:
			err = b.addFile(ctx, e)
		case isKustomization(e.Path) && parent(e.Path) == of:
			err = b.addKustomization(ctx, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// outermost returns the topmost folder between dir and a file that has a kustomization.yaml.
func outermost(dir, file string, listing map[string]bool) (found string, ok bool) {
	for d := parent(file); ; d = parent(d) {
		if listing[d] {
			found, ok = d, true
		}
		if d == dir || d == "" {
			return found, ok
		}
	}
}

func isKustomization(p string) bool {
	return slices.Contains([]string{"kustomization.yaml", "kustomization.yml"}, path.Base(p))
}

func (b *builder) read(ctx context.Context, e git.Entry) ([]byte, error) {
	if e.Mode == git.Symlink || e.Mode == git.Submodule {
		return nil, wrongf("%s is no file of this repository", e.Path)
	}
	data, err := b.tree.Read(ctx, e, maxFileBytes)
	if errors.Is(err, git.ErrTooLarge) {
		return nil, wrongf("%s is larger than %d bytes", e.Path, maxFileBytes)
	}
	return data, err
}

func (b *builder) addFile(ctx context.Context, e git.Entry) error {
	data, err := b.read(ctx, e)
	if err != nil {
		return err
	}
	objects, err := decode(data)
	if err != nil {
		return wrongf("failed to decode Kubernetes YAML from %s: %s", e.Path, err)
	}
	b.objects = append(b.objects, objects...)
	if len(b.objects) > maxObjects {
		return wrongf("more than %d objects", maxObjects)
	}
	return nil
}
