package bundle

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Paths are the paths of a GitOps branch with the hashes of its files. Nil is an empty branch.
type Paths struct{ top *Tree }

// PathsOf returns the paths of a complete tree.
func PathsOf(top *Tree) *Paths { return &Paths{top} }

// Hash returns the blob ID of a file, and whether the file exists.
func (p *Paths) Hash(file string) (Hash, bool) {
	if p == nil {
		return Hash{}, false
	}
	folder, name := p.top, file
	for {
		top, rest, below := strings.Cut(name, "/")
		e, ok := folder.entry(top)
		if !ok || !below || e.Tree == nil {
			return e.Hash, ok && !below && e.Tree == nil
		}
		folder, name = e.Tree, rest
	}
}

// Sorted returns the paths of all files.
func (p *Paths) Sorted() []string { return p.below("") }

// below returns the paths of the files in a folder and below it, sorted.
func (p *Paths) below(at string) []string {
	var all []string
	p.top.folder(at).files(at, func(f File) bool {
		all = append(all, f.Path)
		return true
	})
	slices.Sort(all)
	return all
}

// Obstacle returns the path that prevents writing a file: a folder with its path, or a file where it needs a folder.
// It returns "" if there is none.
func (p *Paths) Obstacle(file string) (at string, isFolder bool) {
	if p == nil {
		return "", false
	}
	folder, rest := p.top, file
	for {
		name, next, below := strings.Cut(rest, "/")
		e, ok := folder.entry(name)
		switch {
		case !ok:
			return "", false
		case !below && e.Tree != nil:
			return file, true
		case !below:
			return "", false
		case e.Tree == nil:
			return file[:len(file)-len(next)-1], false
		}
		folder, rest = e.Tree, next
	}
}

// Drift is a file that differs from what Kalypso wrote.
type Drift struct {
	Path string `json:"path"`
	// Deleted is true if the file was deleted, false if its content was changed.
	Deleted bool `json:"deleted,omitempty"`
}

// Compare adds drift if a file differs from what was written. It returns the file's current hash.
func (p *Paths) Compare(file string, written Hash, drift *[]Drift) (Hash, bool) {
	actual, ok := p.Hash(file)
	if !ok || actual != written {
		*drift = append(*drift, Drift{Path: file, Deleted: !ok})
	}
	return actual, ok
}

// Branch is the content of a GitOps branch.
type Branch struct {
	// Root is the folder for generated files. Default: the root of the repository.
	Root string
	// Top is the root of the repository, with all files of the branch. // required
	Top *Tree
	// List returns the entries of a folder, with trees that were not read, in any order. It can be called concurrently. Not needed if Top is complete.
	List func(folder Hash) ([]TreeEntry, error)
	// Read returns the content of one of the files. It can be called concurrently. // required
	Read func(path string) ([]byte, error)
	// Before is what was read of the branch before: what has not changed is not read again. Optional.
	Before *Published
	// Unmanaged are the paths in the folders of the environment that others may use.
	Unmanaged fleet.Unmanaged
}

// reader returns what reads the trees of the branch.
func (b Branch) reader() *treeReader { return &treeReader{list: b.List} }

// ReadTracking returns the content of a tracking file without white space; empty if the file does not exist.
func (b Branch) ReadTracking(p *Paths, file string) (string, error) {
	if _, ok := p.Hash(file); !ok {
		return "", nil
	}
	content, err := b.Read(file)
	if err != nil {
		return "", fmt.Errorf("read %q: %w", file, err)
	}
	return strings.TrimSpace(string(content)), nil
}

// ReadInventory decodes an inventory. If it is corrupted, it returns a problem with the given hint.
// It returns an error if the file cannot be read, or if a newer program wrote it.
func ReadInventory[T any](b Branch, file, hint string, decode func(content []byte) (*T, error)) (*T, *fleet.Problem, error) {
	content, err := b.Read(file)
	if err != nil {
		return nil, nil, fmt.Errorf("read inventory %q: %w", file, err)
	}
	decoded, err := decode(content)
	if errors.Is(err, ErrNewer) {
		return nil, nil, fmt.Errorf("read inventory %q: %w", file, err)
	}
	if err != nil {
		return nil, &fleet.Problem{
			Severity: fleet.SeverityWarning, Kind: fleet.KindInventoryCorrupted, Position: fleet.Position{Source: "gitops", File: file},
			Message: "the inventory cannot be read: " + err.Error(), Hint: hint,
		}, nil
	}
	return decoded, nil, nil
}
