package bundle

import (
	"cmp"
	"slices"

	"github.com/kalypso-io/kalypso/internal/config"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// finish decides about what is published and not wanted, and writes the README and the inventory.
func (f *folderBuild) finish() {
	if f.reused {
		return
	}
	f.sources()
	f.unwanted()
	r := f.result
	for _, p := range f.problems {
		r.problems = append(r.problems, p...)
	}
	r.problems = fleet.SortProblems(r.problems)
	f.gone = f.clusterType == nil && len(r.Assignments) == 0 && !f.withheld()
	if f.gone {
		return
	}
	r.Readme = readme(f.root, f.snapshot.Environment, r.ClusterType)
	if f.published != nil {
		r.recorded = f.published.recorded
	}
	r.Inventory = newFile(inventoryPath(f.root, r.ClusterType), encodeInventory(r))
	r.recorded = nil
}

// unwanted sorts the published assignments that nobody wants into those that are removed and those that are held.
func (f *folderBuild) unwanted() {
	if f.published == nil {
		return
	}
	var kept []Assignment
	for i := range f.published.Assignments {
		before := &f.published.Assignments[i]
		if _, wanted := f.result.Assignment(before.Target); wanted {
			continue
		}
		if reason := f.lost.removal(before); reason != nil {
			a := *before
			a.Held = reason
			kept = append(kept, a)
			continue
		}
		f.result.removed = append(f.result.removed, *before)
	}
	f.result.Assignments = mergeAssignments(f.result.Assignments, kept)
}

// withheld reports whether a folder without a cluster type has to stay because nobody knows whether it is gone.
func (f *folderBuild) withheld() bool {
	_, unreadable := f.lost.refs[fleet.Ref{Kind: "ClusterType", Name: f.result.ClusterType}]
	return unreadable || f.lost.file != nil
}

// mergeAssignments merges two lists without common targets, sorted by target.
func mergeAssignments(a, b []Assignment) []Assignment {
	if len(b) == 0 {
		return a
	}
	merged := slices.Concat(a, b)
	slices.SortFunc(merged, func(x, y Assignment) int { return cmp.Compare(x.Target, y.Target) })
	return merged
}

// sources notes for each rendered assignment the set of objects it was made from. Most assignments share one set:
// configurations of the same layers have the same list of them, which is known by where it lies.
func (f *folderBuild) sources() {
	sets := map[*string]*Sources{}
	for i := range f.result.Assignments {
		a := &f.result.Assignments[i]
		if a.Held != nil {
			continue
		}
		var layers *string
		if len(a.Config.Layers) > 0 {
			layers = &a.Config.Layers[0]
		}
		if sets[layers] == nil {
			sets[layers] = f.sourcesOf(a.Config)
		}
		a.Sources = sets[layers]
	}
}

// sourcesOf returns the set of objects that a configuration and the templates of the cluster type stand for.
func (f *folderBuild) sourcesOf(composed *config.Composed) *Sources {
	refs := make([]fleet.Ref, 0, len(composed.Layers)+len(f.templates))
	for _, layer := range composed.Layers {
		refs = append(refs, configRef(layer))
	}
	for _, s := range f.templates {
		refs = append(refs, templateRef(s.template.Name()))
	}
	return newSources(refs)
}
