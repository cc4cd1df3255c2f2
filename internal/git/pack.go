package git

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"crypto/sha1" // packs end with a SHA-1.
	"encoding/binary"
	"errors"
	"hash"
	"hash/adler32"
	"hash/crc32"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
)

// encodePack returns a pack of objects.
func encodePack(objects iter.Seq2[plumbing.Hash, pendingObject]) []byte {
	var b bytes.Buffer
	// Writing into a buffer does not fail.
	_, _ = writePack(&b, objects)
	return b.Bytes()
}

// packIndex is where the objects of a pack are, and the pack's checksum.
type packIndex struct {
	objects []packedObject
	sum     plumbing.Hash
}

// packedObject is the place of an object in a pack, and the CRC-32 of its bytes there.
type packedObject struct {
	hash   plumbing.Hash
	crc    uint32
	offset uint64
}

// writePack writes a pack and returns its index, which is collected on the way: reading the pack again would take as long as writing it.
func writePack(w io.Writer, objects iter.Seq2[plumbing.Hash, pendingObject]) (*packIndex, error) {
	count := 0
	for range objects {
		count++
	}
	buffered := bufio.NewWriterSize(w, 1<<16)
	p := &packWriter{w: buffered, sum: sha1.New(), index: &packIndex{objects: make([]packedObject, 0, count)}}
	p.compressor, _ = zlib.NewWriterLevel(&p.object, zlib.BestSpeed)
	p.write(binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(count)))
	for hash, o := range objects {
		if err := p.add(hash, o); err != nil {
			return nil, err
		}
	}
	p.index.sum = plumbing.Hash(p.sum.Sum(nil))
	p.write(p.index.sum[:])
	// A buffered writer returns the first error of all its writes here.
	return p.index, buffered.Flush()
}

// packWriter writes the objects of a pack, one after the other.
type packWriter struct {
	w          io.Writer
	sum        hash.Hash
	size       uint64
	index      *packIndex
	object     bytes.Buffer // the current object
	compressor *zlib.Writer
	deltas     deltas
}

// maxStored is the size up to which trees and deltas are stored without compression, which would take most of the time and save little:
// they consist of hashes, and of what is different.
const maxStored = 1 << 10

func (p *packWriter) add(hash plumbing.Hash, o pendingObject) error {
	p.object.Reset()
	kind, content, base := o.kind, o.content, plumbing.ZeroHash
	if kind == plumbing.BlobObject {
		if of, delta, ok := p.deltas.of(hash, content); ok {
			// A reference by hash is understood by every server, one by offset is not.
			kind, content, base = plumbing.REFDeltaObject, delta, of
		}
	}
	p.object.Write(objectHeader(kind, len(content)))
	if kind == plumbing.REFDeltaObject {
		p.object.Write(base[:])
	}
	if kind != plumbing.BlobObject && len(content) <= maxStored {
		p.object.Write(appendStored(p.object.AvailableBuffer(), content))
	} else if err := p.compress(content); err != nil {
		return err
	}
	p.index.objects = append(p.index.objects, packedObject{hash, crc32.ChecksumIEEE(p.object.Bytes()), p.size})
	p.write(p.object.Bytes())
	return nil
}

func (p *packWriter) compress(content []byte) error {
	p.compressor.Reset(&p.object)
	if _, err := p.compressor.Write(content); err != nil {
		return err
	}
	return p.compressor.Close()
}

// appendStored appends a zlib stream of one block that is not compressed. The content has at most 65,535 bytes.
func appendStored(b, content []byte) []byte {
	n := uint16(len(content))
	b = append(b, 0x78, 0x01, 0x01)
	b = binary.LittleEndian.AppendUint16(b, n)
	b = binary.LittleEndian.AppendUint16(b, ^n)
	return binary.BigEndian.AppendUint32(append(b, content...), adler32.Checksum(content))
}

func (p *packWriter) write(b []byte) {
	_, _ = p.sum.Write(b)
	p.size += uint64(len(b))
	_, _ = p.w.Write(b)
}

// encode writes the index in version 2 of the format; see https://git-scm.com/docs/pack-format. It sorts the objects.
func (x *packIndex) encode(w io.Writer) error {
	slices.SortFunc(x.objects, func(a, b packedObject) int { return bytes.Compare(a.hash[:], b.hash[:]) })
	sum := sha1.New()
	out := bufio.NewWriterSize(io.MultiWriter(w, sum), 1<<16)
	number := func(n uint32) { _, _ = out.Write(binary.BigEndian.AppendUint32(out.AvailableBuffer(), n)) }
	_, _ = out.WriteString("\xfftOc\x00\x00\x00\x02")
	at := 0
	for first := range 256 {
		for at < len(x.objects) && int(x.objects[at].hash[0]) == first {
			at++
		}
		number(uint32(at))
	}
	for i := range x.objects {
		_, _ = out.Write(x.objects[i].hash[:])
	}
	for i := range x.objects {
		number(x.objects[i].crc)
	}
	var large []uint64 // offsets of more than 31 bits are in a table of their own
	for i := range x.objects {
		offset := x.objects[i].offset
		if offset > math.MaxInt32 {
			large = append(large, offset)
			offset = 1<<31 | uint64(len(large)-1)
		}
		number(uint32(offset))
	}
	for _, offset := range large {
		_, _ = out.Write(binary.BigEndian.AppendUint64(out.AvailableBuffer(), offset))
	}
	_, _ = out.Write(x.sum[:])
	// A buffered writer returns the first error of all its writes here.
	if err := out.Flush(); err != nil {
		return err
	}
	_, err := w.Write(sum.Sum(nil))
	return err
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
	var index *packIndex
	pack, err := wholeFile(dir, "tmp_pack_", func(w io.Writer) (err error) {
		index, err = writePack(w, objects)
		return err
	})
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(pack) }()
	idx, err := wholeFile(dir, "tmp_idx_", index.encode)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(idx) }()
	return placePack(dir, pack, idx, index.sum)
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
