package bundle

import (
	"path"
	"slices"
	"strings"
)

// FolderDigests are the digests of folders that were read before.
type FolderDigests map[folderKey]string

type folderKey struct {
	path string
	id   Hash
}

// FolderDigests returns what identifies the files of each folder with an inventory, by name. Only folders that are not known are read,
// and are known then.
func (b Branch) FolderDigests(known FolderDigests) (map[string]string, error) {
	r, inventories := b.reader(), path.Join(b.Root, inventoryFolder)
	t, _, err := r.at(b.Top, nil, inventories)
	if err == nil {
		err = r.all(t, nil, 0)
	}
	if err != nil {
		return nil, err
	}
	digests := map[string]string{}
	for _, file := range PathsOf(b.Top).below(inventories) {
		name, isJSON := strings.CutSuffix(strings.TrimPrefix(file, inventories+"/"), ".json")
		if !isJSON || !isInventoryName(name) {
			continue
		}
		if digests[name], err = b.folderDigest(r, path.Join(b.Root, name), known); err != nil {
			return nil, err
		}
	}
	return digests, nil
}

func (b Branch) folderDigest(r *treeReader, at string, known FolderDigests) (string, error) {
	parent, _, err := r.at(b.Top, nil, path.Dir(at))
	if err != nil {
		return "", err
	}
	e, _ := parent.entry(path.Base(at))
	key := folderKey{at, e.Hash}
	if digest, ok := known[key]; ok {
		return digest, nil
	}
	if err := r.all(e.Tree, nil, 0); err != nil {
		return "", err
	}
	var files []File
	e.Tree.files(at, func(f File) bool {
		files = append(files, f)
		return true
	})
	sortFiles(files)
	digest := Digest(slices.Values(files))
	if known != nil {
		known[key] = digest
	}
	return digest, nil
}
