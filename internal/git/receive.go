package git

import (
	"cmp"
	"compress/zlib"
	"context"
	"crypto/sha1" // Git's object names and the sums of packs are SHA-1.
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

const (
	// minContent is how many bytes the objects of a pack of any size can have together.
	minContent = 1 << 30
	// maxRatio is how many bytes the objects of a larger pack can have for each of its bytes. Real packs, whose deltas share most of
	// their content, stay below a few hundred.
	maxRatio = 1 << 10
)

// receivePack reads a pack to its end, and stores it with its index in a folder for packs. An empty pack is not stored.
//
// go-git's reader holds each object in memory, however large. This one checks every size before it takes memory: it passes objects without
// delta through, and makes the others from bases of at most maxBase bytes. The error is a tooMuchError if a limit is exceeded.
func receivePack(ctx context.Context, dir string, r io.Reader, limits Limits) error {
	limits = limits.orDefaults()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var p *receivedPack
	pack, err := wholeFile(dir, "tmp_pack_", func(w io.Writer) (err error) {
		p, err = readPack(contextReader{ctx, r}, w, limits)
		return err
	})
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(pack) }()
	if len(p.index.objects) == 0 {
		return nil
	}
	if err := p.resolve(ctx, pack); err != nil {
		return err
	}
	idx, err := wholeFile(dir, "tmp_idx_", p.index.encode)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(idx) }()
	return placePack(dir, pack, idx, p.index.sum)
}

// CheckPack reads a pack, which may need objects that it does not have, and returns why it must not be given to Git: its objects would need
// too much memory. The error is [ErrTooLarge] then, and [ErrCorrupt] for anything but a pack. where names the repository.
func CheckPack(ctx context.Context, where string, r io.Reader, limits Limits) error {
	_, err := readPack(contextReader{ctx, r}, io.Discard, limits.orDefaults())
	var much tooMuchError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &much):
		return &Error{Kind: ErrTooLarge, Op: "push to", Where: where, Detail: strings.Replace(much.Error(), "it sends", "this is", 1), Hint: "push without the large objects"}
	case ended(ctx, err) != nil:
		return ended(ctx, err)
	}
	return &Error{Kind: ErrCorrupt, Op: "push to", Where: where, Detail: secret.Scrub(err.Error())}
}

// receivedPack is a pack while it is received.
type receivedPack struct {
	// index has the objects in the order of the pack. The hashes of deltas follow when they are resolved.
	index packIndex
	// kinds are the types of the entries.
	kinds []plumbing.ObjectType
	// near are the deltas to an earlier entry, named those to an object.
	near  []nearDelta
	named []namedDelta
	// content is the size of all objects, and of the deltas. largest is that of the largest object that a delta makes or is applied to.
	content, largest int64
}

type nearDelta struct{ base, delta int32 }

type namedDelta struct {
	base  plumbing.Hash
	delta int32
}

// readPack copies a pack, and collects where its entries are. It unpacks each for its size, without keeping it.
func readPack(r io.Reader, w io.Writer, limits Limits) (*receivedPack, error) {
	s := &packStream{r: r, w: w, sum: sha1.New()}
	p := &receivedPack{}
	if err := p.readFrom(s, limits); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = damagedPack(cmp.Or(s.err, err))
		}
		return nil, err
	}
	if most := max(minContent, maxRatio*s.at()); p.content > most {
		return nil, tooMuchError{what: fmt.Sprintf("it sends a pack of %d bytes with contents", s.at()), limit: most}
	}
	slices.SortFunc(p.near, func(a, b nearDelta) int { return cmp.Or(cmp.Compare(a.base, b.base), cmp.Compare(a.delta, b.delta)) })
	slices.SortFunc(p.named, func(a, b namedDelta) int {
		return cmp.Or(slices.Compare(a.base[:], b.base[:]), cmp.Compare(a.delta, b.delta))
	})
	return p, nil
}

