package tree

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// inventory is the file that lists what was written for a workload's targets:
//
//	{
//	  "version": 1,
//	  "workload": "hello-world-app",
//	  "environment": "dev",
//	  "targets": {
//	    "functional-test": {"folder": "functional-test", "files": {"manifests.yaml": "0d1f…", "values.yaml": "9b2c…"}}
//	  }
//	}
//
// A pinned target has "pinned", the commit of the branch whose files it keeps, or "uninstalled": true. The version is then 2, so that an older
// program does not undo it, and "build" is what the other targets were rendered from. "request" says who asked for the pin, or for its end.
//
// The hashes are Git blob IDs: a file with a different one was changed by hand. A file's name determines its place:
// manifests and kustomization are in the target's folder, all others in Kalypso's own.
type inventory struct {
	Version     int                        `json:"version"`
	Workload    string                     `json:"workload"`
	Environment string                     `json:"environment"`
	Build       *recordedBuild             `json:"build,omitempty"`
	Targets     map[string]inventoryTarget `json:"targets"`
}

// recordedBuild is a [Tracking].
type recordedBuild struct {
	Commit   string `json:"commit"`
	Version  string `json:"version,omitempty"`
	ImageTag string `json:"imageTag,omitempty"`
}

type inventoryTarget struct {
	Folder      string            `json:"folder"`
	Files       map[string]string `json:"files"`
	Pinned      string            `json:"pinned,omitempty"`
	Uninstalled bool              `json:"uninstalled,omitempty"`
	Request     *Request          `json:"request,omitempty"`
}

// The versions of the format: without pinned targets, and with some.
const (
	inventoryVersion = 1
	pinnedVersion    = 2
)

// deliveries is the folder of the inventories, below Kalypso's own folder.
const deliveries = "deliveries"

// InventoryPath returns the path of a workload's inventory, for files below root.
func InventoryPath(root, workload string) string {
	return path.Join(root, ownFolder, deliveries, workload+".json")
}

// OwnFolder returns the folder with the descriptor and values of a target.
func OwnFolder(root, target string) string { return path.Join(root, ownFolder, target) }

// DescriptorPath returns the path of a target's descriptor.
func DescriptorPath(root, target string) string {
	return path.Join(OwnFolder(root, target), descriptorName)
}

// placeOf returns the path of a target's file.
func placeOf(root, target, folder, name string) string {
	if name == manifestsName || name == kustomizationName || name == legacyName {
		return path.Join(root, folder, name)
	}
	return path.Join(root, ownFolder, target, name)
}

// inventory returns the inventory of a tree. Files that stay as published keep their recorded hash, so that changes
// by hand remain visible.
func (t *Tree) inventory() bundle.File {
	inv := inventory{Version: inventoryVersion, Workload: t.wanted.Workload, Environment: t.wanted.Environment, Targets: map[string]inventoryTarget{}}
	for _, e := range t.Targets {
		if len(e.Files) == 0 {
			continue
		}
		entry := inventoryTarget{Folder: e.Folder, Files: map[string]string{}}
		if kept, ok := t.published.target(e.Name); ok && e.Held != nil {
			entry.Folder = kept.Folder // where its files are
		}
		for _, f := range e.Files {
			hash := f.Hash
			if written, ok := t.published.written(f.Path); ok && !f.Written() {
				hash = written
			}
			entry.Files[path.Base(f.Path)] = hash.String()
		}
		if entry.Pinned, entry.Uninstalled = e.Pin.Revision, e.Pin.Uninstalled; !e.Pin.IsZero() {
			build := recordedBuild(t.wanted.Build)
			inv.Version, inv.Build = pinnedVersion, &build
		}
		entry.Request = t.request(e)
		inv.Targets[e.Name] = entry
	}
	text, _ := json.MarshalIndent(inv, "", "  ") // cannot fail: it contains text only
	return file(InventoryPath(t.wanted.Root, t.wanted.Workload), append(text, '\n'))
}

// decodeInventory parses an inventory. It does not trust the content, because anyone who can push to the branch can
// write it: an inventory can only list files that a target can have.
func decodeInventory(content []byte, workload string) (*inventory, error) {
	var inv inventory
	if err := bundle.DecodeInventory(content, &inv, &inv.Version, inventoryVersion, pinnedVersion); err != nil {
		return nil, err
	}
	if inv.Workload != workload {
		return nil, fmt.Errorf("it is for workload %q", inv.Workload)
	}
	names := []string{manifestsName, kustomizationName, legacyName, descriptorName, valuesName}
	for target, entry := range inv.Targets {
		if err := checkFolder(Target{Name: target, Folder: entry.Folder}); err != nil {
			return nil, err
		}
		if !isCommit(entry.Pinned) && entry.Pinned != "" || entry.Pinned != "" && entry.Uninstalled {
			return nil, fmt.Errorf("target %q is pinned to %.100q, which is not a commit", target, entry.Pinned)
		}
		for name, hash := range entry.Files {
			if !slices.Contains(names, name) {
				return nil, fmt.Errorf("%.100q is not a file of a target", path.Join(target, name))
			}
			if _, err := bundle.ParseHash(hash); err != nil {
				return nil, fmt.Errorf("file %q: %w", path.Join(target, name), err)
			}
		}
	}
	return &inv, nil
}

func (t inventoryTarget) pin() Pin { return Pin{Revision: t.Pinned, Uninstalled: t.Uninstalled} }

func (t inventoryTarget) request() Request {
	if t.Request == nil {
		return Request{}
	}
	return t.Request.bounded()
}

// Recorded is a target that an inventory lists.
type Recorded struct {
	Name, Folder string
	// Files are the hashes of its files by name.
	Files   map[string]string
	Pin     Pin
	Request Request
}

// ParseInventory returns the targets of an inventory, by name. build is what those that are not pinned were rendered from; zero if none is pinned.
func ParseInventory(content []byte, workload string) (targets []Recorded, build Tracking, err error) {
	inv, err := decodeInventory(content, workload)
	if err != nil {
		return nil, build, err
	}
	if inv.Build != nil {
		build = Tracking(*inv.Build)
	}
	var all []Recorded
	for _, name := range slices.Sorted(maps.Keys(inv.Targets)) {
		t := inv.Targets[name]
		all = append(all, Recorded{Name: name, Folder: t.Folder, Files: t.Files, Pin: t.pin(), Request: t.request()})
	}
	return all, build, nil
}

// workloadOf returns the workload whose inventory is at a path.
func workloadOf(root, file string) (string, bool) {
	name, ok := strings.CutPrefix(file, path.Join(root, ownFolder, deliveries)+"/")
	name, isJSON := strings.CutSuffix(name, ".json")
	return name, ok && isJSON && name != "" && !strings.Contains(name, "/")
}
