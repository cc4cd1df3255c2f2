package git

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-cmp/cmp"
)

// versions are states of a file of which git makes deltas.
func versions(n int) []string {
	var all []string
	lines := strings.Split(strings.Repeat("one line of a file\n", 400), "\n")
	for i := range n {
		lines[(i*37)%len(lines)] = fmt.Sprintf("line of version %d", i)
		all = append(all, strings.Join(lines, "\n"))
	}
	return all
}

// Packs that git made are read, whatever deltas and indexes they have.
func TestReadsPacksOfGit(t *testing.T) {
	for name, repack := range map[string]func(r *testRepo){
		"deltas by offset": func(r *testRepo) { r.git("repack", "-adf", "--depth=100", "--window=50") },
		"deltas by name": func(r *testRepo) {
			r.git("-c", "repack.useDeltaBaseOffset=false", "repack", "-adf", "--depth=100", "--window=50")
		},
		"no deltas":              func(r *testRepo) { r.git("repack", "-adF", "--depth=0") },
		"offsets of eight bytes": func(r *testRepo) { r.git("-c", "pack.indexVersion=2", "repack", "-adf"); largeOffsets(r) },
		"several packs":          func(r *testRepo) { r.git("-c", "pack.packSizeLimit=1m", "repack", "-adF", "--depth=0") },
	} {
		t.Run(name, func(t *testing.T) {
			made := newRepo(t, nil)
			states := versions(30)
			var commits []string
			for i, content := range states {
				commits = append(commits, made.commit("version", map[string]string{"file.txt": content, fmt.Sprintf("dir/%d", i): content[:10]}))
			}
			repack(made)
			if left, _ := filepath.Glob(filepath.Join(made.dir, ".git/objects/??/*")); len(left) > 0 {
				t.Fatalf("%d objects are not in a pack", len(left))
			}
			r := open(t, newClient(t, nil), made.dir)
			var wait sync.WaitGroup
			for i, commit := range commits {
				wait.Go(func() {
					c, err := r.Resolve(t.Context(), "main", commit)
					if err != nil {
						t.Error(err)
						return
					}
					e, err := r.Tree(c).Find(t.Context(), "file.txt")
					if err != nil {
						t.Error(err)
						return
					}
					size, err := r.Tree(c).Size(t.Context(), e)
					if err != nil || size != int64(len(states[i])) {
						t.Errorf("size %d, not %d: %v", size, len(states[i]), err)
					}
					content, err := r.Tree(c).Read(t.Context(), e, size)
					if err != nil || string(content) != states[i] {
						t.Errorf("version %d: %d bytes, %v", i, len(content), err)
					}
					_, err = r.Tree(c).Read(t.Context(), e, size-1)
					if !errors.Is(err, ErrTooLarge) {
						t.Errorf("above the limit: %v", err)
					}
				})
			}
			wait.Wait()
		})
	}
}

// largeOffsets writes the index again with offsets of eight bytes, as those of packs with more than two gigabytes are.
func largeOffsets(r *testRepo) {
	idx, pack := thePack(r.t, filepath.Join(r.dir, ".git"))
	r.git("index-pack", "--index-version=2,0x1", "-o", idx+".new", pack)
	if err := os.Rename(idx+".new", idx); err != nil {
		r.t.Fatal(err)
	}
}

// Packs that git replaces after they were found are looked for again.
func TestRepackedMeanwhile(t *testing.T) {
	made := newRepo(t, nil)
	files := map[string]string{}
	for i, content := range versions(5) {
		files[fmt.Sprintf("%d.txt", i)] = content
		made.commit("version", map[string]string{fmt.Sprintf("%d.txt", i): content})
		made.git("repack", "-dq")
	}
	r := open(t, newClient(t, nil), made.dir)
	head := resolve(t, r, "main", "")
	made.git("repack", "-adfq")
	if diff := cmp.Diff(files, contents(t, r.Tree(head))); diff != "" {
		t.Error(diff)
	}
}