func (p *receivedPack) readFrom(s *packStream, limits Limits) error {
	var header [12]byte
	if n, err := io.ReadFull(s, header[:]); err != nil {
		if n == 0 && err == io.EOF {
			return packfile.ErrEmptyPackfile
		}
		return err
	}
	if version := binary.BigEndian.Uint32(header[4:]); string(header[:4]) != "PACK" || version != 2 && version != 3 {
		return damagedPack(errors.New("it does not begin like a pack"))
	}
	count := binary.BigEndian.Uint32(header[8:])
	if most := min(limits.Objects, math.MaxInt32); int64(count) > most {
		return tooMuchError{what: "it sends a pack", limit: most, unit: "objects"}
	}
	for range count {
		if err := p.readEntry(s, limits); err != nil {
			return err
		}
	}
	p.index.sum = s.end()
	var sum plumbing.Hash
	if _, err := io.ReadFull(s, sum[:]); err != nil {
		return err
	}
	if sum != p.index.sum {
		return damagedPack(errors.New("a pack does not match its sum"))
	}
	if _, err := s.ReadByte(); !errors.Is(err, io.EOF) {
		return cmp.Or(err, damagedPack(errors.New("more than a pack is sent")))
	}
	return s.flush()
}

// readEntry reads an entry of the pack.
func (p *receivedPack) readEntry(s *packStream, limits Limits) error {
	at := s.begin()
	h, err := readEntryHeader(s, at)
	if err != nil {
		return err
	}
	i := int32(len(p.index.objects))
	o := packedObject{offset: uint64(at)}
	if p.content += h.size; p.content > limits.Content || p.content < 0 {
		return tooMuchError{what: "it sends a pack with contents", limit: limits.Content}
	}
	if err := s.open(); err != nil {
		return err
	}
	if h.isDelta() {
		err = p.readDelta(s, h, i, limits)
	} else {
		o.hash, err = hashObject(h.kind, h.size, s.unpack)
	}
	if err == nil {
		err = ends(s.unpack)
	}
	if err != nil {
		return err
	}
	o.crc = s.checksum()
	p.index.objects, p.kinds = append(p.index.objects, o), append(p.kinds, h.kind)
	return nil
}

// readDelta reads a delta, checks the sizes that it has, and notes its base.
func (p *receivedPack) readDelta(s *packStream, h packed, i int32, limits Limits) error {
	start := make([]byte, min(h.size, 2*binary.MaxVarintLen64))
	if _, err := io.ReadFull(s.unpack, start); err != nil {
		return damagedPack(err)
	}
	base, made, _, err := deltaSizes(start)
	if err != nil {
		return err
	}
	if base > maxBase {
		return tooMuchError{what: "it sends a pack with a delta to an object", limit: maxBase}
	}
	if p.content += made; made > limits.Content || p.content > limits.Content {
		return tooMuchError{what: "it sends a pack with contents", limit: limits.Content}
	}
	p.largest = max(p.largest, base, made)
	if n, err := io.Copy(io.Discard, io.LimitReader(s.unpack, h.size-int64(len(start)))); err != nil || n+int64(len(start)) < h.size {
		return damagedPack(cmp.Or(err, io.ErrUnexpectedEOF))
	}
	if h.kind == plumbing.REFDeltaObject {
		p.named = append(p.named, namedDelta{h.name, i})
		return nil
	}
	of, ok := slices.BinarySearchFunc(p.index.objects, h.base, func(o packedObject, at int64) int { return cmp.Compare(int64(o.offset), at) })
	if !ok {
		return damagedPack(errors.New("a delta has no base"))
	}
	p.near = append(p.near, nearDelta{int32(of), i})
	return nil
}

// deltaSizes returns the sizes of a delta's base and of the object that it makes, and how many bytes of the delta they take.
func deltaSizes(delta []byte) (base, made int64, n int, err error) {
	b, n := binary.Uvarint(delta)
	m, k := binary.Uvarint(delta[max(n, 0):])
	if n <= 0 || k <= 0 || b > 1<<62 || m > 1<<62 {
		return 0, 0, 0, damagedPack(packfile.ErrInvalidDelta)
	}
	return int64(b), int64(m), n + k, nil
}

