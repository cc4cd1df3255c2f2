package fleet

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"slices"
	"time"
)

// Source is a folder of a repository at one commit, or a plain folder.
// It does not include .git, .github and similar folders, submodules, folders with a Chart.yaml,
// and Files does not include what .sourceignore or .kalypsoignore list.
type Source struct {
	// Name is for display; it becomes [Position.Source].
	Name string
	// Commit is empty for a plain folder.
	Repo, Branch, Commit string
	// Time of the commit. Zero for a plain folder.
	Time time.Time
	// Subject says in one line what the commit changes; empty for a plain folder.
	Subject string
	// Objects means that the files are objects of a cluster. Their positions have no lines.
	Objects bool
	// Files are the YAML files, in any order.
	Files []File
	// Hidden are the YAML files that an ignore file lists, in any order.
	Hidden []Hidden
	// Budget bounds what is read of the files. The zero value is [ControlPlaneBudget].
	Budget Budget
}

// Hidden is a file that a pattern of an ignore file hides.
type Hidden struct {
	File
	// By is the path of the ignore file, Line the line of the pattern.
	By      string
	Line    int
	Pattern string
}

// ownGroups is a part of every API group of Kalypso.
var ownGroups = []byte("kalypso.io/")

// OfApplication returns the source of an application: with those of its hidden files that have documents of Kalypso, unless a
// .kalypsoignore lists them. A .sourceignore says what belongs to an artifact of Flux, and repositories of manifests often list
// everything else, with the Workload. Its budget is [ApplicationBudget].
func (s Source) OfApplication() Source {
	files, hidden := slices.Clone(s.Files), []Hidden(nil)
	for _, h := range s.Hidden {
		if path.Base(h.By) == ".sourceignore" && h.isOwn() {
			files = append(files, h.File)
		} else {
			hidden = append(hidden, h)
		}
	}
	s.Files, s.Hidden, s.Budget = files, hidden, ApplicationBudget
	return s
}

// isOwn reports whether a file may have documents of Kalypso. One that cannot be read may.
func (h Hidden) isOwn() bool {
	if h.Symlink || h.Size > MaxFileSize {
		return false
	}
	data, err := h.Read()
	return err != nil || bytes.Contains(data, ownGroups)
}

// Hides describes why a source without documents has none: the ignore file that hides its YAML files. ok is false if none does.
func (s Source) Hides() (problem Problem, ok bool) {
	if len(s.Hidden) == 0 {
		return Problem{}, false
	}
	first := slices.MinFunc(s.Hidden, func(a, b Hidden) int {
		return cmp.Or(cmp.Compare(a.By, b.By), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Path, b.Path))
	})
	count := fmt.Sprintf("%d YAML files, such as %s", len(s.Hidden), first.Path)
	if len(s.Hidden) == 1 {
		count = first.Path
	}
	hint := "remove the pattern"
	if path.Base(first.By) == ".sourceignore" {
		hint = `add "!*.yaml" to a .kalypsoignore beside it, which takes precedence`
	}
	return Problem{
		Severity: SeverityWarning, Kind: KindMissingObject, Position: Position{Source: s.Name, File: first.By, Line: first.Line},
		Message: fmt.Sprintf("no documents are left: the pattern %q hides %s", first.Pattern, count), Hint: hint,
	}, true
}

// File is one file of a source.
type File struct {
	// Path is relative to the root of the repository, with forward slashes.
	Path string
	// ID identifies the content: the Git blob id. Equal ids mean equal bytes.
	ID string
	// Size is the number of bytes.
	Size int64
	// Symlink marks a symbolic link, which is never followed.
	Symlink bool
	// Read returns the content. It is not called if a file with this ID is cached.
	Read func() ([]byte, error)
}