// What deltas make before the object is bounded together, and what is kept of it, too.
func TestHostileChains(t *testing.T) {
	hash := plumbing.NewHash("01")
	delta := binary.AppendUvarint([]byte{1}, maxBase)
	entry := append(append(objectHeader(plumbing.REFDeltaObject, len(delta)), hash[:]...), appendStored(nil, delta)...)
	dir := t.TempDir()
	var idx bytes.Buffer
	index := packIndex{objects: []packedObject{{hash: hash, offset: 12}}}
	path := filepath.Join(dir, "pack-1")
	if err := errors.Join(index.encode(&idx), os.WriteFile(path+".pack", append(make([]byte, 12), entry...), 0o600), os.WriteFile(path+".idx", idx.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	p := &packs{dir: dir}
	defer p.close()
	x, offset, err := p.find(hash)
	if err != nil {
		t.Fatal(err)
	}
	c := chain{packs: p, pack: x}
	defer c.release()
	if _, _, err := c.follow(offset, maxBase); !errors.Is(err, errDamaged) || len(c.deltas) != maxMade/maxBase+1 {
		t.Errorf("%d deltas, %v", len(c.deltas), err)
	}
	p.bases.put(x, 1, plumbing.BlobObject, make([]byte, maxCachedBases/2))
	p.bases.put(x, 2, plumbing.BlobObject, make([]byte, maxCachedBases/2+1))
	if _, content := p.bases.get(x, 1); content == nil {
		t.Error("an object is not kept")
	}
	if _, content := p.bases.get(x, 2); content != nil {
		t.Error("an object that is too large is kept")
	}
}

// An index that git removes while a folder is read is none: the object is looked for elsewhere.
func TestIndexRemovedMeanwhile(t *testing.T) {
	dir := t.TempDir()
	// A link that leads nowhere is listed, and cannot be read.
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "pack-1.pack"), nil, 0o600), os.Symlink("gone", filepath.Join(dir, "pack-1.idx"))); err != nil {
		t.Fatal(err)
	}
	p := &packs{dir: dir}
	defer p.close()
	if _, _, err := p.find(plumbing.NewHash("01")); !errors.Is(err, plumbing.ErrObjectNotFound) {
		t.Error(err)
	}
}

// Whatever a pack contains, reading it gives an error or a content, and takes no more memory than the limit.
func FuzzPack(f *testing.F) {
	var pack bytes.Buffer
	blob := []byte(strings.Repeat("content: of a blob\n", 10))
	other := append([]byte("more: true\n"), blob...)
	index, err := writePack(&pack, func(yield func(plumbing.Hash, pendingObject) bool) {
		for _, content := range [][]byte{blob, append(bytes.Clone(blob), "last: 1\n"...), other} {
			if !yield(objectHash(plumbing.BlobObject, content), pendingObject{plumbing.BlobObject, content}) {
				return
			}
		}
	})
	if err != nil {
		f.Fatal(err)
	}
	for _, o := range index.objects {
		f.Add(pack.Bytes(), uint16(o.offset))
	}
	f.Add(append([]byte("PACK\x00\x00\x00\x02\x00\x00\x00\x01\x61\x05"), appendStored(nil, []byte{1})...), uint16(12))
	f.Fuzz(func(t *testing.T, content []byte, offset uint16) {
		dir := t.TempDir()
		hash := objectHash(plumbing.BlobObject, blob)
		base := filepath.Join(dir, "pack-1")
		var idx bytes.Buffer
		// Deltas by name find another object, or themselves.
		of := packIndex{objects: []packedObject{{hash: hash, offset: uint64(offset)}}}
		if err := errors.Join(of.encode(&idx), os.WriteFile(base+".pack", content, 0o600), os.WriteFile(base+".idx", idx.Bytes(), 0o600)); err != nil {
			t.Fatal(err)
		}
		p := &packs{dir: dir}
		defer p.close()
		const limit = 1 << 10
		_, got, err := p.read(hash, limit)
		if err == nil && len(got) > limit {
			t.Errorf("%d bytes", len(got))
		}
		_, _ = p.size(hash)
	})
}

// FuzzPackIndex reads indexes with arbitrary content.
func FuzzPackIndex(f *testing.F) {
	index := packIndex{objects: []packedObject{{plumbing.NewHash("00ff"), 1, 12}, {plumbing.NewHash("ff00"), 2, 1 << 40}}}
	var b bytes.Buffer
	if err := index.encode(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(binary.BigEndian.AppendUint32([]byte("\xfftOc\x00\x00\x00\x02"), 1))
	f.Fuzz(func(t *testing.T, content []byte) {
		path := filepath.Join(t.TempDir(), "pack-1.idx")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		x, err := openPack(strings.TrimSuffix(path, ".idx")+".pack", path)
		if err != nil {
			return
		}
		for first := range 256 {
			x.find(plumbing.Hash{byte(first)})
			x.find(plumbing.Hash{byte(first), 19: 0xff})
		}
		for i := 0; i+20 <= len(x.names); i += 20 {
			x.find(plumbing.Hash(x.names[i : i+20]))
		}
	})
}
