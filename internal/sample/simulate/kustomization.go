package simulate

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/internal/git"
)

// understood are the supported fields of a kustomization.yaml. Any other field would change what is applied,
// so it is refused, not ignored.
var understood = []string{"apiVersion", "kind", "metadata", "resources", "namespace"}

// addKustomization adds the resources that a kustomization.yaml lists.
func (b *builder) addKustomization(ctx context.Context, e git.Entry) error {
	dir := parent(e.Path)
	if slices.Contains(b.listing, dir) {
		return wrongf("kustomize build failed: accumulating resources: cycle detected: %s lists itself", dir)
	}
	b.listing = append(b.listing, dir)
	defer func() { b.listing = b.listing[:len(b.listing)-1] }()
	k, err := b.readKustomization(ctx, e)
	if err != nil {
		return err
	}
	from := len(b.objects)
	resources, _ := k["resources"].([]any)
	for _, r := range resources {
		name, _ := r.(string)
		if err := b.addResource(ctx, dir, name); err != nil {
			return err
		}
	}
	setNamespace(b.objects[from:], k.text("namespace"), true)
	return nil
}

func (b *builder) readKustomization(ctx context.Context, e git.Entry) (fields, error) {
	data, err := b.read(ctx, e)
	if err != nil {
		return nil, err
	}
	var k fields
	if err := yaml.Unmarshal(data, &k); err != nil {
		return nil, wrongf("kustomize build failed: invalid Kustomization: %s: %s", e.Path, err)
	}
	for name := range k {
		if !slices.Contains(understood, name) {
			return nil, wrongf("kustomize build failed: %s: a simulated cluster supports only resources and namespace", e.Path)
		}
	}
	return k, nil
}

// addResource adds a file or folder that a kustomization.yaml lists. It must lie in the repository:
// a manifest never causes a request to a server.
func (b *builder) addResource(ctx context.Context, dir, name string) error {
	target := path.Join(dir, name)
	if name == "" || path.IsAbs(name) || target == ".." || strings.HasPrefix(target, "../") || strings.Contains(name, "://") {
		return wrongf("kustomize build failed: accumulating resources: %q is not a path in this repository", name)
	}
	target = clean(target)
	entries, err := b.list(ctx, target)
	var wrong *buildError
	switch i := slices.IndexFunc(entries, func(e git.Entry) bool { return isKustomization(e.Path) && parent(e.Path) == target }); {
	case errors.As(err, &wrong):
		return wrongf("kustomize build failed: accumulating resources from '%s': %s", name, wrong.text)
	case err != nil:
		return err
	case len(entries) == 1 && entries[0].Path == target:
		return b.addFile(ctx, entries[0])
	case i >= 0:
		return b.addKustomization(ctx, entries[i])
	}
	return wrongf("kustomize build failed: accumulating resources: unable to find one of 'kustomization.yaml', 'kustomization.yml' in directory '%s'", target)
}
