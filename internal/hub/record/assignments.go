package record

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// maxInventory limits an inventory, in bytes; that of a large cluster type has a few megabytes.
const maxInventory = 64 << 20

// listing is the content of an inventory.
type listing struct {
	environment string
	assignments []ledger.Assignment
}

// assignments reads the inventories of all environments on the branch.
func (r *reading) assignments(ctx context.Context) error {
	files, err := finder{lookForInventories, &r.files.inventories}.find(ctx, r.commit.Tree)
	if err != nil {
		return err
	}
	environments, owners := map[string]bool{}, []string{}
	for _, asked := range r.memory.asked {
		environments[asked] = true
	}
	for _, file := range files {
		l, err := parsed(ctx, r, file, r.listing)
		if err != nil {
			return err
		}
		r.roots[rootOf(file)] = true
		owner := r.ownerOf(file, l)
		environments[owner] = true
		for _, a := range l.assignments {
			r.found.assignments, owners = append(r.found.assignments, a), append(owners, owner)
		}
	}
	r.belongTo(environments)
	if r.found.environment == "" {
		for i, owner := range owners {
			r.found.assignments[i].Environment = owner
		}
	}
	return nil
}

// ownerOf returns the environment of an inventory: the one whose files are there now, or else the one in the inventory.
func (r *reading) ownerOf(inventory Entry, l listing) string {
	asked := r.memory.asked[rootOf(inventory)]
	if asked == "" {
		return l.environment
	}
	if l.environment != "" && l.environment != asked {
		r.problem(inventory, &unreadable{
			kind:    fleet.KindWrongBranch,
			message: fmt.Sprintf("it names environment %q in the folder of environment %q", l.environment, asked),
			hint:    "schedule the environment to write the inventory again; the assignments count",
		})
	}
	return asked
}

// rootOf returns the folder with the files of an inventory, in the spelling of the ledger.
func rootOf(inventory Entry) string {
	root, _ := strings.CutSuffix(path.Dir(inventory.Path), bundle.InventoryFolder)
	return ledger.CleanPath(root)
}

// lookForInventories selects the inventories of a folder. It skips folders of cluster types with an inventory, which Kalypso
// writes and which contain no inventories, so that little of a large branch is read.
func lookForInventories(ctx context.Context, tree Tree, folder Entry, entries []Entry) (files found, enter []Entry, err error) {
	own, err := inventoriesOf(ctx, tree, folder, entries)
	if err != nil {
		return nil, nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		files = append(files, own[name])
	}
	for _, e := range entries {
		name := path.Base(e.Path)
		if _, ours := own[name]; !e.Folder || ours || name[0] == '.' {
			continue
		}
		if name == fleet.ClustersFolder && len(own) > 0 {
			only, err := onlyClusters(ctx, tree, folder, e)
			if err != nil {
				return nil, nil, err
			}
			if only {
				continue
			}
		}
		enter = append(enter, e)
	}
	return files, enter, nil
}

// onlyClusters reports whether a folder has only the folders of clusters with an inventory below the parent. They have the assignments
// of their types, and there can be ten thousand.
func onlyClusters(ctx context.Context, tree Tree, parent, folder Entry) (bool, error) {
	inventories, ok, err := lookup(ctx, tree, path.Join(parent.Path, bundle.InventoryFolder, fleet.ClustersFolder))
	if !ok || !inventories.Folder || err != nil {
		return false, err
	}
	known := map[string]bool{}
	listed, err := tree.List(ctx, inventories)
	for _, e := range listed {
		name, _ := strings.CutSuffix(path.Base(e.Path), ".json")
		known[name] = true
	}
	if err != nil {
		return false, err
	}
	clusters, err := tree.List(ctx, folder)
	for _, e := range clusters {
		if e.Folder && !known[path.Base(e.Path)] {
			return false, err
		}
	}
	return true, err
}

// inventoriesOf returns the inventories of a folder by cluster type, with relative paths.
func inventoriesOf(ctx context.Context, tree Tree, folder Entry, entries []Entry) (map[string]Entry, error) {
	at := folder
	for name := range strings.SplitSeq(bundle.InventoryFolder, "/") {
		next, ok := named(entries, path.Join(at.Path, name))
		if !ok || !next.Folder {
			return nil, nil
		}
		var err error
		if entries, err = tree.List(ctx, next); err != nil {
			return nil, err
		}
		at = next
	}
	own := map[string]Entry{}
	for _, e := range entries {
		if clusterType, ok := bundle.InventoryOf(e.Path); ok && !e.Folder {
			own[clusterType] = relative(e, folder)
		}
	}
	return own, nil
}

// listing reads an inventory. It is cached by content and name.
func (r *reading) listing(ctx context.Context, tree Tree, file Entry) (listing, error) {
	key := file.Hash + path.Base(file.Path)
	if known, ok := r.files.listings.get(key); ok {
		return known.result()
	}
	content, err := tree.Read(ctx, file, maxInventory)
	if err != nil && !errors.Is(err, ErrTooLarge) {
		return listing{}, err
	}
	var l listing
	if err == nil {
		l, err = parseListing(file.Path, content)
	}
	s := said[listing]{value: l}
	if err != nil {
		s.bad = &unreadable{kind: fleet.KindInventoryCorrupted, message: "the inventory cannot be read: " + err.Error(), hint: "schedule the environment to write it again"}
	}
	r.files.listings.put(key, s, 1+len(l.assignments))
	return s.result()
}

func parseListing(file string, content []byte) (listing, error) {
	read, err := bundle.ParseListing(file, content)
	if err != nil {
		return listing{}, err
	}
	l := listing{environment: read.Environment, assignments: make([]ledger.Assignment, 0, len(read.Assignments))}
	for _, a := range read.Assignments {
		if err := checkNames(read.ClusterType, a.Target, a.Workload, a.Workspace); err != nil {
			return listing{}, err
		}
		l.assignments = append(l.assignments, ledger.Assignment{
			ClusterType: read.ClusterType, Target: a.Target, Workload: a.Workload, Workspace: a.Workspace,
		})
	}
	return l, checkNames(read.Environment)
}
