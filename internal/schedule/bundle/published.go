package bundle

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/placement"
)

// Published is what the GitOps branch of an environment holds. It is immutable. Nil is an empty branch.
type Published struct {
	// Folders are the folders of the cluster types and clusters on the branch, sorted by name.
	Folders []*Folder
	// Drift lists the files in the inventories that were changed or deleted by hand, sorted by path.
	Drift []Drift
	// Added lists the files in the folders of the environment that clusters may apply and that no inventory lists,
	// sorted. Kalypso leaves them alone: another program or a user wrote them. Unmanaged are those of them that the
	// GitOpsRepo permits; they are not in Added.
	Added, Unmanaged []string
	// Promoted is the content of the environment's tracking file without white space; empty if there is none.
	Promoted string
	// Problems are inventories that cannot be read, or belong to another environment.
	Problems []fleet.Problem

	branch      Branch
	environment string
	paths       *Paths
	// owners are the problems of cluster types whose folders belong to another environment, by name. None of these
	// folders is in Folders.
	owners map[string]*fleet.Problem
	// elsewhere are the environments with files below other roots of the branch, by root.
	elsewhere map[string]string
	// tracking is the path of the environment's tracking file, which does not have to exist.
	tracking string
	// answers are the recorded answers of external schedulers, by policy.
	answers map[string]*recorded
	// rings are those of the branch; nil if it has none.
	rings *publishedRings
	// undigested means that changes of the branch are not noticed. digests are those of the folders that would be built as they are, by name.
	undigested bool
	digests    map[string]fleet.Digest
}

// ReadPublished determines which files of a branch are ours: those in an inventory and, in folders of the given
// cluster types that have no inventory, those with file names of the original scheduler. Folders whose inventory is that
// of another environment are not ours, as long as it exists: those of an environment that was renamed or removed are taken over.
// exists reports whether an environment may exist; nil means that all may.
//
// Folders that are as they were before are not read. Of the others, the files of an assignment are only listed if they are not those in
// the inventory, which has what is needed to compute the ID of their folder.
func ReadPublished(branch Branch, environment string, clusterTypes []string, exists func(environment string) bool) (*Published, error) {
	p := &Published{
		branch: branch, environment: environment, paths: PathsOf(branch.Top), owners: map[string]*fleet.Problem{},
		elsewhere: map[string]string{}, answers: map[string]*recorded{},
	}
	// Otherwise all earlier states would be kept.
	p.branch.Before = nil
	r := &publishedReader{p: p, trees: branch.reader(), before: branch.Before, exists: exists}
	if err := r.folders(clusterTypes); err != nil {
		return nil, err
	}
	if err := r.trees.all(branch.Top, branch.Before.top(), 0); err != nil {
		return nil, err
	}
	p.findOthers(branch.Top, "")
	if err := p.readAnswers(branch.Root, exists); err != nil {
		return nil, err
	}
	if err := p.readRings(branch.Root, exists); err != nil {
		return nil, err
	}
	p.Problems = append(p.Problems, r.disowned...)
	slices.SortFunc(p.Drift, func(a, b Drift) int { return cmp.Compare(a.Path, b.Path) })
	slices.Sort(p.Added)
	slices.Sort(p.Unmanaged)
	p.tracking = TrackingPath
	if p.shares(exists) {
		p.tracking = path.Join(branch.Root, TrackingPath)
	}
	var err error
	p.Promoted, err = branch.ReadTracking(p.paths, p.tracking)
	return p, err
}

// top returns all files of the branch.
func (p *Published) top() *Tree {
	if p == nil {
		return nil
	}
	return p.paths.top
}

// Assignment returns the published assignment of a target to a cluster type.
func (p *Published) Assignment(clusterType, target string) (*Assignment, bool) {
	if p == nil {
		return nil, false
	}
	return findFolder(p.Folders, clusterType).Assignment(target)
}

// Standing yields the published assignments.
func (p *Published) Standing(yield func(placement.Pair, []string) bool) {
	if p != nil {
		standing(p.Folders, yield)
	}
}

// shares reports whether another environment has files below another path of the branch. Each of them has a tracking file
// of its own then, below its path.
func (p *Published) shares(exists func(string) bool) bool {
	for _, other := range p.elsewhere {
		if other != "" && other != p.environment && (exists == nil || exists(other)) {
			return true
		}
	}
	return false
}

