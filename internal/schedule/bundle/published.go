package bundle

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Published is what the GitOps branch of an environment holds. It is immutable. Nil is an empty branch.
type Published struct {
	// Folders are the folders of the cluster types on the branch, sorted by name.
	Folders []*Folder
	// Drift lists the files in the inventories that were changed or deleted by hand, sorted by path.
	Drift []Drift
	// Promoted is the content of the tracking file without white space; empty if there is none.
	Promoted string
	// Problems are inventories that cannot be read.
	Problems []fleet.Problem

	hashes map[string]Hash
	// parents are the folders with files below them.
	parents map[string]bool
	// elsewhere are the environments with files below other roots of the branch, by root.
	elsewhere map[string]string
	// digests identify what the branch holds below each folder with files, ours or not.
	digests map[string]fleet.Digest
	read    func(path string) ([]byte, error)
}

// Drift is a file that differs from what Kalypso wrote.
type Drift struct {
	Path string `json:"path"`
	// Deleted is true if the file was deleted, false if its content was changed.
	Deleted bool `json:"deleted,omitempty"`
}

// Branch is the content of a GitOps branch.
type Branch struct {
	// Root is the folder for generated files. Default: the root of the repository.
	Root string
	// Files are all files of the branch, in any order, without content.
	Files []File
	// Read returns the content of one of the files.
	Read func(path string) ([]byte, error)
}

// ReadPublished determines which files of a branch are ours: those in an inventory and, in folders of the given
// cluster types that have no inventory, those with file names of the original scheduler.
func ReadPublished(branch Branch, clusterTypes []string) (*Published, error) {
	p := &Published{hashes: make(map[string]Hash, len(branch.Files)), parents: map[string]bool{}, elsewhere: map[string]string{}, digests: map[string]fleet.Digest{}, read: branch.Read}
	byFolder := map[string][]File{}
	for _, f := range branch.Files {
		p.hashes[f.Path] = f.Hash
		for dir := path.Dir(f.Path); dir != "." && !p.parents[dir]; dir = path.Dir(dir) {
			p.parents[dir] = true
		}
		if top, ok := topFolder(branch.Root, f.Path); ok {
			byFolder[top] = append(byFolder[top], f)
		}
	}
	inventories, err := p.inventories(branch.Root)
	if err != nil {
		return nil, err
	}
	names := slices.Concat(slices.Collect(maps.Keys(inventories)), clusterTypes)
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if f := p.folder(branch.Root, name, inventories[name], byFolder[name]); f != nil {
			p.Folders = append(p.Folders, f)
			p.digests[name] = digestFolder(byFolder[name], f)
		}
	}
	for name, files := range byFolder {
		if _, done := p.digests[name]; !done {
			p.digests[name] = digestFolder(files, nil)
		}
	}
	slices.SortFunc(p.Drift, func(a, b Drift) int { return cmp.Compare(a.Path, b.Path) })
	return p, p.readTracking()
}

// topFolder returns the name of the folder below root that contains a file.
func topFolder(root, file string) (string, bool) {
	if root != "" {
		rest, ok := strings.CutPrefix(file, root+"/")
		if !ok {
			return "", false
		}
		file = rest
	}
	top, _, ok := strings.Cut(file, "/")
	return top, ok && isFolderName(top)
}

// inventories reads all inventories below root. If one cannot be decoded,
// that is a problem, and its folder is adopted again.
func (p *Published) inventories(root string) (map[string]*inventory, error) {
	prefix := path.Join(root, inventoryFolder) + "/"
	result := map[string]*inventory{}
	for _, file := range slices.Sorted(maps.Keys(p.hashes)) {
		name, isInventory := strings.CutPrefix(file, prefix)
		if !isInventory {
			p.look(file)
		}
		name, isJSON := strings.CutSuffix(name, ".json")
		if !isInventory || !isJSON || !isFolderName(name) {
			continue
		}
		content, err := p.read(file)
		if err != nil {
			return nil, fmt.Errorf("read inventory %q: %w", file, err)
		}
		inv, err := decodeInventory(content, name)
		if errors.Is(err, ErrNewer) {
			return nil, fmt.Errorf("read inventory %q: %w", file, err)
		}
		if err != nil {
			p.Problems = append(p.Problems, corruptedInventory(file, err))
			inv = nil
		}
		result[name] = inv
	}
	return result, nil
}

// look records which environment has files below another root of the branch, according to the first inventory there.
// Environments can share a branch, so this alone is not a problem.
func (p *Published) look(file string) {
	root, rest, found := strings.Cut("/"+file, "/"+inventoryFolder+"/")
	if _, known := p.elsewhere[root]; !found || known || path.Dir(rest) != "." {
		return
	}
	var inv struct{ Environment string }
	if content, err := p.read(file); err == nil && json.Unmarshal(content, &inv) == nil {
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
				Message:  fmt.Sprintf("files of environment %q lie there too, below an earlier path of its GitOpsRepo, and are not updated any more", environment),
				Hint:     "let clusters follow the path of now, then delete them; or set the path back",
			})
		}
	}
	return problems
}

