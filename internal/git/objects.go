package git

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/objfile"
)

// objects is a database of objects: packs, and files of single objects. It is safe for concurrent use. Contents are not checked against
// their hashes.
type objects struct {
	dir   string
	packs packs
}

func newObjects(dir string) *objects {
	return &objects{dir: dir, packs: packs{dir: filepath.Join(dir, "pack")}}
}

// read returns an object. The error is plumbing.ErrObjectNotFound if it is not known, and a tooLargeError if it has more than limit bytes.
func (o *objects) read(hash plumbing.Hash, limit int64) (plumbing.ObjectType, []byte, error) {
	kind, content, err := o.packs.read(hash, limit)
	if !errors.Is(err, plumbing.ErrObjectNotFound) {
		return kind, content, err
	}
	err = o.single(hash, func(found plumbing.ObjectType, size int64, r io.Reader) (err error) {
		if size > limit {
			return tooLargeError{size, limit}
		}
		kind = found
		content, err = readAll(r, size)
		return err
	})
	return kind, content, err
}

// size returns the size of an object.
func (o *objects) size(hash plumbing.Hash) (size int64, err error) {
	if size, err = o.packs.size(hash); !errors.Is(err, plumbing.ErrObjectNotFound) {
		return size, err
	}
	err = o.single(hash, func(_ plumbing.ObjectType, found int64, _ io.Reader) error {
		size = found
		return nil
	})
	return size, err
}

// single opens an object that is a file of its own.
func (o *objects) single(hash plumbing.Hash, use func(kind plumbing.ObjectType, size int64, content io.Reader) error) error {
	id := hash.String()
	f, err := os.Open(filepath.Join(o.dir, id[:2], id[2:]))
	if errors.Is(err, os.ErrNotExist) {
		return plumbing.ErrObjectNotFound
	}
	if err != nil {
		return err
	}
	defer f.Close()
	r, err := objfile.NewReader(f)
	if err != nil {
		return damagedPack(err)
	}
	defer r.Close()
	kind, size, err := r.Header()
	if err == nil && size < 0 {
		err = objfile.ErrNegativeSize
	}
	if err != nil {
		return damagedPack(err)
	}
	return use(kind, size, r)
}
