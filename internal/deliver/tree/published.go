package tree

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// Published is what a GitOps branch holds of a workload. It is immutable. Nil is an empty branch.
type Published struct {
	// Targets are those in the inventory, or those that [Published.Adopt] took over, sorted by name.
	Targets []PublishedTarget
	// Drift lists the files in the inventory that were changed or deleted by hand, sorted by path.
	Drift []bundle.Drift
	// Added lists the files in the folders of targets that clusters may apply and that no inventory lists, sorted.
	Added []string
	// Tracking is the content of the tracking files.
	Tracking Tracking
	// Build is what the targets that are not pinned were rendered from; zero if none is pinned.
	Build Tracking
	// Problems are inventories that cannot be read.
	Problems []fleet.Problem

	paths *bundle.Paths
	// recorded are the hashes of what was written, by path.
	recorded map[string]bundle.Hash
	// owners are the owners of files, by path: "target" of this workload, "workload/target" of another one.
	owners map[string]string
	// root is the folder of the workload's files, inventory the path of its inventory.
	root, inventory string
	// legacy are the folders below the root with manifests of the original scheduler, sorted. No record says whose they are.
	legacy []string
	// before is the branch before the adoption; nil without one.
	before *Published
	// shared means that the branch has files of other applications, or may have them.
	shared bool
	// adopted means that there is no readable inventory; corrupted, that there is one that cannot be read.
	adopted, corrupted bool
}

// PublishedTarget is a target with its current files on the branch.
type PublishedTarget struct {
	Name, Folder string
	// Files are sorted by path, without content.
	Files []bundle.File
	// Pin is set for a pinned target. Request says who asked for it, or for its end.
	Pin     Pin
	Request Request
}

