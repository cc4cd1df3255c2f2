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
	// digests identify what the branch holds below each folder with files, ours or not.
	digests map[string]fleet.Digest
}

// ReadPublished determines which files of a branch are ours: those in an inventory and, in folders of the given
// cluster types that have no inventory, those with file names of the original scheduler. Folders whose inventory is that
// of another environment are not ours, as long as it exists: those of an environment that was renamed or removed are taken over.
// exists reports whether an environment may exist; nil means that all may.
func ReadPublished(branch Branch, environment string, clusterTypes []string, exists func(environment string) bool) (*Published, error) {
	p := &Published{
		branch: branch, environment: environment, paths: PathsOf(branch.Files), owners: map[string]*fleet.Problem{},
		elsewhere: map[string]string{}, digests: map[string]fleet.Digest{}, answers: map[string]*recorded{},
	}
	byFolder := map[string][]File{}
	_, named := p.paths.Hash(inventoryPath(branch.Root, fleet.ClustersFolder))
	named = named || slices.Contains(clusterTypes, fleet.ClustersFolder)
	for _, f := range branch.Files {
		top, ok := topFolder(branch.Root, f.Path)
		if !ok {
			continue
		}
		byFolder[top] = append(byFolder[top], f)
		if _, inner := fleet.ClusterOf(top); inner && named { // a cluster type has the name of the folder of clusters
			byFolder[fleet.ClustersFolder] = append(byFolder[fleet.ClustersFolder], f)
		}
	}
	inventories, err := p.inventories(branch.Root)
	if err != nil {
		return nil, err
	}
	if err := p.readAnswers(branch.Root, exists); err != nil {
		return nil, err
	}
	if err := p.readRings(branch.Root, exists); err != nil {
		return nil, err
	}
	p.disown(inventories, byFolder, exists)
	names := slices.Concat(slices.Collect(maps.Keys(inventories)), clusterTypes)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if p.owners[name] != nil {
			continue
		}
		if f := p.folder(branch.Root, name, inventories[name], byFolder[name]); f != nil {
			p.Folders = append(p.Folders, f)
			p.digests[name] = digestFolder(byFolder[name], f, "")
		}
	}
	for name, files := range byFolder {
		if _, done := p.digests[name]; !done {
			p.digests[name] = digestFolder(files, nil, "")
		}
	}
	slices.SortFunc(p.Drift, func(a, b Drift) int { return cmp.Compare(a.Path, b.Path) })
	p.tracking = TrackingPath
	if p.shares(exists) {
		p.tracking = path.Join(branch.Root, TrackingPath)
	}
	p.Promoted, err = branch.ReadTracking(p.paths, p.tracking)
	return p, err
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

// topFolder returns the name of the folder of a cluster type or cluster below root that contains a file.
func topFolder(root, file string) (string, bool) {
	if root != "" {
		rest, ok := strings.CutPrefix(file, root+"/")
		if !ok {
			return "", false
		}
		file = rest
	}
	top, rest, ok := strings.Cut(file, "/")
	if cluster, _, inner := strings.Cut(rest, "/"); top == fleet.ClustersFolder && inner && isFolderName(cluster) {
		return fleet.ClusterFolder(cluster), true
	}
	return top, ok && isFolderName(top)
}

// inventories reads all inventories below root. If one cannot be decoded,
// that is a problem, and its folder is adopted again.
func (p *Published) inventories(root string) (map[string]*inventory, error) {
	prefix := path.Join(root, inventoryFolder) + "/"
	result := map[string]*inventory{}
	for _, file := range p.paths.Sorted() {
		name, isInventory := strings.CutPrefix(file, prefix)
		if !isInventory {
			p.recordOther(file)
		}
		name, isJSON := strings.CutSuffix(name, ".json")
		if !isInventory || !isJSON || !isInventoryName(name) {
			continue
		}
		inv, problem, err := ReadInventory(p.branch, file, "the files of this cluster type are taken over by their names, and the inventory is written again",
			func(content []byte) (*inventory, error) { return decodeInventory(content, name) })
		if err != nil {
			return nil, err
		}
		if problem != nil {
			p.Problems = append(p.Problems, *problem)
		}
		result[name] = inv
	}
	return result, nil
}

// disown records the folders that belong to another environment, according to their inventories. Two environments with
// the same repository, branch and path would otherwise delete each other's assignments.
func (p *Published) disown(inventories map[string]*inventory, byFolder map[string][]File, exists func(string) bool) {
	for _, name := range slices.Sorted(maps.Keys(inventories)) {
		inv := inventories[name]
		if inv == nil || inv.Environment == "" || inv.Environment == p.environment || exists != nil && !exists(inv.Environment) {
			continue
		}
		problem := fleet.Problem{
			Severity: fleet.SeverityError, Kind: fleet.KindOtherOwner,
			Position: fleet.Position{Source: "gitops", File: inventoryPath(p.branch.Root, name)},
			Message:  fmt.Sprintf("folder %q belongs to environment %q, so environment %q changes nothing there", name, inv.Environment, p.environment),
			Hint: fmt.Sprintf("give each environment a branch or path of its own in its GitOpsRepo; if %q was renamed to %q, delete this inventory, and its files are taken over",
				inv.Environment, p.environment),
		}
		p.Problems = append(p.Problems, problem)
		p.owners[name] = &problem
		p.digests[name] = digestFolder(byFolder[name], nil, inv.Environment)
	}
}

// owner returns why the folder of a cluster type is not ours; nil if it is, or can be.
func (p *Published) owner(clusterType string) *fleet.Problem {
	if p == nil {
		return nil
	}
	return p.owners[clusterType]
}

