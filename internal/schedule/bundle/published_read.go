package bundle

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// publishedReader reads the folders of cluster types and clusters.
type publishedReader struct {
	p      *Published
	trees  *treeReader
	before *Published // may be nil
	exists func(environment string) bool
	// disowned are the problems of folders that belong to other environments.
	disowned []fleet.Problem
}

// readFolder is what was found in a folder.
type readFolder struct {
	folder *Folder // nil if nothing is there, or it is not ours
	// problem is that of an inventory that cannot be read, owner the other environment that the folder belongs to.
	problem *fleet.Problem
	owner   string
	err     error
}

// folders reads the folders of the given cluster types, and those that have an inventory.
func (r *publishedReader) folders(clusterTypes []string) error {
	root, top, before := r.p.branch.Root, r.p.branch.Top, r.before.top()
	inventories := path.Join(root, inventoryFolder)
	t, known, err := r.trees.at(top, before, inventories)
	if err != nil {
		return err
	}
	if err := r.trees.all(t, known, 0); err != nil {
		return err
	}
	all := slices.Clone(clusterTypes)
	for _, file := range r.p.paths.below(inventories) {
		name, isJSON := strings.CutSuffix(strings.TrimPrefix(file, inventories+"/"), ".json")
		if isJSON && isInventoryName(name) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	all = slices.Compact(all)
	for _, name := range all {
		if _, _, err := r.trees.at(top, before, path.Dir(path.Join(root, name))); err != nil {
			return err
		}
	}
	found, texts := make([]readFolder, len(all)), make([]*names, cores())
	read := func(core, i int) {
		if texts[core] == nil {
			texts[core] = newNames()
		}
		found[i] = r.folder(all[i], texts[core])
	}
	if _, nested := slices.BinarySearch(all, fleet.ClustersFolder); nested { // a cluster type has the name of the folder of clusters
		for i := range all {
			read(0, i)
		}
	} else {
		parallel(len(all), read)
	}
	return r.add(all, found)
}

func (r *publishedReader) add(all []string, found []readFolder) error {
	p := r.p
	for i, f := range found {
		if f.err != nil {
			return f.err
		}
		if f.problem != nil {
			p.Problems = append(p.Problems, *f.problem)
		}
		if f.owner != "" {
			problem := r.otherOwner(all[i], f.owner)
			r.disowned, p.owners[all[i]] = append(r.disowned, problem), &problem
		}
		if f.folder != nil {
			p.Folders, p.Drift = append(p.Folders, f.folder), append(p.Drift, f.folder.drift...)
			p.permit(f.folder)
		}
	}
	return nil
}

// otherOwner is the problem of a folder that belongs to another environment, according to its inventory. Two environments with
// the same repository, branch and path would otherwise delete each other's assignments.
func (r *publishedReader) otherOwner(name, owner string) fleet.Problem {
	return fleet.Problem{
		Severity: fleet.SeverityError, Kind: fleet.KindOtherOwner,
		Position: fleet.Position{Source: "gitops", File: inventoryPath(r.p.branch.Root, name)},
		Message:  fmt.Sprintf("folder %q belongs to environment %q, so environment %q changes nothing there", name, owner, r.p.environment),
		Hint: fmt.Sprintf("give each environment a branch or path of its own in its GitOpsRepo; if %q was renamed to %q, delete this inventory, and its files are taken over",
			owner, r.p.environment),
	}
}

// folder reads the folder of one cluster type or cluster.
func (r *publishedReader) folder(name string, texts *names) (found readFolder) {
	at := path.Join(r.p.branch.Root, name)
	t, before := r.p.branch.Top.folder(at), r.before.top().folder(at)
	if !isInventoryName(name) {
		t = nil
	}
	file := r.file(inventoryPath(r.p.branch.Root, name))
	if found.folder = r.unchanged(name, t, before, file.Hash); found.folder != nil {
		return found
	}
	var inv *inventory
	if file.Path != "" && isInventoryName(name) {
		inv, found.problem, found.err = ReadInventory(r.p.branch, file.Path, "the files of this cluster type are taken over by their names, and the inventory is written again",
			func(content []byte) (*inventory, error) { return decodeInventory(content, name, texts) })
		if found.err != nil {
			return found
		}
	}
	if inv != nil && inv.Environment != "" && inv.Environment != r.p.environment && (r.exists == nil || r.exists(inv.Environment)) {
		found.owner = inv.Environment
	}
	f := &Folder{Name: name, Inventory: file, adopted: inv == nil, ClusterType: name}
	if cluster, ok := fleet.ClusterOf(name); ok {
		f.Cluster, f.ClusterType = cluster, ""
	}
	if inv != nil && found.owner == "" {
		f.ClusterType, f.environment = inv.ClusterType, inv.Environment
		found.err = r.recorded(f, at, inv, t, before)
	}
	// The rest has to be known, too: it can block paths of ours.
	if found.err == nil {
		found.err = r.trees.all(t, before, 0)
	}
	if found.err != nil || found.owner != "" {
		return found
	}
	if inv == nil {
		f.adopt(at, t)
	} else {
		f.added = f.addedTo(at, t)
	}
	if f.Readme = r.file(path.Join(at, readmeName)); !ownReadme(f, inv) {
		f.Readme = File{}
	}
	if f.Readme.Path != "" || f.Inventory.Path != "" || len(f.Assignments) > 0 {
		found.folder = f
	}
	return found
}

// file returns a file of the branch; zero if it does not exist.
func (r *publishedReader) file(at string) File {
	hash, ok := r.p.paths.Hash(at)
	if !ok {
		return File{}
	}
	return File{Path: at, Hash: hash}
}

// unchanged returns the folder as it was read before, if its files and its inventory are the same; nil otherwise.
func (r *publishedReader) unchanged(name string, t, before *Tree, inventory Hash) *Folder {
	if r.before == nil || r.before.environment != r.p.environment || r.before.branch.Root != r.p.branch.Root || t == nil || t != before {
		return nil
	}
	f := r.before.folderOf(name)
	if f == nil || f.adopted || f.Inventory.Hash != inventory || f.environment != "" && f.environment != r.p.environment {
		return nil
	}
	return f
}

// recorded adds the assignments in an inventory, with their current files, and the drift.
func (r *publishedReader) recorded(f *Folder, at string, inv *inventory, t, before *Tree) error {
	if err := r.trees.read(t, before); err != nil {
		return err
	}
	f.drifted = map[string]Hash{}
	if hash, err := ParseHash(inv.Readme); err == nil && hash != (Hash{}) {
		r.p.paths.Compare(path.Join(at, readmeName), hash, &f.drift)
	}
	sources := map[string]*Sources{}
	for id, texts := range inv.Sources {
		sources[id] = decodeSources(texts)
	}
	f.Assignments = make([]Assignment, 0, len(inv.Assignments))
	for _, entry := range inv.Assignments {
		e, _ := t.entry(entry.Target)
		known, _ := before.entry(entry.Target)
		if e.Tree != nil && !e.Tree.read && treeID(entry.Files) == e.Hash {
			e.Tree.entries, e.Tree.read = entry.Files, true
		}
		if err := r.trees.all(e.Tree, known.Tree, 0); err != nil {
			return err
		}
		a := Assignment{
			ClusterType: f.ClusterType, Cluster: f.Cluster, Target: entry.Target,
			Workload: entry.Workload, Workspace: entry.Workspace, Registration: entry.Registration,
			Policies: entry.Policies, Sources: sources[entry.Sources], needs: entry.DependsOn,
		}
		a.Files = f.current(at, &entry, e.Tree)
		f.Assignments = append(f.Assignments, a)
	}
	return nil
}

// current returns the files of a recorded assignment that exist in its folder, and adds the drift.
func (f *Folder) current(at string, entry *inventoryAssignment, t *Tree) []File {
	files, folder := make([]File, 0, len(entry.Files)), at+"/"+entry.Target+"/"
	var all strings.Builder // one string for the paths of all files
	all.Grow(len(entry.Files) * (len(folder) + len(namespaceName) + len(configYAMLName)))
	for _, written := range entry.Files {
		from := all.Len()
		all.WriteString(folder)
		all.WriteString(written.Name)
		file := all.String()[from:]
		now, ok := t.entry(written.Name)
		if ok = ok && now.Tree == nil; !ok || now.Hash != written.Hash {
			f.drift = append(f.drift, Drift{Path: file, Deleted: !ok})
		}
		if ok {
			files = append(files, File{Path: file, Hash: now.Hash})
			if now.Hash != written.Hash {
				f.drifted[file] = written.Hash
			}
		}
	}
	return files
}

// adopt adds the assignments of a folder without an inventory, based on file names.
func (f *Folder) adopt(at string, t *Tree) {
	if t == nil {
		return
	}
	for _, target := range t.entries {
		if target.Tree == nil || !isFolderName(target.Name) {
			continue
		}
		a := Assignment{ClusterType: f.ClusterType, Cluster: f.Cluster, Target: target.Name}
		for _, e := range target.Tree.entries {
			if e.Tree == nil && isAssignmentFile(e.Name) {
				a.Files = append(a.Files, File{Path: path.Join(at, target.Name, e.Name), Hash: e.Hash})
			}
		}
		if len(a.Files) > 0 {
			f.Assignments = append(f.Assignments, a)
		}
	}
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
