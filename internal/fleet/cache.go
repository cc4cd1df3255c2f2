package fleet

import "sync"

// Cache keeps parsed files by the id of their content, so that nothing is parsed twice while its blob is unchanged.
// It is safe for concurrent use. The zero value is ready, and so is nil, which keeps nothing.
//
// Files that nobody asks for any more are forgotten: when a generation of maxCached files is full, those that were
// not asked for since the one before it are dropped.
type Cache struct {
	mu sync.Mutex
	// files is the current generation, older the one before.
	files, older map[string]*parsed
}

// maxCached is how many files a generation has, which is more than any one control plane.
const maxCached = 50_000

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

// put keeps a parsed file. Two goroutines may have parsed the same one; either result will do.
func (c *Cache) put(id string, p *parsed) {
	if c == nil || id == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keep(id, p)
}

// keep adds a file to the current generation. The cache is locked.
func (c *Cache) keep(id string, p *parsed) {
	if c.files == nil || len(c.files) >= maxCached {
		c.files, c.older = map[string]*parsed{}, c.files
	}
	c.files[id] = p
}
