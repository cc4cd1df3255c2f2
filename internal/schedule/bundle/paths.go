package bundle

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Paths are the paths of a GitOps branch with the hashes of its files. Nil is an empty branch.
type Paths struct {
	hashes map[string]Hash
	// parents are the folders with files below them.
	parents map[string]bool
}

// PathsOf returns the paths of files.
func PathsOf(files []File) *Paths {
	p := &Paths{hashes: make(map[string]Hash, len(files)), parents: map[string]bool{}}
	for _, f := range files {
		p.hashes[f.Path] = f.Hash
		for dir := path.Dir(f.Path); dir != "." && !p.parents[dir]; dir = path.Dir(dir) {
			p.parents[dir] = true
		}
	}
	return p
}

// Hash returns the blob ID of a file, and whether the file exists.
func (p *Paths) Hash(file string) (Hash, bool) {
	if p == nil {
		return Hash{}, false
	}
	h, ok := p.hashes[file]
	return h, ok
}

// Sorted returns the paths of all files.
func (p *Paths) Sorted() []string { return slices.Sorted(maps.Keys(p.hashes)) }

// Obstacle returns the path that prevents writing a file: a folder with its path, or a file where it needs a folder.
// It returns "" if there is none.
func (p *Paths) Obstacle(file string) (at string, isFolder bool) {
	if p == nil {
		return "", false
	}
	if p.parents[file] {
		return file, true
	}
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if _, ok := p.hashes[dir]; ok {
			return dir, false
		}
	}
	return "", false
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
	// Files are all files of the branch, in any order, without content.
	Files []File
	// Read returns the content of one of the files.
	Read func(path string) ([]byte, error)
}

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
