package git

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"sync"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

// packed is what a pack has at an offset: an object, or a delta and the place or name of what it is applied to.
type packed struct {
	kind    plumbing.ObjectType
	size    int64 // of the content
	content []byte
	base    int64
	name    plumbing.Hash
}

func (p packed) isDelta() bool {
	return p.kind == plumbing.OFSDeltaObject || p.kind == plumbing.REFDeltaObject
}

// entry reads what a pack has at an offset, with buffers that are used again.
type entry struct {
	packed

	packs *packs
	pack  *pack

	at       int64 // the offset of what follows in the buffer
	from, to int
	buffer   [4 << 10]byte
	unpack   io.ReadCloser
}

var entries = sync.Pool{New: func() any { return &entry{} }}

// entry reads the header of an entry. The caller reads or releases it, once.
func (p *packs) entry(x *pack, offset int64) (*entry, error) {
	e, _ := entries.Get().(*entry)
	e.packed, e.packs, e.pack, e.at, e.from, e.to = packed{}, p, x, offset, 0, 0
	if err := e.header(offset); err != nil {
		e.release()
		if errors.Is(err, io.EOF) {
			err = damagedPack(io.ErrUnexpectedEOF)
		}
		return nil, err
	}
	return e, nil
}

func (e *entry) release() {
	e.packed, e.packs, e.pack = packed{}, nil, nil
	entries.Put(e)
}

// header reads the header of the entry.
func (e *entry) header(offset int64) (err error) {
	e.packed, err = readEntryHeader(e, offset)
	return err
}

// byteReader reads a pack, also byte by byte.
type byteReader interface {
	io.Reader
	io.ByteReader
}

// readEntryHeader reads the type and the size, which has four bits in the first byte, then seven at a time; and the base of a delta.
func readEntryHeader(r byteReader, offset int64) (h packed, err error) {
	b, err := r.ReadByte()
	if err != nil {
		return h, err
	}
	h.kind = plumbing.ObjectType(b >> 4 & 7)
	size := uint64(b & 0x0f)
	for shift := 4; b >= 0x80; shift += 7 {
		if b, err = r.ReadByte(); err != nil {
			return h, err
		}
		if shift > 56 {
			return h, damagedPack(errors.New("an object is too large"))
		}
		size |= uint64(b&0x7f) << shift
	}
	h.size = int64(size)
	switch h.kind {
	case plumbing.CommitObject, plumbing.TreeObject, plumbing.BlobObject, plumbing.TagObject:
		return h, nil
	case plumbing.REFDeltaObject:
		_, err = io.ReadFull(r, h.name[:])
		return h, err
	case plumbing.OFSDeltaObject:
		h.base, err = readDistance(r)
		if h.base = offset - h.base; err == nil && (h.base <= 0 || h.base >= offset) {
			err = damagedPack(errors.New("a delta is before its base"))
		}
		return h, err
	default:
		return h, damagedPack(packfile.ErrInvalidObject)
	}
}

// readDistance reads how far before a delta its base is: seven bits at a time, to which each further byte adds one.
func readDistance(r io.ByteReader) (int64, error) {
	b, err := r.ReadByte()
	distance := int64(b & 0x7f)
	for err == nil && b >= 0x80 {
		if distance >= 1<<55 {
			return 0, damagedPack(errors.New("a delta is too far from its base"))
		}
		b, err = r.ReadByte()
		distance = (distance+1)<<7 | int64(b&0x7f)
	}
	return distance, err
}

// ReadByte implements [io.ByteReader], so that package flate reads without a buffer of its own.
func (e *entry) ReadByte() (byte, error) {
	if e.from == e.to {
		if err := e.more(); err != nil {
			return 0, err
		}
	}
	e.from++
	return e.buffer[e.from-1], nil
}

// Read implements [io.Reader].
func (e *entry) Read(b []byte) (int, error) {
	if e.from == e.to {
		if err := e.more(); err != nil {
			return 0, err
		}
	}
	n := copy(b, e.buffer[e.from:e.to])
	e.from += n
	return n, nil
}

func (e *entry) more() (err error) {
	e.from = 0
	e.to, err = e.packs.fill(e.pack, e.buffer[:], e.at)
	e.at += int64(e.to)
	return err
}

// open begins to unpack the content.
func (e *entry) open() (err error) {
	e.unpack, err = openContent(e.unpack, e)
	return err
}

// objectSize returns the size of the object, also of one that a delta makes. A delta begins with the sizes of its base and of the object.
func (e *entry) objectSize() (int64, error) {
	if !e.isDelta() {
		return e.size, nil
	}
	if err := e.open(); err != nil {
		return 0, err
	}
	start := make([]byte, min(e.size, 2*binary.MaxVarintLen64))
	if _, err := io.ReadFull(e.unpack, start); err != nil {
		return 0, damagedPack(err)
	}
	return deltaSize(start)
}

// deltaSize returns the size of the object that a delta makes.
func deltaSize(delta []byte) (int64, error) {
	_, size, _, err := deltaSizes(delta)
	return size, err
}

// read returns the entry with its content, and releases the buffers. limit bounds the size of the object, also of one that a delta makes.
func (e *entry) read(limit int64) (packed, error) {
	defer e.release()
	bound := limit
	if e.isDelta() {
		bound = maxBase
	}
	if e.size > bound {
		return packed{}, tooLargeError{e.size, bound}
	}
	if err := e.open(); err != nil {
		return packed{}, err
	}
	var err error
	if e.content, err = readAll(e.unpack, e.size); err != nil {
		return packed{}, damagedPack(err)
	}
	if !e.isDelta() {
		return e.packed, nil
	}
	size, err := deltaSize(e.content)
	if err == nil && size > limit {
		err = tooLargeError{size, limit}
	}
	return e.packed, err
}

// readAll reads a content of the given size. A large size does not take memory before there is as much content.
func readAll(r io.Reader, size int64) ([]byte, error) {
	const usual = 8 << 20
	if size <= usual {
		content := make([]byte, size)
		_, err := io.ReadFull(r, content)
		return content, err
	}
	var content bytes.Buffer
	n, err := content.ReadFrom(io.LimitReader(r, size))
	if err == nil && n < size {
		err = io.ErrUnexpectedEOF
	}
	return content.Bytes(), err
}