// hashObject returns the hash of an object whose content is read.
func hashObject(kind plumbing.ObjectType, size int64, content io.Reader) (plumbing.Hash, error) {
	h := sha1.New()
	_, _ = io.WriteString(h, kind.String()+" "+strconv.FormatInt(size, 10)+"\x00")
	n, err := io.Copy(h, io.LimitReader(content, size))
	if err != nil || n < size {
		return plumbing.ZeroHash, damagedPack(cmp.Or(err, io.ErrUnexpectedEOF))
	}
	return plumbing.Hash(h.Sum(nil)), nil
}

// ends returns an error if there is more content than its header says.
func ends(content io.Reader) error {
	var more [1]byte
	if n, err := io.ReadFull(content, more[:]); n > 0 || err != io.EOF {
		return damagedPack(cmp.Or(err, errors.New("an object has more content than its size")))
	}
	return nil
}

// packStream reads a pack byte by byte as package flate does, which reads no further than an object then. It copies what was read.
type packStream struct {
	r      io.Reader
	w      io.Writer
	sum    hash.Hash
	crc    uint32
	buffer [64 << 10]byte
	// The buffer has been copied until mark, read until from, and filled until to, which is at the offset filled of the pack.
	mark, from, to int
	filled         int64
	// err is the error of the reader, which package flate may have replaced.
	err    error
	unpack io.ReadCloser
}

// at returns the offset of the next byte.
func (s *packStream) at() int64 { return s.filled - int64(s.to-s.from) }

// flush copies what was read.
func (s *packStream) flush() error {
	done := s.buffer[s.mark:s.from]
	s.mark = s.from
	_, _ = s.sum.Write(done)
	s.crc = crc32.Update(s.crc, crc32.IEEETable, done)
	if _, err := s.w.Write(done); err != nil {
		s.err = err
		return err
	}
	return nil
}

// begin begins the checksum of an entry, and returns its offset.
func (s *packStream) begin() int64 {
	_ = s.flush() // an error is returned again by the next read, as s.err
	s.crc = 0
	return s.at()
}

// checksum returns the checksum since begin.
func (s *packStream) checksum() uint32 {
	_ = s.flush()
	return s.crc
}

// end returns the sum of what was read.
func (s *packStream) end() plumbing.Hash {
	_ = s.flush()
	return plumbing.Hash(s.sum.Sum(nil))
}

func (s *packStream) open() (err error) {
	s.unpack, err = openContent(s.unpack, s)
	return err
}

func (s *packStream) fill() error {
	if s.from < s.to {
		return s.err
	}
	if err := s.flush(); s.err != nil {
		return cmp.Or(err, s.err)
	}
	s.mark, s.from, s.to = 0, 0, 0
	for s.to == 0 && s.err == nil {
		s.to, s.err = s.r.Read(s.buffer[:])
	}
	s.filled += int64(s.to)
	if s.to > 0 && errors.Is(s.err, io.EOF) {
		s.err = nil // it is found again
	}
	return s.err
}

// ReadByte implements [io.ByteReader].
func (s *packStream) ReadByte() (byte, error) {
	if s.from == s.to {
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
	s.from++
	return s.buffer[s.from-1], nil
}

// Read implements [io.Reader].
func (s *packStream) Read(b []byte) (int, error) {
	if s.from == s.to {
		if err := s.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(b, s.buffer[s.from:s.to])
	s.from += n
	return n, nil
}

// openContent begins to unpack a content, with the reader of another one if there was one.
func openContent(unpack io.ReadCloser, r io.Reader) (io.ReadCloser, error) {
	if unpack == nil {
		opened, err := zlib.NewReader(r)
		if err != nil {
			return nil, damagedPack(err)
		}
		return opened, nil
	}
	again, _ := unpack.(zlib.Resetter)
	if err := again.Reset(r, nil); err != nil {
		return unpack, damagedPack(err)
	}
	return unpack, nil
}

// placePack gives a pack and its index their names.
func placePack(dir, pack, idx string, sum plumbing.Hash) error {
	base := filepath.Join(dir, "pack-"+sum.String())
	if err := os.Rename(idx, base+".idx"); err != nil {
		return err
	}
	// A pack has the name of its content, so one that exists is the same. On some systems, open files cannot be replaced.
	if err := os.Rename(pack, base+".pack"); err != nil && !exists(base+".pack") {
		return err
	}
	return nil
}
