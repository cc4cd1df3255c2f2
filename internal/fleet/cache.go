package fleet

import "sync"

// Cache keeps parsed files by blob id, so that an unchanged file is parsed once.
// It is safe for concurrent use. The zero value is ready to use, and nil caches nothing.
//
// Unused files are evicted: when a generation of maxCached files or maxCachedSize bytes is full, the files that were
// not used since the previous generation are dropped.
type Cache struct {
	mu sync.Mutex
	// files is the current generation, older the previous one.
	files, older map[string]*parsed
	size         int // of the text of files
}

const (
	// maxCached is the number of files in a generation, more than a control plane has.
	maxCached = 50_000
	// maxCachedSize is the size of the text of a generation, in bytes. Parsed, it takes several times as much.
	maxCachedSize = 32 << 20
)

func (c *Cache) get(id string) *parsed {
	if c == nil || id == "" {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p, ok := c.files[id]
	if !ok {
		if p, ok = c.older[id]; ok {
			c.keep(id, p)
		}
	}
	return p
}

// put adds a parsed file. If two goroutines parsed the same file, either result is fine.
func (c *Cache) put(id string, p *parsed) {
	if c == nil || id == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(id, p)
}

// keep adds a file to the current generation. The caller holds the lock.
func (c *Cache) keep(id string, p *parsed) {
	if c.files == nil || len(c.files) >= maxCached || c.size+p.size > maxCachedSize {
		c.files, c.older, c.size = map[string]*parsed{}, c.files, 0
	}
	if c.files[id] == nil {
		c.size += p.size
	}
	c.files[id] = p
}
