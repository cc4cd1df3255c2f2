package git

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/sha1" // packs end with a SHA-1.
	"encoding/binary"
	"errors"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
)

// encodePack returns a pack of whole objects.
func encodePack(objects iter.Seq2[plumbing.Hash, pendingObject]) []byte {
	var b bytes.Buffer
	// Writing into a buffer does not fail.
	_, _ = writePack(&b, objects)
	return b.Bytes()
}

// writePack writes a pack of whole objects and returns its index. Generated manifests are small and compress well;
// deltas would cost more than they save. The index is collected on the way: reading the pack again would take as long as writing it.
func writePack(w io.Writer, objects iter.Seq2[plumbing.Hash, pendingObject]) (*idxfile.MemoryIndex, error) {
	count := uint32(0)
	for range objects {
		count++
	}
	index := &idxfile.Writer{}
	if err := index.OnHeader(count); err != nil {
		return nil, err
	}
	buffered := bufio.NewWriterSize(w, 1<<16)
	p := &packed{w: buffered, sum: sha1.New()}
	_, _ = io.WriteString(p, "PACK\x00\x00\x00\x02")
	_ = binary.Write(p, binary.BigEndian, count)
	compressor, _ := zlib.NewWriterLevel(p, zlib.BestSpeed)
	for name, o := range objects {
		offset := p.size
		p.crc = 0
		_, _ = p.Write(objectHeader(o.kind, len(o.content)))
		compressor.Reset(p)
		if _, err := compressor.Write(o.content); err != nil {
			return nil, err
		}
		if err := compressor.Close(); err != nil {
			return nil, err
		}
		index.Add(name, offset, p.crc)
	}
	sum := p.sum.Sum(nil)
	_, _ = p.Write(sum)
	// A buffered writer returns the first error of all its writes here.
	if err := buffered.Flush(); err != nil {
		return nil, err
	}
	if err := index.OnFooter(plumbing.Hash(sum)); err != nil {
		return nil, err
	}
	return index.Index()
}

// packed measures what it passes on.
type packed struct {
	w    io.Writer
	sum  hash.Hash // of everything
	crc  uint32    // of the current object
	size uint64
}

func (p *packed) Write(b []byte) (int, error) {
	_, _ = p.sum.Write(b)
	p.crc = crc32.Update(p.crc, crc32.IEEETable, b)
	p.size += uint64(len(b))
	return p.w.Write(b)
}

// objectHeader returns an object's type and size: four bits of the size with the type, then seven at a time.
func objectHeader(kind plumbing.ObjectType, size int) []byte {
	first := byte(kind)<<4 | byte(size&0x0f)
	size >>= 4
	var header []byte
	for size > 0 {
		header = append(header, first|0x80)
		first = byte(size & 0x7f)
		size >>= 7
	}
	return append(header, first)
}

// storePack writes a pack and its index into a folder for packs. Other processes that read the folder, or that write the same
// pack at the same time, see each file whole or not at all: git ignores an index without a pack, so the index comes first.
func storePack(dir string, objects iter.Seq2[plumbing.Hash, pendingObject]) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var index *idxfile.MemoryIndex
	pack, err := wholeFile(dir, "tmp_pack_", func(w io.Writer) (err error) {
		index, err = writePack(w, objects)
		return err
	})
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(pack) }()
	idx, err := wholeFile(dir, "tmp_idx_", func(w io.Writer) error {
		_, err := idxfile.NewEncoder(w).Encode(index)
		return err
	})
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(idx) }()
	base := filepath.Join(dir, "pack-"+plumbing.Hash(index.PackfileChecksum).String())
	if err := os.Rename(idx, base+".idx"); err != nil {
		return err
	}
	// A pack has the name of its content, so one that exists is the same. On some systems, open files cannot be replaced.
	if err := os.Rename(pack, base+".pack"); err != nil && !exists(base+".pack") {
		return err
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// wholeFile writes a temporary file, read-only as git's, and returns its path. After an error there is no file.
func wholeFile(dir, prefix string, write func(io.Writer) error) (path string, err error) {
	f, err := os.CreateTemp(dir, prefix)
	if err != nil {
		return "", err
	}
	err = write(f)
	if err == nil {
		err = f.Chmod(0o444)
	}
	if err == nil {
		err = f.Sync()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return f.Name(), err
}
