package bundle

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/config"
)

// finish decides what happens to published assignments that are not wanted, and writes the README and the inventory.
func (f *folderBuild) finish() {
	if f.reused {
		return
	}
	f.sources()
	f.unwanted()
	r := f.result
	for _, n := range f.notes {
		r.problems = append(r.problems, n.problems...)
		if n.unsettled {
			r.inputs = inputs{} // the next build tries again
		}
	}
	r.problems = fleet.SortProblems(r.problems)
	r.held = firstHeld(r.Assignments)
	f.gone = f.clusterType == nil && len(r.Assignments) == 0 && !f.withheld()
	if f.gone {
		return
	}
	if f.builder.published.owner(r.Name) != nil {
		return // its README and inventory are those of another environment
	}
	// If the path of the folder itself is blocked, its assignments are already held.
	if readme := readme(f.root, f.snapshot.Environment, r); f.builder.published.obstacle(readme.Path) == "" {
		if foreign := f.builder.published.foreignReadme(r.Name, readme); foreign != nil {
			r.problems = fleet.SortProblems(append(r.problems, *foreign))
		} else {
			r.Readme = readme
		}
	}
	if f.published != nil {
		r.drifted = f.published.drifted
	}
	if at := inventoryPath(f.root, r.Name); f.builder.published.obstacle(at) == "" {
		r.Inventory = newInventory(at, f.snapshot.Environment, r)
	}
}

// unwanted decides which of the published assignments that are no longer wanted are removed and which are held.
func (f *folderBuild) unwanted() {
	if f.published == nil {
		return
	}
	var kept []Assignment
	var leaving []*Assignment
	for i := range f.published.Assignments {
		before := &f.published.Assignments[i]
		if _, wanted := f.result.Assignment(before.Target); wanted {
			continue
		}
		reason, typo := f.lost.removal(before), false
		if reason == nil {
			if reason = f.removedBy(before, f.clusterType); reason != nil {
				typo = true
				f.report(*reason)
			}
		}
		if reason == nil {
			leaving = append(leaving, before)
			continue
		}
		kept = append(kept, before.heldBy(reason, typo))
	}
	f.result.Assignments = mergeAssignments(f.result.Assignments, kept)
	needed := f.neededOf(leaving)
	kept = nil
	for _, before := range leaving {
		if reason := needed[before]; reason != nil {
			f.report(*reason)
			kept = append(kept, before.heldBy(reason, true))
		} else {
			f.result.removed = append(f.result.removed, *before)
		}
	}
	f.result.Assignments = mergeAssignments(f.result.Assignments, kept)
}

// report adds the problem of an assignment that is held for something that the inputs of the folder do not have.
func (f *folderBuild) report(reason fleet.Problem) {
	f.result.problems = append(f.result.problems, reason)
	f.result.inputs = inputs{}
}

// heldBy returns the assignment as it is published. approvable means that a user can approve the removal.
func (a *Assignment) heldBy(reason *fleet.Problem, approvable bool) Assignment {
	held := *a
	held.Held, held.approvable = reason, approvable
	return held
}

// withheld reports whether a folder without a cluster type or cluster must stay,
// because either may be in an unreadable file.
func (f *folderBuild) withheld() bool {
	ref := fleet.Ref{Kind: "ClusterType", Name: f.result.ClusterType}
	if f.result.Cluster != "" {
		ref = clusterRef(f.result.Cluster)
	}
	_, unreadable := f.lost.refs[ref]
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

// sources sets the objects that each rendered assignment was made from. Most assignments share one set:
// configurations with the same layers and schemas share the lists, so they are identified by the lists' addresses.
func (f *folderBuild) sources() {
	type lists struct {
		layers  *config.Layers
		schemas *string
		grants  string
	}
	sets := map[lists]*Sources{}
	for i := range f.notes {
		a, schemas, grants := &f.result.Assignments[i], f.notes[i].schemas, f.notes[i].grants
		if a.Held != nil {
			continue
		}
		key := lists{a.Config.Layers, first(schemas), namesOf(grants)}
		if sets[key] == nil {
			sets[key] = f.sourcesOf(a.Config.Layers, schemas, grants)
		}
		a.Sources = sets[key]
	}
}

// first returns the address of a list's first element, which identifies the list; nil for an empty list.
func first(list []string) *string {
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}

// namesOf identifies a list of grants.
func namesOf(grants []*fleet.Grant) string {
	if len(grants) == 0 {
		return ""
	}
	var names strings.Builder
	for _, g := range grants {
		names.WriteString(g.Name)
		names.WriteByte('/')
	}
	return names.String()
}

// sourcesOf returns the set of the layers, the schemas, the grants and the cluster type's templates.
func (f *folderBuild) sourcesOf(layers *config.Layers, schemas []string, grants []*fleet.Grant) *Sources {
	templates := f.templates
	return newSources(func() []fleet.Ref {
		var refs []fleet.Ref
		for _, g := range grants {
			refs = append(refs, grantRef(g.Name))
		}
		for _, layer := range layers.Names() {
			refs = append(refs, configRef(layer))
		}
		for _, schema := range schemas {
			refs = append(refs, schemaRef(schema))
		}
		for _, s := range templates {
			refs = append(refs, templateRef(s.template.Name()))
		}
		return refs
	})
}
