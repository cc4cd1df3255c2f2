package git

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
)

const (
	// maxOpenPacks is how many packs of a repository stay open. Reopening them for every object would double the time of a walk;
	// a server with many repositories must not run out of file descriptors.
	maxOpenPacks = 8
	// maxChain bounds the number of deltas of one object. Git itself makes at most 4,095.
	maxChain = 4095
	// maxBase bounds the size of a delta, and of the object that it is applied to.
	maxBase = 128 << 20
	// maxMade bounds the size of everything that the deltas of one object make.
	maxMade = 4 << 30
	// maxCachedBases bounds what is kept of such objects, in bytes.
	maxCachedBases = 32 << 20
)

// packs reads the packs of a folder. go-git's reader keeps a map of all objects of a pack, and reads one object at a time.
// It is safe for concurrent use. Contents are not checked against their hashes.
type packs struct {
	dir  string
	list atomic.Pointer[[]*pack]

	mu   sync.Mutex
	open []*pack // those with an open file, oldest first

	bases baseCache
}

// pack is a pack with its index, which is kept in memory.
type pack struct {
	path   string // of the pack
	fanout [256]uint32
	// names are the sorted hashes of the objects, offsets their offsets with four bytes each, large those of more than 31 bits.
	names, offsets, large []byte
	file                  atomic.Pointer[os.File]
}

// all returns the packs that are known.
func (p *packs) all() ([]*pack, error) {
	if known := p.list.Load(); known != nil {
		return *known, nil
	}
	if err := p.scan(); err != nil {
		return nil, err
	}
	return *p.list.Load(), nil
}

// scan looks for packs that were added, and forgets those that are gone. It ignores indexes without a pack, and packs without an index,
// which are not complete yet.
func (p *packs) scan() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := map[string]*pack{}
	if list := p.list.Load(); list != nil {
		for _, x := range *list {
			known[x.path] = x
		}
	}
	entries, err := os.ReadDir(p.dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	list := []*pack{}
	for _, e := range entries {
		name, isIndex := strings.CutSuffix(e.Name(), ".idx")
		path := filepath.Join(p.dir, name+".pack")
		if !isIndex || !strings.HasPrefix(name, "pack-") || !exists(path) {
			continue
		}
		x := known[path]
		if x == nil {
			x, err = openPack(path, filepath.Join(p.dir, e.Name()))
			if errors.Is(err, os.ErrNotExist) {
				continue // it was packed again
			}
			if err != nil {
				return err
			}
		}
		list = append(list, x)
	}
	p.list.Store(&list)
	return nil
}

// openPack reads the index of a pack.
func openPack(path, index string) (*pack, error) {
	content, err := os.ReadFile(index)
	if err != nil {
		return nil, err
	}
	const header, sums = 8, 2 * 20
	damaged := fmt.Errorf("%w: index of pack %s", errDamaged, filepath.Base(path))
	if !bytes.HasPrefix(content, []byte("\xfftOc\x00\x00\x00\x02")) || len(content) < header+256*4+sums {
		return nil, damaged
	}
	x := &pack{path: path}
	rest, count := content[header:len(content)-sums], uint32(0)
	for i := range x.fanout {
		if x.fanout[i] = binary.BigEndian.Uint32(rest[4*i:]); x.fanout[i] < count {
			return nil, damaged
		}
		count = x.fanout[i]
	}
	rest = rest[256*4:]
	n := int(count)
	if len(rest) < n*(20+4+4) {
		return nil, damaged
	}
	// The checksums of the objects are not kept: contents are checked against their hashes.
	x.names = bytes.Clone(rest[:20*n])
	x.offsets = bytes.Clone(rest[24*n : 28*n])
	x.large = bytes.Clone(rest[28*n:])
	return x, nil
}

// find returns the offset of an object.
func (x *pack) find(hash plumbing.Hash) (offset int64, ok bool) {
	from := uint32(0)
	if hash[0] > 0 {
		from = x.fanout[hash[0]-1]
	}
	n := int(x.fanout[hash[0]] - from)
	names := x.names[20*int(from):]
	i := sort.Search(n, func(i int) bool { return bytes.Compare(names[20*i:20*i+20], hash[:]) >= 0 })
	if i == n || !bytes.Equal(names[20*i:20*i+20], hash[:]) {
		return 0, false
	}
	short := binary.BigEndian.Uint32(x.offsets[4*(int(from)+i):])
	if short < 1<<31 {
		return int64(short), true
	}
	if at := 8 * int(short&^(1<<31)); at+8 <= len(x.large) {
		return int64(binary.BigEndian.Uint64(x.large[at:]) &^ (1 << 63)), true
	}
	return -1, true // reading there fails
}

// find returns the pack of an object, and its offset there. The error is plumbing.ErrObjectNotFound if no known pack has it.
func (p *packs) find(hash plumbing.Hash) (*pack, int64, error) {
	list, err := p.all()
	if err != nil {
		return nil, 0, err
	}
	for _, x := range list {
		if offset, ok := x.find(hash); ok {
			return x, offset, nil
		}
	}
	return nil, 0, plumbing.ErrObjectNotFound
}

// size returns the size of an object.
func (p *packs) size(hash plumbing.Hash) (int64, error) {
	x, offset, err := p.find(hash)
	if err != nil {
		return 0, err
	}
	e, err := p.entry(x, offset)
	if err != nil {
		return 0, err
	}
	defer e.release()
	return e.objectSize()
}

