package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// compareFolders compares both sides by folder. Bundles share unchanged folders, so if one of a hundred cluster
// types changed, only its folder is compared in detail.
func (p *Plan) compareFolders() {
	before, after := byName(p.before.Folders), byName(p.after.Folders)
	for _, name := range slices.Sorted(maps.Keys(union(before, after))) {
		old, now := before[name], after[name]
		if old == now {
			p.keep(now)
			continue
		}
		changes, counts := compareFolder(old, now)
		p.Assignments = append(p.Assignments, changes...)
		p.Counts.add(counts)
		if op, touched := folderOp(old, now, counts); touched {
			f := cmp.Or(now, old)
			p.ClusterTypes = append(p.ClusterTypes, ClusterType{Name: f.ClusterType, Cluster: f.Cluster, Op: op, Counts: counts})
		}
	}
}

// keep counts a folder that both sides share. Held assignments are listed again, because they still need to be fixed.
func (p *Plan) keep(f *bundle.Folder) {
	for i := range f.Assignments {
		if a := &f.Assignments[i]; a.Held != nil {
			p.Assignments = append(p.Assignments, heldChange(a))
			p.Counts.Held++
		} else {
			p.Counts.Unchanged++
		}
	}
}

// folderOp returns what happens to a folder as a whole, and whether anything does.
func folderOp(old, now *bundle.Folder, counts Counts) (Op, bool) {
	switch {
	case old == nil:
		return Added, true
	case now == nil:
		return Removed, true
	}
	touched := old.Readme.Hash != now.Readme.Hash || old.Inventory.Hash != now.Inventory.Hash
	return Changed, touched || counts.Added+counts.Changed+counts.Removed > 0
}

// compareFolder merges the assignments of both sides, which are sorted by target.
func compareFolder(old, now *bundle.Folder) ([]Change, Counts) {
	var changes []Change
	var counts Counts
	was, is := assignments(old), assignments(now)
	for len(was) > 0 || len(is) > 0 {
		switch order := compareHeads(was, is); {
		case order < 0:
			changes = append(changes, removedChange(&was[0]))
			counts.Removed++
			was = was[1:]
		case order > 0:
			changes = append(changes, newChange(&is[0], &counts))
			is = is[1:]
		default:
			if c, ok := bothChange(&was[0], &is[0], &counts); ok {
				changes = append(changes, c)
			}
			was, is = was[1:], is[1:]
		}
	}
	return changes, counts
}

func assignments(f *bundle.Folder) []bundle.Assignment {
	if f == nil {
		return nil
	}
	return f.Assignments
}

// compareHeads compares the first assignments of two lists by target; an empty list sorts last.
func compareHeads(was, is []bundle.Assignment) int {
	switch {
	case len(was) == 0:
		return 1
	case len(is) == 0:
		return -1
	}
	return cmp.Compare(was[0].Target, is[0].Target)
}

// newChange returns the change for an assignment that exists only after the change. An assignment that is held and
// was never published is not added: no files are written for it.
func newChange(a *bundle.Assignment, counts *Counts) Change {
	if a.Held != nil {
		counts.Held++
		return heldChange(a)
	}
	counts.Added++
	c := describe(Added, a)
	c.Files = fileChanges(nil, a.Files)
	return c
}

// bothChange returns the change of an assignment that exists on both sides, and false if nothing changes. Only its
// files count: if another policy selects the same pair, clusters see no difference.
func bothChange(was, is *bundle.Assignment, counts *Counts) (Change, bool) {
	if is.Held != nil {
		counts.Held++
		return heldChange(is), true
	}
	files := fileChanges(was.Files, is.Files)
	if len(files) == 0 {
		counts.Unchanged++
		return Change{}, false
	}
	counts.Changed++
	c := describe(Changed, is)
	c.Files = files
	return c, true
}

func removedChange(a *bundle.Assignment) Change {
	c := describe(Removed, a)
	c.Files = fileChanges(a.Files, nil)
	return c
}

func heldChange(a *bundle.Assignment) Change {
	c := describe(Held, a)
	c.Reason = a.Held
	return c
}

func describe(op Op, a *bundle.Assignment) Change {
	return Change{Op: op, ClusterType: a.ClusterType, Cluster: a.Cluster, Target: a.Target, Title: title(a), Policies: a.Policies}
}

// title returns the display name of a target: "<workload>/<short name>", or its name if the workload is unknown.
func title(a *bundle.Assignment) string {
	if short, ok := strings.CutPrefix(a.Target, a.Workload+"-"); ok && a.Workload != "" {
		return a.Workload + "/" + short
	}
	return a.Target
}

// fileChanges returns the files that differ between two sorted lists.
func fileChanges(was, is []bundle.File) []FileChange {
	var changes []FileChange
	for len(was) > 0 || len(is) > 0 {
		switch {
		case len(is) == 0 || len(was) > 0 && was[0].Path < is[0].Path:
			changes = append(changes, FileChange{Op: Removed, Path: was[0].Path, before: &was[0]})
			was = was[1:]
		case len(was) == 0 || is[0].Path < was[0].Path:
			changes = append(changes, FileChange{Op: Added, Path: is[0].Path, after: &is[0]})
			is = is[1:]
		default:
			if was[0].Hash != is[0].Hash {
				changes = append(changes, FileChange{Op: Changed, Path: is[0].Path, before: &was[0], after: &is[0]})
			}
			was, is = was[1:], is[1:]
		}
	}
	return changes
}

func byName(folders []*bundle.Folder) map[string]*bundle.Folder {
	m := make(map[string]*bundle.Folder, len(folders))
	for _, f := range folders {
		m[f.Name] = f
	}
	return m
}

func union(a, b map[string]*bundle.Folder) map[string]*bundle.Folder {
	m := maps.Clone(a)
	maps.Copy(m, b)
	return m
}

func (c *Counts) add(other Counts) {
	c.Added += other.Added
	c.Changed += other.Changed
	c.Removed += other.Removed
	c.Held += other.Held
	c.Unchanged += other.Unchanged
}
