package tree

import (
	"bytes"
	"cmp"
	"errors"
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
	// Targets are those in the inventory, or those that the original scheduler wrote, sorted by name.
	Targets []PublishedTarget
	// Drift lists the files in the inventory that were changed or deleted by hand, sorted by path.
	Drift []bundle.Drift
	// Tracking is the content of the tracking files.
	Tracking Tracking
	// Problems are inventories that cannot be read.
	Problems []fleet.Problem

	hashes map[string]bundle.Hash
	// parents are the folders with files below them.
	parents map[string]bool
	// recorded are the hashes of what was written, by path.
	recorded map[string]bundle.Hash
	// owners are the owners of files, by path: "target" of this workload, "workload/target" of another one.
	owners map[string]string
	// adopted means that there is no readable inventory; corrupted, that there is one that cannot be read.
	adopted, corrupted bool
}

// PublishedTarget is a target with its current files on the branch.
type PublishedTarget struct {
	Name, Folder string
	// Files are sorted by path, without content.
	Files []bundle.File
	// legacy marks a folder that the original scheduler wrote, for an unknown target.
	legacy bool
}

// ReadPublished determines which files of a branch belong to a workload.
func ReadPublished(branch bundle.Branch, workload string) (*Published, error) {
	p := &Published{
		hashes: make(map[string]bundle.Hash, len(branch.Files)), parents: map[string]bool{},
		recorded: map[string]bundle.Hash{}, owners: map[string]string{}, adopted: true,
	}
	for _, f := range branch.Files {
		p.hashes[f.Path] = f.Hash
		for dir := path.Dir(f.Path); dir != "." && !p.parents[dir]; dir = path.Dir(dir) {
			p.parents[dir] = true
		}
	}
	for _, at := range slices.Sorted(maps.Keys(p.hashes)) {
		if owner, ok := workloadOf(branch.Root, at); ok {
			if err := p.readInventory(branch, at, owner, owner == workload); err != nil {
				return nil, err
			}
		}
	}
	if p.adopted {
		p.adopt(branch.Root)
	}
	slices.SortFunc(p.Targets, func(a, b PublishedTarget) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(p.Drift, func(a, b bundle.Drift) int { return cmp.Compare(a.Path, b.Path) })
	return p, p.readTracking(branch)
}

// readInventory adds an inventory: ours as what is published, that of another workload as files to leave alone.
func (p *Published) readInventory(branch bundle.Branch, at, workload string, ours bool) error {
	content, err := branch.Read(at)
	if err != nil {
		return fmt.Errorf("read inventory %q: %w", at, err)
	}
	inv, err := decodeInventory(content, workload)
	if errors.Is(err, bundle.ErrNewer) {
		return fmt.Errorf("read inventory %q: %w", at, err)
	}
	if err != nil {
		p.corrupted = p.corrupted || ours
		p.Problems = append(p.Problems, fleet.Problem{
			Severity: fleet.SeverityWarning, Kind: fleet.KindInventoryCorrupted, Position: fleet.Position{Source: "gitops", File: at},
			Message: "the inventory cannot be read: " + err.Error(),
			Hint:    "files are taken over by their names where targets are, and the inventory is written anew",
		})
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
	}
	return nil
}

// recordedTarget returns a target of the inventory with its current files, and adds its drift.
func (p *Published) recordedTarget(root, target string, entry inventoryTarget) PublishedTarget {
	t := PublishedTarget{Name: target, Folder: entry.Folder}
	for _, name := range slices.Sorted(maps.Keys(entry.Files)) {
		at := placeOf(root, target, entry.Folder, name)
		written, _ := bundle.ParseHash(entry.Files[name]) // validated when the inventory was decoded
		p.recorded[at], p.owners[at] = written, target
		now, there := p.hashes[at]
		if !there || now != written {
			p.Drift = append(p.Drift, bundle.Drift{Path: at, Deleted: !there})
		}
		if there {
			t.Files = append(t.Files, bundle.File{Path: at, Hash: now})
		}
	}
	slices.SortFunc(t.Files, func(a, b bundle.File) int { return cmp.Compare(a.Path, b.Path) })
	return t
}

// adopt adopts the folders with manifests of the original scheduler, on a branch without inventory.
func (p *Published) adopt(root string) {
	for _, at := range slices.Sorted(maps.Keys(p.hashes)) {
		below := at
		if root != "" {
			var ok bool
			if below, ok = strings.CutPrefix(at, root+"/"); !ok {
				continue
			}
		}
		folder := path.Dir(below)
		if path.Base(at) != legacyName || checkFolder(Target{Name: path.Base(folder), Folder: folder}) != nil {
			continue
		}
		t := PublishedTarget{Name: path.Base(folder), Folder: folder, legacy: true}
		for _, name := range []string{legacyName, kustomizationName} {
			own := path.Join(root, folder, name)
			if hash, there := p.hashes[own]; there {
				t.Files = append(t.Files, bundle.File{Path: own, Hash: hash})
				p.owners[own] = t.Name
			}
		}
		p.Targets = append(p.Targets, t)
	}
}

func (p *Published) readTracking(branch bundle.Branch) error {
	for at, into := range map[string]*string{TrackingCommit: &p.Tracking.Commit, TrackingVersion: &p.Tracking.Version, TrackingImageTag: &p.Tracking.ImageTag} {
		if _, there := p.hashes[at]; !there {
			continue
		}
		content, err := branch.Read(at)
		if err != nil {
			return fmt.Errorf("read %q: %w", at, err)
		}
		*into = string(bytes.TrimSpace(content))
	}
	return nil
}

// obstacle returns the path that blocks a file of ours, and a description of what is there; empty if nothing does. A file of
// another target of the workload does not count: that target is removed or moves, or settle handles it. Without a
// readable inventory, a file at the path of one of ours is assumed to be ours.
func (p *Published) obstacle(at string) (lies, whose string) {
	if p == nil {
		return "", ""
	}
	if p.parents[at] {
		return at, "a folder"
	}
	for dir := path.Dir(at); dir != "."; dir = path.Dir(dir) {
		if _, there := p.hashes[dir]; there {
			return dir, "a file"
		}
	}
	owner, owned := p.owners[at]
	if strings.Contains(owner, "/") {
		return at, fmt.Sprintf("a file of the workload and target %q", owner)
	}
	if _, there := p.hashes[at]; there && !owned && !p.corrupted {
		return at, "which Kalypso did not write"
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
	h, ok := p.hashes[at]
	return h, ok
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
