package bundle

import (
	"cmp"
	"slices"

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
	for _, n := range f.notes {
		r.problems = append(r.problems, n.problems...)
	}
	r.problems = fleet.SortProblems(r.problems)
	f.gone = f.clusterType == nil && len(r.Assignments) == 0 && !f.withheld()
	if f.gone {
		return
	}
	// Where the folder itself cannot be, its assignments are held already.
	if readme := readme(f.root, f.snapshot.Environment, r.ClusterType); f.builder.published.obstacle(readme.Path) == "" {
		r.Readme = readme
	}
	if f.published != nil {
		r.recorded = f.published.recorded
	}
	if at := inventoryPath(f.root, r.ClusterType); f.builder.published.obstacle(at) == "" {
		r.Inventory = newFile(at, encodeInventory(f.snapshot.Environment, r))
	}
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
// configurations of the same layers and schemas have the same lists of them, which are known by where they lie.
func (f *folderBuild) sources() {
	type lists struct{ layers, schemas *string }
	sets := map[lists]*Sources{}
	for i := range f.notes {
		a, schemas := &f.result.Assignments[i], f.notes[i].schemas
		if a.Held != nil {
			continue
		}
		key := lists{first(a.Config.Layers), first(schemas)}
		if sets[key] == nil {
			sets[key] = f.sourcesOf(a.Config.Layers, schemas)
		}
		a.Sources = sets[key]
	}
}

// first returns where a list lies; nil for an empty one.
func first(list []string) *string {
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}

// sourcesOf returns the set of objects that layers, schemas and the templates of the cluster type stand for.
func (f *folderBuild) sourcesOf(layers, schemas []string) *Sources {
	refs := make([]fleet.Ref, 0, len(layers)+len(schemas)+len(f.templates))
	for _, layer := range layers {
		refs = append(refs, configRef(layer))
	}
	for _, schema := range schemas {
		refs = append(refs, schemaRef(schema))
	}
	for _, s := range f.templates {
		refs = append(refs, templateRef(s.template.Name()))
	}
	return newSources(refs)
}