// staleTracking returns the tracking file at the root, if it is no environment's any more because several share the
// branch; zero otherwise.
func (p *Published) staleTracking() File {
	if p == nil || p.tracking == TrackingPath {
		return File{}
	}
	hash, exists := p.Hash(TrackingPath)
	if _, owned := p.elsewhere[""]; owned || !exists {
		return File{}
	}
	return File{Path: TrackingPath, Hash: hash}
}

// isInventoryName reports whether an inventory can have a name: that of a cluster type, or of the folder of a cluster.
func isInventoryName(name string) bool {
	if cluster, ok := fleet.ClusterOf(name); ok {
		return isFolderName(cluster)
	}
	return isFolderName(name)
}

// owner returns why the folder of a cluster type is not ours; nil if it is, or can be.
func (p *Published) owner(clusterType string) *fleet.Problem {
	if p == nil {
		return nil
	}
	return p.owners[clusterType]
}

// findOthers records which environments have files below other roots of the branch. Environments can share a branch, so this alone is
// not a problem. The tree is complete.
func (p *Published) findOthers(t *Tree, at string) {
	if t == nil || !t.own {
		return
	}
	if inventories := t.folder(inventoryFolder); inventories != nil && at != p.branch.Root {
		p.recordOther(inventories, at)
	}
	for _, e := range t.entries {
		if path.Join(path.Base(at), e.Name) != inventoryFolder {
			p.findOthers(e.Tree, path.Join(at, e.Name))
		}
	}
}

// recordOther records which environment has files below a root, according to the first inventory there that can be read.
func (p *Published) recordOther(inventories *Tree, root string) {
	for _, e := range inventories.entries {
		var inv struct{ Environment string }
		if e.Tree != nil {
			continue
		}
		content, err := p.branch.Read(path.Join(root, inventoryFolder, e.Name))
		if err == nil && json.Unmarshal(content, &inv) == nil {
			p.elsewhere[strings.TrimSuffix("/"+root, "/")] = inv.Environment
			return
		}
	}
}

// leftBehind warns about files of an environment that are below an earlier path of the branch: they are no longer
// updated or removed, and clusters may still follow them.
func (p *Published) leftBehind(environment string) []fleet.Problem {
	if p == nil {
		return nil
	}
	var problems []fleet.Problem
	for _, root := range slices.Sorted(maps.Keys(p.elsewhere)) {
		if p.elsewhere[root] == environment {
			problems = append(problems, fleet.Problem{
				Severity: fleet.SeverityWarning, Kind: fleet.KindLeftBehind,
				Position: fleet.Position{Source: "gitops", File: path.Join(strings.TrimPrefix(root, "/"), inventoryFolder)},
				Message:  fmt.Sprintf("files of environment %q are also there, below an earlier path of its GitOpsRepo, and are no longer updated", environment),
				Hint:     "let clusters follow the current path, then delete them; or restore the earlier path",
			})
		}
	}
	return problems
}

// ownReadme reports whether Kalypso, or the original scheduler, wrote the README of a folder.
func ownReadme(f *Folder, inv *inventory) bool {
	if inv == nil {
		return len(f.Assignments) > 0
	}
	hash, err := ParseHash(inv.Readme)
	return err == nil && hash != (Hash{})
}

// foreignReadme returns a warning if the README of a cluster type's folder is not ours.
func (p *Published) foreignReadme(clusterType string, readme File) *fleet.Problem {
	hash, exists := p.Hash(readme.Path)
	if !exists || hash == readme.Hash {
		return nil
	}
	if f := p.folderOf(clusterType); f != nil && f.Readme.Path != "" {
		return nil
	}
	return &fleet.Problem{
		Severity: fleet.SeverityWarning, Kind: fleet.KindFileConflict, Position: fleet.Position{Source: "gitops", File: readme.Path},
		Message: fmt.Sprintf("the GitOps branch has a README in the folder of cluster type %q that Kalypso did not write; it is left alone", clusterType),
		Hint:    "rename the file or the cluster type",
	}
}

