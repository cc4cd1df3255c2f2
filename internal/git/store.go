package git

import (
	"bytes"
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
	"github.com/go-git/go-git/v5/plumbing/format/objfile"
	"github.com/go-git/go-git/v5/storage/filesystem"
	"github.com/go-git/go-git/v5/storage/filesystem/dotgit"
)

// maxStructure bounds the size of trees and commits. Real ones are smaller.
const maxStructure = 64 << 20

// store is the object database and the references of one Git directory.
// go-git's storage is not safe for concurrent use; store is.
type store struct {
	// dir is the Git directory, common the one it shares with other work trees. They are often equal.
	dir, common string

	mu sync.Mutex
	// own is the repository's storage; shared are its alternates, in order.
	own    *filesystem.Storage
	shared []*filesystem.Storage

	trees treeCache
}

// openStore opens a Git directory.
func openStore(dir string) (*store, error) {
	common, err := commonDir(dir)
	if err != nil {
		return nil, err
	}
	s := &store{dir: dir, common: common, own: openStorage(dir, common)}
	if err := s.checkFormat(); err != nil {
		return nil, err
	}
	return s, s.openAlternates(filepath.Join(common, "objects"), map[string]bool{}, 0)
}

// maxOpenPacks is how many packs of a repository stay open. Reopening them for every object would double the time of a walk;
// a server with many repositories must not run out of file descriptors.
const maxOpenPacks = 8

func openStorage(dir, common string) *filesystem.Storage {
	fs := osfs.New(dir)
	if common != dir {
		fs = dotgit.NewRepositoryFilesystem(fs, osfs.New(common))
	}
	return filesystem.NewStorageWithOptions(objectFiles{fs}, objectcache.NewObjectLRUDefault(), filesystem.Options{MaxOpenDescriptors: maxOpenPacks})
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
		// go-git's storage expects a Git directory around the objects.
		s.shared = append(s.shared, openStorage(filepath.Dir(path), filepath.Dir(path)))
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
	s.mu.Lock()
	defer s.mu.Unlock()
	// A damaged pack can make go-git index out of range.
	defer func() {
		if p := recover(); p != nil {
			content, err = nil, fmt.Errorf("%w: %v", errDamaged, p)
		}
	}()
	if kind == plumbing.BlobObject {
		// Files can have any size, so it is checked before reading. For trees, that would take three times as long.
		size, err := s.sizeLocked(hash)
		if err == nil && size > limit {
			err = tooLargeError{size, limit}
		}
		if err != nil {
			return nil, err
		}
	}
	obj, err := s.findLocked(hash)
	switch {
	case err != nil:
		return nil, err
	case obj.Type() != kind:
		return nil, fmt.Errorf("%w: it is a %s, not a %s", errWrongType, obj.Type(), kind)
	case obj.Size() > limit:
		return nil, tooLargeError{obj.Size(), limit}
	}
	return readChecked(obj, hash)
}

var errWrongType = errors.New("object has another type")

// tooLargeError holds the size of an object and its limit.
type tooLargeError struct{ size, limit int64 }

func (e tooLargeError) Error() string {
	return fmt.Sprintf("it has %d bytes, %d are allowed", e.size, e.limit)
}

func readChecked(obj plumbing.EncodedObject, hash plumbing.Hash) ([]byte, error) {
	r, err := obj.Reader()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	content := bytes.NewBuffer(make([]byte, 0, obj.Size()))
	if _, err := io.Copy(content, r); err != nil {
		return nil, err
	}
	if objectHash(obj.Type(), content.Bytes()) != hash {
		return nil, errDamaged
	}
	return content.Bytes(), nil
}

// findLocked searches the repository, then those it borrows from, then packs that were added meanwhile.
func (s *store) findLocked(hash plumbing.Hash) (plumbing.EncodedObject, error) {
	var found plumbing.EncodedObject
	err := s.eachLocked(func(storage *filesystem.Storage) (err error) {
		found, err = storage.EncodedObject(plumbing.AnyObject, hash)
		return err
	})
	return found, err
}

func (s *store) sizeLocked(hash plumbing.Hash) (size int64, err error) {
	err = s.eachLocked(func(storage *filesystem.Storage) (err error) {
		if size, err = looseSize(storage, hash); errors.Is(err, os.ErrNotExist) {
			size, err = storage.EncodedObjectSize(hash)
		}
		return err
	})
	return size, err
}

// looseSize returns the size of an object that is a file of its own. go-git would leave the file open until it is collected.
func looseSize(storage *filesystem.Storage, hash plumbing.Hash) (int64, error) {
	id := hash.String()
	fs := storage.Filesystem()
	f, err := fs.Open(fs.Join("objects", id[:2], id[2:]))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	r, err := objfile.NewReader(f)
	if err != nil {
		return 0, err
	}
	defer r.Close()
	_, size, err := r.Header()
	return size, err
}

func (s *store) eachLocked(try func(*filesystem.Storage) error) error {
	storages := append([]*filesystem.Storage{s.own}, s.shared...)
	for round := range 2 {
		for _, storage := range storages {
			if round > 0 {
				storage.Reindex()
			}
			if err := try(storage); !errors.Is(err, plumbing.ErrObjectNotFound) {
				return err
			}
		}
	}
	return plumbing.ErrObjectNotFound
}

// size returns the size of an object.
func (s *store) size(hash plumbing.Hash) (size int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", errDamaged, p)
		}
	}()
	return s.sizeLocked(hash)
}

// has reports whether an object is known to be in the repository itself. It may miss one that was added meanwhile.
func (s *store) has(hash plumbing.Hash) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.own.HasEncodedObject(hash) == nil
}

// reindex makes new packs visible.
func (s *store) reindex() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.own.Reindex()
}

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
	for _, storage := range s.shared {
		err = errors.Join(err, storage.Close())
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
	found, err := s.store.findLocked(hash)
	if err == nil && kind != plumbing.AnyObject && found.Type() != kind {
		return nil, plumbing.ErrObjectNotFound
	}
	return found, err
}
