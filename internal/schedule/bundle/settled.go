package bundle

import (
	"slices"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// digest identifies the inputs; zero for those of no build.
func (i inputs) digest() fleet.Digest {
	if i == (inputs{}) {
		return fleet.Digest{}
	}
	var d digester
	for _, part := range []fleet.Digest{i.assigned, i.shared, i.base, i.candidates, i.published} {
		d.digest(part)
	}
	d.texts(i.readme, i.inventory)
	return d.sum()
}

// settle uses the published folder as the result if an earlier build of the same inputs, which include what is published, gave exactly that.
// What a chart renders is not decided by the inputs alone.
func (f *folderBuild) settle(i inputs) bool {
	if f.published == nil || f.charted || f.options.Settled == nil || !f.options.Settled(i.digest()) {
		return false
	}
	f.result, f.reused, f.settled = f.published, true, i.digest()
	return true
}

// Settled returns digests of the folders that are as they are published, for [Options.Settled] of a build in another process. Folders with
// problems, or with anything that is held, are not among them.
func (b *Bundle) Settled() []fleet.Digest {
	settled := slices.Clone(b.settled)
	for _, f := range b.Folders {
		if id := f.inputs.digest(); id != (fleet.Digest{}) && f.isPublished(b.published.folderOf(f.Name)) {
			settled = append(settled, id)
		}
	}
	return settled
}

// isPublished reports whether a folder was built without problems and is exactly the published one. The inventory has what else the two
// could differ in.
func (f *Folder) isPublished(published *Folder) bool {
	return published != nil && !published.adopted && len(published.drifted) == 0 && len(f.problems) == 0 && len(f.removed) == 0 && f.held == nil &&
		f.hasFilesOf(published)
}
