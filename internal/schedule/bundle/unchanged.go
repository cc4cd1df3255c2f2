package bundle

import "slices"

// findUnchanged finds the folders that have exactly the files of published ones. Most folders of a large branch are, round after round,
// and what was found for the previous bundle is not compared again.
func (b *Bundle) findUnchanged(previous *Bundle) {
	if b.published == nil {
		return
	}
	unchanged := make([]*Folder, len(b.Folders))
	parallel(len(b.Folders), func(_, i int) {
		f := b.Folders[i]
		published := b.published.folderOf(f.Name)
		if published != nil && (previous != nil && previous.unchanged[f] == published || f.hasFilesOf(published)) {
			unchanged[i] = published
		}
	})
	b.unchanged = make(map[*Folder]*Folder, len(b.Folders))
	for i, published := range unchanged {
		if published != nil {
			b.unchanged[b.Folders[i]] = published
		}
	}
}

// hasFilesOf reports whether two folders have the same files, for the same assignments.
func (f *Folder) hasFilesOf(other *Folder) bool {
	same := func(a, b File) bool { return a.Path == b.Path && a.Hash == b.Hash }
	return same(f.Readme, other.Readme) && same(f.Inventory, other.Inventory) &&
		slices.EqualFunc(f.Assignments, other.Assignments, func(a, b Assignment) bool {
			return a.Target == b.Target && slices.EqualFunc(a.Files, b.Files, same)
		})
}
