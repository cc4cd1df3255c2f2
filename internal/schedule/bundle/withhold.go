package bundle

import (
	"slices"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Withhold returns the bundle with some rendered assignments held, by their names: they keep their published files. The
// reasons are added to the problems.
func (b *Bundle) Withhold(reasons map[string]fleet.Problem) *Bundle {
	if len(reasons) == 0 {
		return b
	}
	c := *b
	c.Folders, c.Problems = slices.Clone(b.Folders), slices.Clone(b.Problems)
	for i, f := range c.Folders {
		c.Folders[i] = b.withhold(f, reasons)
	}
	for _, reason := range reasons {
		c.Problems = append(c.Problems, reason)
	}
	c.Problems = fleet.SortProblems(c.Problems)
	return &c
}

// withhold returns the folder with its part of the assignments held.
func (b *Bundle) withhold(f *Folder, reasons map[string]fleet.Problem) *Folder {
	concerned := func(a Assignment) bool { _, found := reasons[a.Name()]; return found }
	if !slices.ContainsFunc(f.Assignments, concerned) {
		return f
	}
	c := *f
	c.Assignments, c.inputs = slices.Clone(f.Assignments), inputs{}
	published := b.published.folderOf(f.Name)
	for i := range c.Assignments {
		a := &c.Assignments[i]
		if reason, found := reasons[a.Name()]; found {
			before, _ := published.Assignment(a.Target)
			hold(a, before, &reason)
		}
	}
	c.held = firstHeld(c.Assignments)
	if c.Inventory.Path != "" {
		if published != nil {
			c.drifted = published.drifted
		}
		c.Inventory = newInventory(c.Inventory.Path, b.Environment, &c)
	}
	return &c
}
