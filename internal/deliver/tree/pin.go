package tree

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// Pin keeps a target as it is while the others of its environment move on. The zero value pins nothing.
type Pin struct {
	// Revision is the commit of the GitOps branch whose files the target keeps; empty for a target that is uninstalled.
	Revision string `json:"revision,omitempty"`
	// Uninstalled means that the target has no objects. Its folder stays, so that reconcilers that follow it remove what they applied.
	Uninstalled bool `json:"uninstalled,omitempty"`
}

// IsZero reports whether nothing is pinned.
func (p Pin) IsZero() bool { return p == Pin{} }

// String says what the target is pinned to.
func (p Pin) String() string {
	if p.Uninstalled {
		return "uninstalled"
	}
	return "pinned to " + fleet.ShortCommit(p.Revision)
}

// Check returns an error for a pin that is not valid.
func (p Pin) Check() error {
	if p.Uninstalled == (p.Revision != "") || p.Revision != "" && !isCommit(p.Revision) {
		return fmt.Errorf("%.100q is not the full hash of a commit", p.Revision)
	}
	return nil
}

// isCommit reports whether text is the full hash of a commit.
func isCommit(text string) bool {
	return (len(text) == 40 || len(text) == 64) && strings.Trim(text, "0123456789abcdef") == ""
}

// Pins returns the pins of the published targets, by target.
func (p *Published) Pins() map[string]Pin {
	pins := map[string]Pin{}
	if p != nil {
		for _, t := range p.Targets {
			if !t.Pin.IsZero() {
				pins[t.Name] = t.Pin
			}
		}
	}
	return pins
}

// Drifted reports whether a file of a target was changed or deleted by hand.
func (p *Published) Drifted(target string) bool {
	return p != nil && slices.ContainsFunc(p.Drift, func(d bundle.Drift) bool { return p.owners[d.Path] == target })
}

// pinnedImages returns the images in manifests that a pinned target gets; none if they stay as published.
func pinnedImages(files []bundle.File) []string {
	for _, f := range files {
		if name := path.Base(f.Path); f.Written() && (name == manifestsName || name == legacyName) {
			images, _ := chart.ImagesIn(f.Content()) // the checks report manifests that cannot be read
			return images
		}
	}
	return nil
}

// pinnedFiles returns the files that a pinned target has, at paths below its folder and Kalypso's own. files are those of its revision,
// with content; for a target that is uninstalled, they are nil.
func pinnedFiles(root, folder string, t Target) ([]bundle.File, error) {
	if t.Pin.Uninstalled {
		nothing := &chart.Manifests{}
		at := path.Join(root, folder)
		return []bundle.File{file(path.Join(at, kustomizationName), kustomization(nothing)), file(path.Join(at, manifestsName), nil)}, nil
	}
	for _, f := range t.Kept {
		if placeOf(root, t.Name, folder, path.Base(f.Path)) != f.Path {
			return nil, fmt.Errorf("revision %s has the file %q, and the target is written to %q now", fleet.ShortCommit(t.Pin.Revision), f.Path, path.Join(root, folder))
		}
	}
	return t.Kept, nil
}

// keeps reports whether a target stays as published, whatever is wanted of others.
func (w Wanted) keeps(target string) bool { return w.Only != nil && !w.Only[target] }

// keep adds a published target as it is.
func (t *Tree) keep(target string) {
	if p, ok := t.published.target(target); ok {
		t.Targets = append(t.Targets, Entry{Name: p.Name, Folder: p.Folder, Files: p.Files, Pin: p.Pin})
	}
}