func corruptedInventory(file string, err error) fleet.Problem {
	return fleet.Problem{
		Severity: fleet.SeverityWarning,
		Kind:     fleet.KindInventoryCorrupted,
		Position: fleet.Position{Source: "gitops", File: file},
		Message:  "the inventory cannot be read: " + err.Error(),
		Hint:     "the files of this cluster type are taken over by their names, and the inventory is written anew",
	}
}

// folder returns the published state of one cluster type; nil if the branch has none.
func (p *Published) folder(root, clusterType string, inv *inventory, files []File) *Folder {
	base := path.Join(root, clusterType)
	f := &Folder{ClusterType: clusterType, adopted: inv == nil}
	for name, file := range map[string]*File{path.Join(base, readmeName): &f.Readme, inventoryPath(root, clusterType): &f.Inventory} {
		if hash, ok := p.hashes[name]; ok {
			*file = File{Path: name, Hash: hash}
		}
	}
	if inv == nil {
		f.Assignments = adopt(base, clusterType, files)
	} else {
		f.Assignments = p.recorded(base, f, inv)
	}
	if f.Readme.Path == "" && f.Inventory.Path == "" && len(f.Assignments) == 0 {
		return nil
	}
	return f
}

// adopt returns the assignments of a folder without an inventory, based on file names.
func adopt(base, clusterType string, files []File) []Assignment {
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
		assignments = append(assignments, Assignment{ClusterType: clusterType, Target: target, Files: own})
	}
	return assignments
}

// recorded returns the assignments in an inventory, with their current files, and adds the drift.
func (p *Published) recorded(base string, f *Folder, inv *inventory) []Assignment {
	f.recorded = make(map[string]Hash, 3*len(inv.Assignments))
	if hash, err := ParseHash(inv.Readme); err == nil && hash != (Hash{}) {
		p.compare(path.Join(base, readmeName), hash)
	}
	sources := map[string]*Sources{}
	for _, id := range slices.Sorted(maps.Keys(inv.Sources)) {
		sources[id] = decodeSources(inv.Sources[id])
	}
	assignments := make([]Assignment, 0, len(inv.Assignments))
	for _, target := range slices.Sorted(maps.Keys(inv.Assignments)) {
		entry := inv.Assignments[target]
		a := Assignment{
			ClusterType: f.ClusterType, Target: target,
			Workload: entry.Workload, Workspace: entry.Workspace, Registration: entry.Registration,
			Policies: entry.Policies, Sources: sources[entry.Sources],
		}
		for _, name := range slices.Sorted(maps.Keys(entry.Files)) {
			file := path.Join(base, target, name)
			hash, _ := ParseHash(entry.Files[name]) // validated when the inventory was decoded
			f.recorded[file] = hash
			if actual, ok := p.compare(file, hash); ok {
				a.Files = append(a.Files, File{Path: file, Hash: actual})
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
	return newSources(refs)
}

// compare adds drift if a file differs from what was written. It returns the file's current hash.
func (p *Published) compare(file string, written Hash) (Hash, bool) {
	actual, ok := p.hashes[file]
	if !ok || actual != written {
		p.Drift = append(p.Drift, Drift{Path: file, Deleted: !ok})
	}
	return actual, ok
}

// digestFolder identifies what the branch holds of a cluster type: its files, and how they are interpreted. f is nil
// for a folder that is not ours.
func digestFolder(files []File, f *Folder) fleet.Digest {
	sortFiles(files)
	var d digester
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

func (p *Published) readTracking() error {
	if _, ok := p.hashes[TrackingPath]; !ok {
		return nil
	}
	content, err := p.read(TrackingPath)
	if err != nil {
		return fmt.Errorf("read %q: %w", TrackingPath, err)
	}
	p.Promoted = string(bytes.TrimSpace(content))
	return nil
}

// Read returns the content of a published file.
func (p *Published) Read(path string) ([]byte, error) {
	if p == nil {
		return nil, fmt.Errorf("file %q is not published", path)
	}
	return p.read(path)
}

// obstacle returns the path that blocks a file or a folder above it: a folder or
// a file that is not ours. It is empty if nothing does.
func (p *Published) obstacle(file string) string {
	if p == nil {
		return ""
	}
	if p.parents[file] {
		return file
	}
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if _, ok := p.hashes[dir]; ok {
			return dir
		}
	}
	return ""
}

// Hash returns the blob ID of a published file, and whether the file exists.
func (p *Published) Hash(path string) (Hash, bool) {
	if p == nil {
		return Hash{}, false
	}
	h, ok := p.hashes[path]
	return h, ok
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
