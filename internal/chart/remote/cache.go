package remote

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// DefaultCacheSize is how many bytes a cache holds unless it is told otherwise.
const DefaultCacheSize = 1 << 30

// Cache keeps archives on disk by their digests, and what versions were resolved to:
//
//	<folder>/archives/<digest>     the archive
//	<folder>/versions/<hash>.json  repository, name and what was asked for -> version and digest
//
// Files are written beside and renamed, so that several processes can share a folder; what is read has to have its
// digest, so that a damaged file counts as none. The nil pointer keeps nothing.
type Cache struct {
	folder string
	size   int64
}

// NewCache opens a cache in a folder, which is made when it is not there; size is the most it holds, in bytes,
// 0 means [DefaultCacheSize].
func NewCache(folder string, size int64) (*Cache, error) {
	for _, name := range []string{"archives", "versions"} {
		if err := os.MkdirAll(filepath.Join(folder, name), 0o700); err != nil {
			return nil, fmt.Errorf("open the cache of charts: %w", err)
		}
	}
	return &Cache{folder: folder, size: cmp.Or(size, DefaultCacheSize)}, nil
}

func (c *Cache) archivePath(digest string) string {
	return filepath.Join(c.folder, "archives", strings.TrimPrefix(digest, "sha256:"))
}

// versionPath is where it is written what was resolved. Texts of others are hashed, and cannot lead elsewhere.
func (c *Cache) versionPath(p place) string {
	sum := sha256.Sum256([]byte(p.url.String() + "\n" + p.name + "\n" + p.asked))
	return filepath.Join(c.folder, "versions", hex.EncodeToString(sum[:])+".json")
}

// resolved returns what a version was resolved to before, and its archive.
func (c *Cache) resolved(p place) (Resolved, []byte, bool) {
	if c == nil {
		return Resolved{}, nil, false
	}
	text, err := os.ReadFile(c.versionPath(p))
	if err != nil {
		return Resolved{}, nil, false
	}
	var r Resolved
	if json.Unmarshal(text, &r) != nil || r.Name != p.name {
		return Resolved{}, nil, false
	}
	archive, ok := c.read(r.Digest)
	return r, archive, ok
}

// read returns the archive of a digest.
func (c *Cache) read(digest string) ([]byte, bool) {
	if asDigest(digest) == "" {
		return nil, false
	}
	at := c.archivePath(digest)
	content, err := os.ReadFile(at)
	if err != nil || digestOf(content) != digest {
		return nil, false
	}
	touch(at)
	return content, true
}

// touch notes that an archive is used: what is used last is dropped last. Somebody may have dropped it already.
func touch(at string) {
	now := time.Now()
	_ = os.Chtimes(at, now, now)
}

// keep writes down what was resolved, and the archive.
func (c *Cache) keep(p place, r Resolved, archive []byte) error {
	if c == nil {
		return nil
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if _, there := c.read(r.Digest); !there {
		if err := writeFile(c.archivePath(r.Digest), archive); err != nil {
			return fmt.Errorf("keep the chart in the cache: %w", err)
		}
		touch(c.archivePath(r.Digest)) // the file system's clock may be behind
		if err := c.shrink(); err != nil {
			return fmt.Errorf("make room in the cache of charts: %w", err)
		}
	}
	if err := writeFile(c.versionPath(p), text); err != nil {
		return fmt.Errorf("keep the version in the cache: %w", err)
	}
	return nil
}

// writeFile writes a file that is there whole or not at all.
func writeFile(at string, content []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(at), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) //nolint:errcheck // it has been renamed
	_, err = temporary.Write(content)
	if err = errors.Join(err, temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), at)
}

// shrink drops the archives that were not used for the longest time, until the rest is within the size.
// What a process that ended left half written is dropped after an hour.
func (c *Cache) shrink() error {
	entries, err := os.ReadDir(filepath.Join(c.folder, "archives"))
	if err != nil {
		return err
	}
	var files []fs.FileInfo
	total := int64(0)
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			continue // dropped by somebody else
		}
		if strings.HasPrefix(e.Name(), ".new-") {
			if time.Since(info.ModTime()) > time.Hour {
				_ = os.Remove(filepath.Join(c.folder, "archives", e.Name()))
			}
			continue
		}
		files = append(files, info)
		total += info.Size()
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for _, f := range files[:max(len(files)-1, 0)] { // the newest stays, whatever its size
		if total <= c.size {
			break
		}
		if err := os.Remove(filepath.Join(c.folder, "archives", f.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		total -= f.Size()
	}
	return nil
}
