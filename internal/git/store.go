package git

import (
	"crypto/sha1" // Git's object names are SHA-1.
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/go-git/go-billy/v5/osfs"
	"github.com/go-git/go-git/v5/plumbing"
	objectcache "github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

// maxStructure bounds the size of trees and commits. Real ones are smaller.
const maxStructure = 64 << 20

// store is the object database and the references of one Git directory.
// Objects are read by this package, references by go-git, whose storage is not safe for concurrent use; store is.
type store struct {
	// dir is the Git directory, common the one it shares with other work trees. They are often equal.
	dir, common string

	// mu guards go-git's storage.
	mu sync.Mutex
	// own is the repository's storage, for references, and to write objects.
	own *filesystem.Storage
	// objects are the databases of objects: the repository's, then those it borrows from, in order.
	objects []*objects
	// added are objects that are not in the repository yet, by their hash; see [WorkTree].
	added sync.Map

	trees treeCache
	sizes sizeCache
}

// openStore opens a Git directory.
func openStore(dir string) (*store, error) {
	common, err := commonDir(dir)
	if err != nil {
		return nil, err
	}
	s := &store{dir: dir, common: common, own: openStorage(dir, common), objects: []*objects{newObjects(filepath.Join(common, "objects"))}}
	if err := s.checkFormat(); err != nil {
		return nil, err
	}
	return s, s.openAlternates(filepath.Join(common, "objects"), map[string]bool{}, 0)
}

func openStorage(dir, common string) *filesystem.Storage {
	fs := osfs.New(dir)
	if common != dir {
		fs = dotgit.NewRepositoryFilesystem(fs, osfs.New(common))
	}
	return filesystem.NewStorage(objectFiles{fs}, objectcache.NewObjectLRUDefault())
}

// commonDir follows the "commondir" file of a linked work tree.
func commonDir(dir string) (string, error) {
	text, err := os.ReadFile(filepath.Join(dir, "commondir"))
	if errors.Is(err, os.ErrNotExist) {
		return dir, nil
	}
	if err != nil {
		return "", err
	}
	path := filepath.FromSlash(strings.TrimSpace(string(text)))
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	_, err = os.Stat(path)
	return filepath.Clean(path), err
}

// openAlternates opens the object databases that a repository borrows from, recursively.
func (s *store) openAlternates(objects string, seen map[string]bool, depth int) error {
	text, err := os.ReadFile(filepath.Join(objects, "info", "alternates"))
	if errors.Is(err, os.ErrNotExist) || depth > 5 {
		return nil
	}
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		path := filepath.FromSlash(strings.TrimSpace(line))
		if path == "" || strings.HasPrefix(path, "#") {
			continue
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(objects, path)
		}
		if path = filepath.Clean(path); seen[path] {
			continue
		}
		seen[path] = true
		if _, err := os.Stat(path); err != nil {
			return fmt.Errorf("borrows objects from %q, which is not there", path)
		}
		s.objects = append(s.objects, newObjects(path))
		if err := s.openAlternates(path, seen, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// checkFormat returns an error for repositories that would be misread.
func (s *store) checkFormat() error {
	config, err := readConfigFile(filepath.Join(s.common, "config"))
	if err != nil {
		return err
	}
	if !config.HasSection("extensions") {
		return nil
	}
	extensions := config.Section("extensions")
	if f := extensions.Option("objectformat"); f != "" && !strings.EqualFold(f, "sha1") {
		return unsupportedError("its objects are named by " + f)
	}
	if f := extensions.Option("refstorage"); f != "" && !strings.EqualFold(f, "files") {
		return unsupportedError("its references are stored as " + f)
	}
	return nil
}

// unsupportedError names a feature of a repository that is not supported.
type unsupportedError string

func (e unsupportedError) Error() string { return string(e) + ", which is not supported" }

// errDamaged marks content that does not match its hash.
var errDamaged = errors.New("content does not match its name")

// object returns the content of an object of the given type. The error is plumbing.ErrObjectNotFound if it does not exist.
// It checks the content against the hash.
func (s *store) object(hash plumbing.Hash, kind plumbing.ObjectType, limit int64) (content []byte, err error) {
	found, content, err := s.read(hash, limit)
	switch {
	case err != nil:
		return nil, err
	case found != kind:
		return nil, fmt.Errorf("%w: it is a %s, not a %s", errWrongType, found, kind)
	}
	return content, nil
}

var errWrongType = errors.New("object has another type")

// tooLargeError holds the size of an object and its limit.
type tooLargeError struct{ size, limit int64 }

func (e tooLargeError) Error() string {
	return fmt.Sprintf("it has %d bytes, %d are allowed", e.size, e.limit)
}

// read returns an object of at most limit bytes, whose content matches its hash.
func (s *store) read(hash plumbing.Hash, limit int64) (kind plumbing.ObjectType, content []byte, err error) {
	if added, ok := s.addition(hash); ok {
		kind = added.kind
		content, err = added.content(limit)
	} else {
		err = s.each(func(o *objects) (err error) {
			kind, content, err = o.read(hash, limit)
			return err
		})
	}
	if err == nil && objectHash(kind, content) != hash {
		err = errDamaged
	}
	if err != nil {
		return 0, nil, err
	}
	return kind, content, nil
}

// size returns the size of an object.
func (s *store) size(hash plumbing.Hash) (size int64, err error) {
	if added, ok := s.addition(hash); ok {
		return added.size, nil
	}
	err = s.each(func(o *objects) (err error) {
		size, err = o.size(hash)
		return err
	})
	return size, err
}

// addition returns an object that is not in the repository yet.
func (s *store) addition(hash plumbing.Hash) (addedObject, bool) {
	found, ok := s.added.Load(hash)
	if !ok {
		return addedObject{}, false
	}
	return found.(addedObject), true
}

// each searches the repository, then those it borrows from, then packs that were added meanwhile.
func (s *store) each(try func(*objects) error) error {
	for round := range 2 {
		for _, o := range s.objects {
			if round > 0 {
				if err := o.packs.scan(); err != nil {
					return err
				}
			}
			if err := try(o); !errors.Is(err, plumbing.ErrObjectNotFound) {
				return err
			}
		}
	}
	return plumbing.ErrObjectNotFound
}

// has reports whether an object is known to be in the repository itself. It may miss one that was added meanwhile.
func (s *store) has(hash plumbing.Hash) bool {
	_, err := s.objects[0].size(hash)
	return err == nil
}

// reindex makes new packs visible. An error is found again when they are read.
func (s *store) reindex() { _ = s.objects[0].packs.scan() }

// shallow reports whether history is truncated.
func (s *store) shallow() bool {
	info, err := os.Stat(filepath.Join(s.common, "shallow"))
	return err == nil && info.Size() > 0
}

// partial reports whether objects were left out on purpose, for git to fetch on demand.
func (s *store) partial() bool {
	filters, err := filepath.Glob(filepath.Join(s.common, "objects", "pack", "*.promisor"))
	return err == nil && len(filters) > 0
}

// close releases the packs.
func (s *store) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.own.Close()
	for _, o := range s.objects {
		err = errors.Join(err, o.packs.close())
	}
	return err
}

// objectHash computes the hash of an object.
func objectHash(kind plumbing.ObjectType, content []byte) plumbing.Hash {
	h := sha1.New()
	_, _ = io.WriteString(h, kind.String()+" "+strconv.Itoa(len(content))+"\x00")
	_, _ = h.Write(content)
	return plumbing.Hash(h.Sum(nil))
}

// parseHash parses a full object hash.
func parseHash(s string) (plumbing.Hash, bool) {
	var h plumbing.Hash
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(h) {
		return h, false
	}
	return plumbing.Hash(b), true
}

// sharedStorage gives go-git the whole store, including borrowed objects. The store must be locked.
type sharedStorage struct {
	*filesystem.Storage
	store *store
}

func (s sharedStorage) EncodedObject(kind plumbing.ObjectType, hash plumbing.Hash) (plumbing.EncodedObject, error) {
	found, content, err := s.store.read(hash, maxStructure)
	if err == nil && kind != plumbing.AnyObject && found != kind {
		err = plumbing.ErrObjectNotFound
	}
	if err != nil {
		return nil, err
	}
	encoded := &plumbing.MemoryObject{}
	encoded.SetType(found)
	_, _ = encoded.Write(content)
	return encoded, nil
}
