package bundle

import (
	"path"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/pull"
)

// Applies reports whether a reconciler may apply a file, by its name, or skips others because of it, as Flux does because
// of a .sourceignore. Others, such as a README, change nothing on clusters.
func Applies(file string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json", ".jsonnet", ".sourceignore"}, strings.ToLower(path.Ext(file))) || path.Base(file) == "Kustomization"
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

// permit adds the files that were added to a folder, except for those that the GitOpsRepo leaves to others. In the folder
// of an assignment, it can't: its reconciler would apply them.
func (p *Published) permit(f *Folder) {
	for _, file := range f.added {
		below := strings.TrimPrefix(strings.TrimPrefix(file, p.branch.Root), "/")
		target, _, _ := strings.Cut(strings.TrimPrefix(below, f.Name+"/"), "/")
		if _, ours := f.Assignment(target); !ours && p.branch.Unmanaged.Has(f.Name, below) {
			p.Unmanaged = append(p.Unmanaged, file)
			continue
		}
		p.Added = append(p.Added, file)
	}
}

// addedToPull adds the files beside the one with which a cluster pulls: the cluster applies its whole folder.
func (p *Published) addedToPull(root, cluster string) {
	at := pull.Folder(cluster)
	p.branch.Top.folder(path.Join(root, at)).files(at, func(f File) bool {
		switch file := path.Join(root, f.Path); {
		case file == pullPath(root, cluster) || !Applies(file):
		case p.branch.Unmanaged.Has(at, f.Path):
			p.Unmanaged = append(p.Unmanaged, file)
		default:
			p.Added = append(p.Added, file)
		}
		return true
	})
}
