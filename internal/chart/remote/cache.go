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

// DefaultCacheSize is the default maximum size of a cache, in bytes.
const DefaultCacheSize = 1 << 30

// Cache keeps archives on disk by their digests, and resolved versions:
//
//	<folder>/archives/<digest>     the archive
//	<folder>/versions/<hash>.json  repository, name and requested version -> version and digest
//
// Files are written to a temporary name and renamed, so several processes can share a folder. An archive is only used if it
// matches its digest, so damaged files are ignored. The nil pointer caches nothing.
type Cache struct {
	folder string
	size   int64
}

// NewCache opens a cache in a folder, which is created if it does not exist. size is its maximum size in bytes;
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

// versionPath returns the path for a resolved version. Untrusted texts are hashed, so they cannot lead elsewhere.
func (c *Cache) versionPath(p place) string {
	sum := sha256.Sum256([]byte(p.url.String() + "\n" + p.name + "\n" + p.requested))
	return filepath.Join(c.folder, "versions", hex.EncodeToString(sum[:])+".json")
}

// resolved returns the cached result for a version, and its archive.
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

// touch marks an archive as used: the least recently used are removed first. Another process may have removed it.
func touch(at string) {
	now := time.Now()
	_ = os.Chtimes(at, now, now)
}

// keep stores a resolved version and its archive.
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

// writeFile writes a file atomically.
func writeFile(at string, content []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(at), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(temporary.Name()) //nolint:errcheck // already renamed
	_, err = temporary.Write(content)
	if err = errors.Join(err, temporary.Close()); err != nil {
		return err
	}
	return os.Rename(temporary.Name(), at)
}

// shrink removes the least recently used archives until the rest fits the size.
// It removes incomplete files of dead processes after an hour.
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
			continue // removed by another process
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