// ReadPublished determines which files of a branch belong to a workload.
func ReadPublished(branch bundle.Branch, workload string) (*Published, error) {
	p := &Published{paths: bundle.PathsOf(branch.Top), recorded: map[string]bundle.Hash{}, owners: map[string]string{}, adopted: true}
	p.root, p.inventory = branch.Root, InventoryPath(branch.Root, workload)
	for _, at := range p.paths.Sorted() {
		if owner, ok := workloadOf(branch.Root, at); ok {
			if err := p.readInventory(branch, at, owner, owner == workload); err != nil {
				return nil, err
			}
		}
	}
	p.findOthers()
	p.Added = p.added()
	slices.SortFunc(p.Targets, func(a, b PublishedTarget) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(p.Drift, func(a, b bundle.Drift) int { return cmp.Compare(a.Path, b.Path) })
	return p, p.readTracking(branch)
}

// readInventory adds an inventory: ours as what is published, that of another workload as files to leave alone.
func (p *Published) readInventory(branch bundle.Branch, at, workload string, ours bool) error {
	inv, problem, err := bundle.ReadInventory(branch, at, "files are taken over by their names where targets are, and the inventory is written again",
		func(content []byte) (*inventory, error) { return decodeInventory(content, workload) })
	if err != nil {
		return err
	}
	if problem != nil {
		p.corrupted = p.corrupted || ours
		p.Problems = append(p.Problems, *problem)
		return nil
	}
	for _, target := range slices.Sorted(maps.Keys(inv.Targets)) {
		entry := inv.Targets[target]
		if ours {
			p.Targets = append(p.Targets, p.recordedTarget(branch.Root, target, entry))
			continue
		}
		for name := range entry.Files {
			p.owners[placeOf(branch.Root, target, entry.Folder, name)] = workload + "/" + target
		}
	}
	if ours {
		p.adopted = false
		if inv.Build != nil {
			p.Build = Tracking(*inv.Build)
		}
	}
	return nil
}

// recordedTarget returns a target of the inventory with its current files, and adds its drift.
func (p *Published) recordedTarget(root, target string, entry inventoryTarget) PublishedTarget {
	t := PublishedTarget{Name: target, Folder: entry.Folder, Pin: entry.pin(), Request: entry.request()}
	for _, name := range slices.Sorted(maps.Keys(entry.Files)) {
		at := placeOf(root, target, entry.Folder, name)
		written, _ := bundle.ParseHash(entry.Files[name]) // validated when the inventory was decoded
		p.recorded[at], p.owners[at] = written, target
		if now, ok := p.paths.Compare(at, written, &p.Drift); ok {
			t.Files = append(t.Files, bundle.File{Path: at, Hash: now})
		}
	}
	slices.SortFunc(t.Files, func(a, b bundle.File) int { return cmp.Compare(a.Path, b.Path) })
	return t
}

// added returns the files in the folders of recorded targets that are no target's.
func (p *Published) added() []string {
	folders := map[string]bool{}
	for _, t := range p.Targets {
		folders[path.Join(p.root, t.Folder)] = true
	}
	var added []string
	for _, at := range p.paths.Sorted() {
		if p.owners[at] != "" || !bundle.Applies(at) || strings.Contains("/"+at, "/"+ownFolder+"/") {
			continue
		}
		for folder := path.Dir(at); folder != "." && folder != p.root; folder = path.Dir(folder) {
			if folders[folder] {
				added = append(added, at)
				break
			}
		}
	}
	return added
}

// findOthers finds the files that may belong to other applications: inventories, and manifests of the original scheduler.
func (p *Published) findOthers() {
	for _, at := range p.paths.Sorted() {
		folder := path.Dir(at)
		if path.Base(folder) == deliveries && path.Base(path.Dir(folder)) == ownFolder && path.Ext(at) == ".json" && at != p.inventory {
			p.shared = true
		}
		if path.Base(at) != legacyName || p.owners[at] != "" {
			continue
		}
		below, ok := folder, true
		if p.root != "" {
			below, ok = strings.CutPrefix(folder, p.root+"/")
		}
		if ok && p.adopted && checkFolder(Target{Name: path.Base(below), Folder: below}) == nil {
			p.legacy = append(p.legacy, below)
		} else {
			p.shared = true
		}
	}
}

// Adopt returns a branch without an inventory with the manifests of the original scheduler that belong to the workload:
// those in the folders of its targets. targets has the targets by folder. The other folders can belong to
// other applications. They are left alone, and reported. An earlier adoption has no effect on another one.
func (p *Published) Adopt(targets map[string]string) *Published {
	if p == nil {
		return nil
	}
	if p.before != nil {
		p = p.before
	}
	if len(p.legacy) == 0 {
		return p
	}
	adopted := *p
	adopted.before, adopted.owners, adopted.legacy = p, maps.Clone(p.owners), nil
	var others []string
	for _, folder := range p.legacy {
		name, ours := targets[folder]
		if !ours {
			others = append(others, folder)
			continue
		}
		t := PublishedTarget{Name: name, Folder: folder}
		for _, file := range []string{legacyName, kustomizationName} {
			own := path.Join(p.root, folder, file)
			if hash, ok := p.paths.Hash(own); ok {
				t.Files = append(t.Files, bundle.File{Path: own, Hash: hash})
				adopted.owners[own] = t.Name
			}
		}
		adopted.Targets = append(slices.Clone(adopted.Targets), t)
	}
	slices.SortFunc(adopted.Targets, func(a, b PublishedTarget) int { return cmp.Compare(a.Name, b.Name) })
	if len(others) > 0 {
		adopted.shared, adopted.Problems = true, append(slices.Clone(p.Problems), leftAlone(p.root, others))
	}
	return &adopted
}

// Shared reports whether the branch has files of other applications, or may have them. Tracking files can then be about those.
func (p *Published) Shared() bool { return p != nil && (p.shared || len(p.legacy) > 0) }

// maxFolders is the maximum number of folders in a message.
const maxFolders = 10

// leftAlone reports folders with manifests of the original scheduler that are not adopted.
func leftAlone(root string, folders []string) fleet.Problem {
	names := make([]string, 0, maxFolders+1)
	for i, folder := range folders {
		if i == maxFolders {
			names = append(names, fmt.Sprintf("and %d more", len(folders)-i))
			break
		}
		names = append(names, fmt.Sprintf("%q", path.Join(root, folder)))
	}
	return fleet.Problem{
		Severity: fleet.SeverityWarning, Kind: fleet.KindLeftBehind, Position: fleet.Position{Source: "gitops", File: path.Join(root, folders[0], legacyName)},
		Message: fmt.Sprintf("manifests of the original scheduler are left alone, because no target of the workload is written there: %s", strings.Join(names, ", ")),
		Hint:    "delete the folders that no other application uses",
	}
}

func (p *Published) readTracking(branch bundle.Branch) (err error) {
	for at, into := range map[string]*string{TrackingCommit: &p.Tracking.Commit, TrackingVersion: &p.Tracking.Version, TrackingImageTag: &p.Tracking.ImageTag} {
		if *into, err = branch.ReadTracking(p.paths, at); err != nil {
			return err
		}
	}
	return nil
}

// obstacle returns the path that blocks a file of ours, and a description of what is there; empty if nothing does. A file of
// another target of the workload does not count: that target is removed or moves, or settle handles it. Without a
// readable inventory, a file at the path of one of ours is assumed to be ours.
func (p *Published) obstacle(at string) (blocked, what string) {
	if p == nil {
		return "", ""
	}
	if blocked, isFolder := p.paths.Obstacle(at); isFolder {
		return blocked, "a folder"
	} else if blocked != "" {
		return blocked, "a file"
	}
	owner, owned := p.owners[at]
	if strings.Contains(owner, "/") {
		return at, fmt.Sprintf("a file of the workload and target %q", owner)
	}
	if _, exists := p.paths.Hash(at); exists && !owned && !p.corrupted {
		return at, "a file that Kalypso did not write"
	}
	return "", ""
}

func (p *Published) target(name string) (PublishedTarget, bool) {
	if p == nil {
		return PublishedTarget{}, false
	}
	i := slices.IndexFunc(p.Targets, func(t PublishedTarget) bool { return t.Name == name })
	if i < 0 {
		return PublishedTarget{}, false
	}
	return p.Targets[i], true
}

func (p *Published) filesOf(target string) []bundle.File {
	t, _ := p.target(target)
	return t.Files
}

func (p *Published) hash(at string) (bundle.Hash, bool) {
	if p == nil {
		return bundle.Hash{}, false
	}
	return p.paths.Hash(at)
}

func (p *Published) written(at string) (bundle.Hash, bool) {
	if p == nil {
		return bundle.Hash{}, false
	}
	h, ok := p.recorded[at]
	return h, ok
}

// owned returns the paths of all files of the workload's targets.
func (p *Published) owned() []string {
	if p == nil {
		return nil
	}
	var paths []string
	for _, t := range p.Targets {
		for _, f := range t.Files {
			paths = append(paths, f.Path)
		}
	}
	return paths
}

func (p *Published) problems() []fleet.Problem {
	if p == nil {
		return nil
	}
	return p.Problems
}
