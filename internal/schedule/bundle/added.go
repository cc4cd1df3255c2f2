package bundle

import (
	"path"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Applies reports whether a reconciler may apply a file, by its name. Others, such as a README, change nothing on
// clusters.
func Applies(file string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json", ".jsonnet"}, strings.ToLower(path.Ext(file))) || path.Base(file) == "Kustomization"
}

// addedTo returns the files in a recorded folder that clusters may apply and that no inventory lists. The folder
// was read with everything below it. Below a folder with inventories of its own, another environment may have its
// files.
func (f *Folder) addedTo(at string, t *Tree) []string {
	if t == nil {
		return nil
	}
	var added []string
	found := func(file File) bool {
		if Applies(file.Path) {
			added = append(added, file.Path)
		}
		return true
	}
	for _, e := range t.entries {
		a, ours := f.Assignment(e.Name)
		where := path.Join(at, e.Name)
		switch {
		case e.Tree == nil:
			found(File{Path: where})
		case ours:
			e.Tree.files(where, func(file File) bool {
				return slices.ContainsFunc(a.Files, func(own File) bool { return own.Path == file.Path }) || found(file)
			})
		case f.Name != fleet.ClustersFolder && e.Name != ownFolder && !e.Tree.own:
			e.Tree.files(where, found)
		}
	}
	return added
}