// read returns an object. The error is a tooLargeError if it has more than limit bytes.
func (p *packs) read(hash plumbing.Hash, limit int64) (plumbing.ObjectType, []byte, error) {
	x, offset, err := p.find(hash)
	if err != nil {
		return 0, nil, err
	}
	c := chain{packs: p, pack: x}
	defer c.release()
	kind, content, err := c.follow(offset, limit)
	if err != nil {
		return 0, nil, err
	}
	return c.apply(kind, content)
}

// chain is an object whose deltas are collected: each is applied to the object that the next one makes.
type chain struct {
	packs  *packs
	pack   *pack
	deltas [][]byte
	// size is the size of the deltas, made that of what they make.
	size int
	made int64
	// offsets are those of the deltas, and of the object at the end.
	offsets []int64
	alone   bool
}

// wait waits until no other large object is made, if this one needs as much.
func (c *chain) wait(size int64) {
	if size > large && !c.alone {
		largeObjects <- struct{}{}
		c.alone = true
	}
}

func (c *chain) release() {
	if c.alone {
		<-largeObjects
	}
}

// follow collects the deltas of the object at an offset, and returns the object at the end of the chain. Most objects have no delta.
func (c *chain) follow(offset, limit int64) (plumbing.ObjectType, []byte, error) {
	for {
		if len(c.deltas) > 0 {
			c.offsets = append(c.offsets, offset)
			if kind, content := c.packs.bases.get(c.pack, offset); content != nil {
				return kind, content, nil
			}
		}
		e, err := c.packs.entry(c.pack, offset)
		if err != nil {
			return 0, nil, err
		}
		if len(c.deltas) > 0 {
			c.wait(e.size)
		}
		found, err := e.read(limit)
		if err != nil || !found.isDelta() {
			return found.kind, found.content, err
		}
		if found.kind == plumbing.REFDeltaObject {
			var inside bool
			if found.base, inside = c.pack.find(found.name); !inside {
				return 0, nil, damagedPack(errors.New("the pack lacks what a delta is applied to"))
			}
		}
		c.deltas = append(c.deltas, found.content)
		made, err := deltaSize(found.content)
		if err != nil {
			return 0, nil, err
		}
		c.size, c.made = c.size+len(found.content), c.made+made
		c.wait(made)
		if len(c.deltas) > maxChain || c.size > maxBase || c.made > maxMade {
			return 0, nil, damagedPack(errors.New("too many deltas"))
		}
		// What deltas are applied to can be larger than the result.
		offset, limit = found.base, maxBase
	}
}

// apply applies the deltas to the object at the end of the chain.
func (c *chain) apply(kind plumbing.ObjectType, content []byte) (plumbing.ObjectType, []byte, error) {
	for i := len(c.deltas) - 1; i >= 0; i-- {
		c.packs.bases.put(c.pack, c.offsets[i], kind, content)
		var err error
		if content, err = packfile.PatchDelta(content, c.deltas[i]); err != nil {
			return 0, nil, damagedPack(err)
		}
	}
	return kind, content, nil
}

// fill reads from a pack at an offset, until the buffer is full or the pack ends.
func (p *packs) fill(x *pack, buffer []byte, offset int64) (int, error) {
	for {
		f, err := p.file(x)
		if err != nil {
			return 0, err
		}
		n, err := f.ReadAt(buffer, offset)
		switch {
		case errors.Is(err, os.ErrClosed): // another reader needed its place
		case n > 0:
			return n, nil
		default:
			return 0, err
		}
	}
}

// file returns the open file of a pack.
func (p *packs) file(x *pack) (*os.File, error) {
	if f := x.file.Load(); f != nil {
		return f, nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := x.file.Load(); f != nil {
		return f, nil
	}
	f, err := os.Open(x.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, plumbing.ErrObjectNotFound // it was packed again
	}
	if err != nil {
		return nil, err
	}
	if len(p.open) == maxOpenPacks {
		_ = p.open[0].file.Swap(nil).Close()
		p.open = p.open[1:]
	}
	x.file.Store(f)
	p.open = append(p.open, x)
	return f, nil
}

// close closes the files.
func (p *packs) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var err error
	for _, x := range p.open {
		err = errors.Join(err, x.file.Swap(nil).Close())
	}
	p.open = nil
	return err
}

// damagedPack marks an error of the content of a pack.
func damagedPack(err error) error { return fmt.Errorf("%w: %w", errDamaged, err) }

// baseCache keeps objects to which deltas are applied, because many deltas have the same one. When it is full it forgets those that were not
// used since it was half full.
type baseCache struct {
	mu          sync.Mutex
	recent, old map[baseKey]base
	size        int // of recent
}

type baseKey struct {
	pack   *pack
	offset int64
}

type base struct {
	kind    plumbing.ObjectType
	content []byte
}

// get returns a known object; nil content if it is not known.
func (c *baseCache) get(x *pack, offset int64) (plumbing.ObjectType, []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := baseKey{x, offset}
	b, ok := c.recent[key]
	if !ok {
		if b, ok = c.old[key]; ok {
			c.add(key, b)
		}
	}
	return b.kind, b.content
}

func (c *baseCache) put(x *pack, offset int64, kind plumbing.ObjectType, content []byte) {
	if len(content) > maxCachedBases/2 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if key := (baseKey{x, offset}); c.recent[key].content == nil {
		c.add(key, base{kind, content})
	}
}

func (c *baseCache) add(key baseKey, b base) {
	if c.size += len(b.content); c.recent == nil || c.size > maxCachedBases/2 {
		c.old, c.recent, c.size = c.recent, map[baseKey]base{}, len(b.content)
	}
	c.recent[key] = b
}