// digestOf identifies what the branch holds of a cluster type, and how it is interpreted; zero if that is nothing. A folder that is
// not ours counts, too, because its files can block paths of ours.
func (p *Published) digestOf(clusterType string) fleet.Digest {
	if p == nil {
		return fleet.Digest{}
	}
	if p.undigested {
		return p.digests[clusterType]
	}
	t, f, owner := p.paths.top.folder(path.Join(p.branch.Root, clusterType)), p.folderOf(clusterType), p.owners[clusterType]
	if t == nil && f == nil && owner == nil {
		return fleet.Digest{}
	}
	var d digester
	if owner != nil {
		d.texts("owner", owner.Message)
	}
	if t != nil {
		d.texts("files")
		d.hash(t.id)
	}
	if f != nil {
		d.texts(f.Inventory.Path, strconv.FormatBool(f.adopted))
		d.hash(f.Inventory.Hash)
	}
	return d.sum()
}

// Read returns the content of a published file.
func (p *Published) Read(path string) ([]byte, error) {
	if p == nil {
		return nil, fmt.Errorf("file %q is not published", path)
	}
	return p.branch.Read(path)
}

// obstacle returns the path that prevents writing a file; see [Paths.Obstacle].
func (p *Published) obstacle(file string) string {
	if p == nil {
		return ""
	}
	at, _ := p.paths.Obstacle(file)
	return at
}

// Hash returns the blob ID of a published file, and whether the file exists.
func (p *Published) Hash(path string) (Hash, bool) {
	if p == nil {
		return Hash{}, false
	}
	return p.paths.Hash(path)
}

// Count returns the number of published assignments.
func (p *Published) Count() int {
	if p == nil {
		return 0
	}
	n := 0
	for _, f := range p.Folders {
		n += len(f.Assignments)
	}
	return n
}

// Owners returns the owners of the published assignments of a target, each once, for [fleet.Snapshot.Settle].
// Those of assignments without an inventory are unknown.
func (p *Published) Owners(target string) []fleet.Owner {
	var owners []fleet.Owner
	if p == nil {
		return nil
	}
	for _, f := range p.Folders {
		if a, ok := f.Assignment(target); ok && a.Workload != "" && !slices.Contains(owners, a.owner()) {
			owners = append(owners, a.owner())
		}
	}
	return owners
}

// ClusterFolders returns the cluster types of the clusters that have a folder of their own, by cluster.
func (p *Published) ClusterFolders() map[string]string {
	types := map[string]string{}
	if p == nil {
		return types
	}
	for _, f := range p.Folders {
		if f.Cluster != "" {
			types[f.Cluster] = f.ClusterType
		}
	}
	return types
}

// HasCluster reports whether a cluster has a folder of its own.
func (p *Published) HasCluster(name string) bool { return p.folderOf(fleet.ClusterFolder(name)) != nil }

// folderOf returns the published folder of a cluster type, or nil.
func (p *Published) folderOf(clusterType string) *Folder {
	if p == nil {
		return nil
	}
	return findFolder(p.Folders, clusterType)
}

func sortFiles(files []File) {
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
}

// AsPublished returns the branch as it is once the bundle is published. A build for it can reuse the folders of the bundle.
func (b *Bundle) AsPublished() (*Published, error) {
	files := map[string]File{}
	branch := Branch{Read: func(path string) ([]byte, error) {
		if f, known := files[path]; known && f.Written() {
			return f.Content(), nil
		}
		return b.published.Read(path)
	}}
	if b.Snapshot.GitOps != nil {
		branch.Root, branch.Unmanaged = b.Snapshot.GitOps.Path, b.Snapshot.GitOps.Unmanaged
	}
	if b.published != nil {
		b.published.top().files("", func(f File) bool {
			files[f.Path] = f
			return true
		})
		for _, change := range b.Changes() {
			delete(files, change.Path)
		}
	}
	for f := range b.Files {
		files[f.Path] = f
	}
	branch.Top = TreeOf(slices.Collect(maps.Values(files)))
	p, err := ReadPublished(branch, b.Environment, nil, nil)
	if err != nil {
		return nil, err
	}
	p.undigested, p.digests = true, map[string]fleet.Digest{}
	for _, f := range b.Folders {
		if f.held == nil && len(f.removed)+len(f.drifted) == 0 {
			p.digests[f.Name] = f.inputs.published
		}
	}
	return p, nil
}