// recordOther records which environment has files below another root of the branch, according to the first inventory there.
// Environments can share a branch, so this alone is not a problem.
func (p *Published) recordOther(file string) {
	root, rest, found := strings.Cut("/"+file, "/"+inventoryFolder+"/")
	if _, known := p.elsewhere[root]; !found || known || path.Dir(rest) != "." {
		return
	}
	var inv struct{ Environment string }
	if content, err := p.branch.Read(file); err == nil && json.Unmarshal(content, &inv) == nil {
		p.elsewhere[root] = inv.Environment
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

// folder returns the published state of the folder of one cluster type or cluster; nil if the branch has none.
func (p *Published) folder(root, name string, inv *inventory, files []File) *Folder {
	base := path.Join(root, name)
	f := &Folder{Name: name, adopted: inv == nil}
	if cluster, ok := fleet.ClusterOf(name); ok {
		f.Cluster = cluster
	} else {
		f.ClusterType = name
	}
	if inv != nil {
		f.ClusterType = inv.ClusterType
	}
	for at, file := range map[string]*File{path.Join(base, readmeName): &f.Readme, inventoryPath(root, name): &f.Inventory} {
		if hash, ok := p.paths.Hash(at); ok {
			*file = File{Path: at, Hash: hash}
		}
	}
	if inv == nil {
		f.Assignments = adopt(base, f, files)
	} else {
		f.Assignments = p.recorded(base, f, inv)
	}
	if !ownReadme(f, inv) {
		f.Readme = File{}
	}
	if f.Readme.Path == "" && f.Inventory.Path == "" && len(f.Assignments) == 0 {
		return nil
	}
	return f
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

// adopt returns the assignments of a folder without an inventory, based on file names.
func adopt(base string, f *Folder, files []File) []Assignment {
	byTarget := map[string][]File{}
	for _, file := range files {
		target, name, ok := strings.Cut(strings.TrimPrefix(file.Path, base+"/"), "/")
		if ok && isFolderName(target) && isAssignmentFile(name) {
			byTarget[target] = append(byTarget[target], file)
		}
	}
	assignments := make([]Assignment, 0, len(byTarget))
	for _, target := range slices.Sorted(maps.Keys(byTarget)) {
		own := byTarget[target]
		sortFiles(own)
		assignments = append(assignments, Assignment{ClusterType: f.ClusterType, Cluster: f.Cluster, Target: target, Files: own})
	}
	return assignments
}

// recorded returns the assignments in an inventory, with their current files, and adds the drift.
func (p *Published) recorded(base string, f *Folder, inv *inventory) []Assignment {
	f.drifted = map[string]Hash{}
	if hash, err := ParseHash(inv.Readme); err == nil && hash != (Hash{}) {
		p.paths.Compare(path.Join(base, readmeName), hash, &p.Drift)
	}
	sources := map[string]*Sources{}
	for _, id := range slices.Sorted(maps.Keys(inv.Sources)) {
		sources[id] = decodeSources(inv.Sources[id])
	}
	assignments := make([]Assignment, 0, len(inv.Assignments))
	for _, target := range slices.Sorted(maps.Keys(inv.Assignments)) {
		entry := inv.Assignments[target]
		a := Assignment{
			ClusterType: f.ClusterType, Cluster: f.Cluster, Target: target,
			Workload: entry.Workload, Workspace: entry.Workspace, Registration: entry.Registration,
			Policies: entry.Policies, Sources: sources[entry.Sources],
		}
		for _, name := range slices.Sorted(maps.Keys(entry.Files)) {
			file := path.Join(base, target, name)
			hash, _ := ParseHash(entry.Files[name]) // validated when the inventory was decoded
			if actual, ok := p.paths.Compare(file, hash, &p.Drift); ok {
				a.Files = append(a.Files, File{Path: file, Hash: actual})
				if actual != hash {
					f.drifted[file] = hash
				}
			}
		}
		assignments = append(assignments, a)
	}
	return assignments
}

func decodeSources(texts []string) *Sources {
	refs := make([]fleet.Ref, 0, len(texts))
	for _, text := range texts {
		if ref, ok := parseRef(text); ok {
			refs = append(refs, ref)
		}
	}
	return newSources(func() []fleet.Ref { return slices.Clone(refs) })
}

// digestFolder identifies what the branch holds of a cluster type: its files, and how they are interpreted. f is nil
// for a folder that is not ours, and owner the environment that it belongs to, if that is known.
func digestFolder(files []File, f *Folder, owner string) fleet.Digest {
	sortFiles(files)
	var d digester
	if owner != "" {
		d.texts("owner", owner)
	}
	for _, file := range files {
		d.texts(file.Path)
		d.hash(file.Hash)
	}
	if f != nil {
		d.texts(f.Inventory.Path, strconv.FormatBool(f.adopted))
		d.hash(f.Inventory.Hash)
	}
	return d.sum()
}

// digestOf identifies everything that the branch holds of a cluster type; zero if that is nothing. A folder that is
// not ours counts, too, because its files can block paths of ours.
func (p *Published) digestOf(clusterType string) fleet.Digest {
	if p == nil {
		return fleet.Digest{}
	}
	return p.digests[clusterType]
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

// AsPublished returns a branch that has exactly the files of the bundle, which was built for an empty one. A build for it can reuse
// the folders of the bundle.
func (b *Bundle) AsPublished() (*Published, error) {
	contents := map[string][]byte{}
	branch := Branch{Read: func(path string) ([]byte, error) { return contents[path], nil }}
	if b.Snapshot.GitOps != nil {
		branch.Root = b.Snapshot.GitOps.Path
	}
	for f := range b.Files {
		branch.Files, contents[f.Path] = append(branch.Files, f), f.Content()
	}
	p, err := ReadPublished(branch, b.Environment, nil, nil)
	if err != nil {
		return nil, err
	}
	p.digests = nil
	return p, nil
}
