package git

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"os"
	"slices"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

const (
	// maxHeld bounds the contents that a pack's deltas wait with while they are resolved, besides a base and what a delta makes of it.
	// What is dropped is made again.
	maxHeld = 32 << 20
	// large is the size from which objects with deltas are made one at a time, for all repositories together.
	large = 8 << 20
)

// largeObjects is held while objects with deltas are made that are large.
var largeObjects = make(chan struct{}, 1)

// resolve computes the hashes of the objects that are deltas.
func (p *receivedPack) resolve(ctx context.Context, path string) error {
	if len(p.near)+len(p.named) == 0 {
		return nil
	}
	if p.largest > large {
		select {
		case largeObjects <- struct{}{}:
			defer func() { <-largeObjects }()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	// Every object is made once, and again if its content was dropped meanwhile.
	r := &resolver{receivedPack: p, ctx: ctx, file: f, left: 4*p.content + minContent}
	for i := range p.index.objects {
		if p.kinds[i].IsDelta() {
			continue
		}
		if err := r.tree(int32(i)); err != nil {
			return err
		}
	}
	for _, kind := range p.kinds {
		if kind.IsDelta() {
			return damagedPack(errors.New("a delta has no base"))
		}
	}
	return nil
}

// resolver makes the objects of a pack that are deltas.
type resolver struct {
	*receivedPack
	ctx  context.Context
	file *os.File

	in     bufio.Reader // of the file
	unpack io.ReadCloser
	delta  bufio.Reader // of what was unpacked

	// path is an object, the delta to it that is resolved now, the delta to that, and so on.
	path []resolving
	// held is the size of their contents, left how much can still be made.
	held, left int64
}

// resolving is an object with deltas to it.
type resolving struct {
	object int32
	deltas []int32
	// content is nil if it was dropped.
	content []byte
}

// tree resolves all deltas to an object, the deltas to those, and so on.
func (r *resolver) tree(object int32) error {
	r.enter(object, nil)
	for len(r.path) > 0 {
		last := &r.path[len(r.path)-1]
		if len(last.deltas) == 0 {
			r.drop(len(r.path) - 1)
			r.path = r.path[:len(r.path)-1]
			continue
		}
		delta := last.deltas[0]
		last.deltas = last.deltas[1:]
		if !r.kinds[delta].IsDelta() {
			continue // another object has the same content
		}
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if err := r.one(object, delta); err != nil {
			return err
		}
	}
	return nil
}

// one resolves a delta to the last object of the path.
func (r *resolver) one(root, delta int32) error {
	at := len(r.path) - 1
	base, err := r.content(at)
	if err != nil {
		return err
	}
	hash, content, err := r.apply(r.kinds[root], base, delta)
	if err != nil {
		return err
	}
	if len(r.path[at].deltas) == 0 {
		r.drop(at) // this was the last delta to it
	}
	r.index.objects[delta].hash, r.kinds[delta] = hash, r.kinds[root]
	r.enter(delta, content)
	if len(r.path) > maxChain {
		return damagedPack(errors.New("too many deltas"))
	}
	return nil
}

// enter adds an object to the path if there are deltas to it.
func (r *resolver) enter(object int32, content []byte) {
	var deltas []int32
	at, _ := slices.BinarySearchFunc(r.near, object, func(d nearDelta, object int32) int { return cmp.Compare(d.base, object) })
	for ; at < len(r.near) && r.near[at].base == object; at++ {
		deltas = append(deltas, r.near[at].delta)
	}
	hash := r.index.objects[object].hash
	at, _ = slices.BinarySearchFunc(r.named, hash, func(d namedDelta, hash plumbing.Hash) int { return bytes.Compare(d.base[:], hash[:]) })
	for ; at < len(r.named) && r.named[at].base == hash; at++ {
		deltas = append(deltas, r.named[at].delta)
	}
	if len(deltas) == 0 {
		return
	}
	r.path = append(r.path, resolving{object: object, deltas: deltas})
	if content != nil {
		r.keep(len(r.path)-1, content)
	}
}

// keep keeps the content of an object of the path, and drops those of others if there is too much.
func (r *resolver) keep(at int, content []byte) {
	r.path[at].content = content
	r.held += int64(len(content))
	for i := 0; i < at && r.held > maxHeld; i++ {
		r.drop(i)
	}
}

func (r *resolver) drop(at int) {
	r.held -= int64(len(r.path[at].content))
	r.path[at].content = nil
}

// content returns the content of an object of the path.
func (r *resolver) content(at int) ([]byte, error) {
	from := at
	for from > 0 && r.path[from].content == nil {
		from--
	}
	content := r.path[from].content
	if content == nil {
		var err error
		if content, err = r.object(r.path[0].object); err != nil {
			return nil, err
		}
	}
	for ; from < at; from++ {
		var err error
		if _, content, err = r.apply(plumbing.BlobObject, content, r.path[from+1].object); err != nil {
			return nil, err
		}
	}
	if r.path[at].content == nil {
		r.keep(at, content)
	}
	return content, nil
}

// open begins to read the content of an entry.
func (r *resolver) open(i int32) (packed, error) {
	at := int64(r.index.objects[i].offset)
	r.in.Reset(io.NewSectionReader(r.file, at, math.MaxInt64-at))
	h, err := readEntryHeader(&r.in, at)
	if err == nil {
		r.unpack, err = openContent(r.unpack, &r.in)
	}
	return h, err
}

// object reads an object that is not a delta.
func (r *resolver) object(i int32) ([]byte, error) {
	h, err := r.open(i)
	if err != nil {
		return nil, err
	}
	if h.size > maxBase {
		return nil, tooMuchError{what: "it sends a pack with a delta to an object", limit: maxBase}
	}
	if err := r.spend(h.size); err != nil {
		return nil, err
	}
	content := make([]byte, h.size)
	if _, err := io.ReadFull(r.unpack, content); err != nil {
		return nil, damagedPack(err)
	}
	return content, nil
}

// spend counts what is made.
func (r *resolver) spend(size int64) error {
	if r.left -= size; r.left < 0 {
		return damagedPack(errors.New("its deltas take too long"))
	}
	return r.ctx.Err()
}

// apply makes an object of its base, with a delta. The content is nil if it is too large to be the base of another one.
func (r *resolver) apply(kind plumbing.ObjectType, base []byte, delta int32) (plumbing.Hash, []byte, error) {
	h, err := r.open(delta)
	if err != nil {
		return plumbing.ZeroHash, nil, err
	}
	r.delta.Reset(io.LimitReader(r.unpack, h.size))
	start, _ := r.delta.Peek(int(min(h.size, 20)))
	size, made, n, err := deltaSizes(start)
	if err == nil && size != int64(len(base)) {
		err = damagedPack(packfile.ErrInvalidDelta)
	}
	if err != nil {
		return plumbing.ZeroHash, nil, err
	}
	if err := r.spend(h.size + made); err != nil {
		return plumbing.ZeroHash, nil, err
	}
	_, _ = r.delta.Discard(n)
	parts := &deltaReader{in: &r.delta, base: base, left: made}
	if made > maxBase {
		hash, err := hashObject(kind, made, parts)
		return hash, nil, err
	}
	content := make([]byte, made)
	if _, err := io.ReadFull(parts, content); err != nil {
		return plumbing.ZeroHash, nil, damagedPack(err)
	}
	return objectHash(kind, content), content, nil
}

// deltaReader reads what a delta makes of its base.
type deltaReader struct {
	in   *bufio.Reader
	base []byte
	// left is the size of the rest of the object.
	left int64
	// copied is the rest of a part of the base, insert the size of the rest of a text of the delta.
	copied []byte
	insert int
}

// Read implements [io.Reader].
func (d *deltaReader) Read(b []byte) (n int, err error) {
	for d.left > 0 && d.insert == 0 && len(d.copied) == 0 {
		if err := d.next(); err != nil {
			return 0, err
		}
	}
	switch {
	case d.left <= 0:
		return 0, io.EOF
	case d.insert > 0:
		n, err = d.in.Read(b[:min(len(b), d.insert)])
		d.insert -= n
	default:
		n = copy(b, d.copied)
		d.copied = d.copied[n:]
	}
	d.left -= int64(n)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// next reads an instruction: to copy a part of the base, whose offset and size have a byte for each bit that is set, or to insert a text.
func (d *deltaReader) next() error {
	op, err := d.in.ReadByte()
	switch {
	case err != nil:
		return errors.Join(io.ErrUnexpectedEOF, err)
	case op == 0:
		return packfile.ErrInvalidDelta
	case op < 0x80:
		d.insert = int(op)
		if int64(op) > d.left {
			return packfile.ErrInvalidDelta
		}
		return nil
	}
	var number [7]int
	for i := range number {
		if op&(1<<i) == 0 {
			continue
		}
		b, err := d.in.ReadByte()
		if err != nil {
			return errors.Join(io.ErrUnexpectedEOF, err)
		}
		number[i] = int(b)
	}
	from := number[0] | number[1]<<8 | number[2]<<16 | number[3]<<24
	size := cmp.Or(number[4]|number[5]<<8|number[6]<<16, 1<<16)
	if int64(size) > d.left || from < 0 || from > len(d.base) || size > len(d.base)-from {
		return packfile.ErrInvalidDelta
	}
	d.copied = d.base[from : from+size]
	return nil
}
