package git

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" // packs end with a SHA-1.
	"encoding/binary"
	"iter"

	"github.com/go-git/go-git/v5/plumbing"
)

// encodePack writes a pack of whole objects. Generated manifests are small and compress well;
// deltas would cost more than they save.
func encodePack(objects iter.Seq2[plumbing.Hash, pendingObject]) []byte {
	count := 0
	for range objects {
		count++
	}
	var b bytes.Buffer
	b.WriteString("PACK\x00\x00\x00\x02")
	_ = binary.Write(&b, binary.BigEndian, uint32(count))
	compressor, _ := zlib.NewWriterLevel(&b, zlib.BestSpeed)
	for _, o := range objects {
		b.Write(objectHeader(o.kind, len(o.content)))
		compressor.Reset(&b)
		// Writing into a buffer does not fail.
		_, _ = compressor.Write(o.content)
		_ = compressor.Close()
	}
	sum := sha1.Sum(b.Bytes())
	b.Write(sum[:])
	return b.Bytes()
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
