package plan

import (
	"fmt"

	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// State is one side of a comparison.
type State struct {
	// Name describes the state for users.
	Name     string
	Folders  []*bundle.Folder
	Promoted string
	// Rings are the parts that are rolled out one after the other; nil if there are none.
	Rings *bundle.Rings
	// Read returns the content of a file for which the state only has the
	// hash. May be nil if there are no such files.
	Read func(path string) ([]byte, error)
}

// PublishedState returns the state of a GitOps branch. Nil is an empty branch.
func PublishedState(name string, p *bundle.Published) State {
	if p == nil {
		return State{Name: name}
	}
	rings, _ := p.Rings()
	return State{Name: name, Folders: p.Folders, Promoted: p.Promoted, Rings: rings, Read: p.Read}
}

// BundleState returns the state that a control plane defines.
func BundleState(name string, b *bundle.Bundle) State {
	return State{Name: name, Folders: b.Folders, Promoted: b.Snapshot.PromotedCommit, Rings: ringsAfter(b), Read: b.Published().Read}
}

// ringsAfter returns the rings that a control plane defines. Rings that cannot be read stay as they are published.
func ringsAfter(b *bundle.Bundle) *bundle.Rings {
	if b.Snapshot.LostRings {
		rings, _ := b.Published().Rings()
		return rings
	}
	return b.Rings
}

// content returns the content of a file; nil if the state does not have it.
func (s State) content(f *bundle.File) ([]byte, error) {
	switch {
	case f == nil:
		return nil, nil
	case f.Written():
		return f.Content(), nil
	}
	if s.Read == nil {
		return nil, fmt.Errorf("file %q: %s has no contents", f.Path, s.Name)
	}
	text, err := s.Read(f.Path)
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", f.Path, err)
	}
	return text, nil
}
