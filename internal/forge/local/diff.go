package local

import (
	"cmp"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
)

// Shown at most, so that a page stays one: files of a change, and lines of all.
const (
	maxDiffFiles = 500
	maxDiffLines = 20_000
	// foldAfter is how many lines of a file are shown unfolded.
	foldAfter = 300
)

const tooManyLines = "The change has too many lines to show them all."

// diff is what a change does.
type diff struct {
	Files []fileDiff
	// Changed is how many files there are, of which More are not shown.
	Changed, More  int
	Added, Removed int
}

// fileDiff is what a change does to a file.
type fileDiff struct {
	Name string
	// What happened: "added", "changed", "removed".
	What           string
	Added, Removed int
	// Hidden says why lines are not shown; empty when they are.
	Hidden string
	Folded bool
	Hunks  []hunk
}

type hunk struct {
	// Old and New are the numbers of the first lines.
	Old, New int
	Lines    []diffLine
}

type diffLine struct {
	// Class is how it looks: "same", "added", "removed".
	Class string
	// Old and New are line numbers; 0 on the side that does not have the line.
	Old, New int
	Sign     string
	Text     string
}

// diffOf computes what a head changed since it left the base.
func diffOf(objects bare, base, head plumbing.Hash) (diff, error) {
	changes, err := changesSince(objects, base, head)
	if err != nil {
		return diff{}, err
	}
	d := diff{Changed: len(changes), More: max(0, len(changes)-maxDiffFiles)}
	lines := 0
	for _, c := range changes[:len(changes)-d.More] {
		f, err := diffFile(objects, c, maxDiffLines-lines)
		if err != nil {
			return diff{}, err
		}
		lines += f.Added + f.Removed
		d.Added, d.Removed = d.Added+f.Added, d.Removed+f.Removed
		d.Files = append(d.Files, f)
	}
	return d, nil
}

// diffFile computes what happened to one file. Of one that has more lines than are left, only the numbers are shown.
func diffFile(objects bare, c *object.Change, left int) (fileDiff, error) {
	f := fileDiff{Name: c.To.Name, What: "changed"}
	switch {
	case c.From.Name == "":
		f.What = "added"
	case c.To.Name == "":
		f.Name, f.What = c.From.Name, "removed"
	}
	if left <= 0 {
		f.Hidden = tooManyLines
		return f, nil
	}
	before, hidden, err := sideOf(objects, c.From)
	if err != nil {
		return f, err
	}
	after, hiddenToo, err := sideOf(objects, c.To)
	if err != nil {
		return f, err
	}
	if f.Hidden = cmp.Or(hidden, hiddenToo); f.Hidden != "" || before == after {
		return f, nil
	}
	unified, err := udiff.ToUnifiedDiff(f.Name, f.Name, before, udiff.Lines(before, after), udiff.DefaultContextLines)
	if err != nil {
		return f, err
	}
	f.addHunks(unified)
	f.Folded = f.Added+f.Removed > foldAfter
	if f.Added+f.Removed > left {
		f.Hunks, f.Hidden = nil, tooManyLines
	}
	return f, nil
}

func sideOf(objects bare, side object.ChangeEntry) (text, hidden string, err error) {
	if side.TreeEntry.Mode == filemode.Submodule {
		return "commit " + side.TreeEntry.Hash.String() + "\n", "", nil
	}
	return readText(objects, side.TreeEntry.Hash)
}

func (f *fileDiff) addHunks(unified udiff.UnifiedDiff) {
	for _, h := range unified.Hunks {
		shown := hunk{Old: h.FromLine, New: h.ToLine}
		before, after := h.FromLine, h.ToLine
		for _, l := range h.Lines {
			line := diffLine{Text: strings.TrimSuffix(l.Content, "\n")}
			switch l.Kind {
			case udiff.Delete:
				line.Class, line.Sign, line.Old = "removed", "-", before
				before, f.Removed = before+1, f.Removed+1
			case udiff.Insert:
				line.Class, line.Sign, line.New = "added", "+", after
				after, f.Added = after+1, f.Added+1
			default:
				line.Class, line.Sign, line.Old, line.New = "same", " ", before, after
				before, after = before+1, after+1
			}
			shown.Lines = append(shown.Lines, line)
		}
		f.Hunks = append(f.Hunks, shown)
	}
}
