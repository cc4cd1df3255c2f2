package fleet

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// Unmanaged are the paths in the folders of a GitOps branch that Kalypso leaves to others, as a GitOpsRepo lists them:
// "drone/flux-system/", "clusters/*/flux-system/", "drone/kustomization.yaml". A "*" is one whole name. The last name is
// never a "*", so that each path says what it permits.
type Unmanaged []string

// Has reports whether a path covers a file, and names a file or folder below the given one. All are relative to the root
// for generated files. A path that covers the whole folder doesn't count: it would permit everything in it.
func (u Unmanaged) Has(folder, file string) bool {
	names, depth := strings.Split(file, "/"), strings.Count(folder, "/")+1
	return slices.ContainsFunc(u, func(pattern string) bool {
		whole, isFolder := strings.CutSuffix(pattern, "/")
		parts := strings.Split(whole, "/")
		if len(parts) <= depth || len(parts) > len(names) || len(parts) == len(names) && isFolder || len(parts) < len(names) && !isFolder {
			return false
		}
		for i, part := range parts {
			if part != "*" && part != names[i] {
				return false
			}
		}
		return true
	})
}

// maxUnmanaged is how many paths a GitOpsRepo can list.
const maxUnmanaged = 64

// checkUnmanaged reports and removes paths that cannot be used. Files that only they cover remain a problem, which is
// safe.
func checkUnmanaged(d *decoder, root *yaml.Node, repo *v1alpha1.GitOpsRepo) {
	list := lookup(root, "spec", "unmanaged")
	if list == nil || list.Kind != yaml.SequenceNode {
		return
	}
	var usable []string
	for i, pattern := range repo.Spec.Unmanaged {
		at := list
		if i < len(list.Content) {
			at = list.Content[i]
		}
		if i == maxUnmanaged {
			d.report(SeverityError, KindInvalidValue, at, "name a folder that has them", "spec.unmanaged has more than 64 paths; the others are not used")
			break
		}
		if err := checkUnmanagedPath(pattern); err != nil {
			d.report(SeverityError, KindInvalidValue, at, `write the path of a file, or of a folder with "/" at its end, as in */flux-system/`,
				"spec.unmanaged "+quoteShort(pattern)+" "+err.Error()+"; the path is not used")
			continue
		}
		usable = append(usable, pattern)
	}
	repo.Spec.Unmanaged = usable
}

func checkUnmanagedPath(pattern string) error {
	whole, _ := strings.CutSuffix(pattern, "/")
	clean, err := CleanPath(whole)
	parts := strings.Split(whole, "/")
	switch {
	case err != nil:
		return fmt.Errorf("is not usable: %w", err)
	case clean != whole || whole == "":
		return errors.New("is not in its shortest form")
	case len(parts) < 2:
		return errors.New("is a folder that Kalypso writes, or outside of them, where it is not needed")
	case parts[len(parts)-1] == "*":
		return errors.New(`ends with "*", which would permit everything there`)
	case slices.ContainsFunc(parts, func(p string) bool { return p != "*" && strings.ContainsAny(p, `*?[]\`) }):
		return errors.New(`has a pattern within a name; "*" stands for one whole name`)
	case len(pattern) > maxUnmanagedPath:
		return errors.New("is longer than 1024 characters")
	}
	return nil
}

// maxUnmanagedPath is how many characters a path can have.
const maxUnmanagedPath = 1024
