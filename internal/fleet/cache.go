package fleet

import "sync"

// Cache keeps parsed files by the id of their content, so that nothing is parsed twice while its blob is unchanged.
// It is safe for concurrent use. The zero value is ready, and so is nil, which keeps nothing.
type Cache struct {
	mu    sync.Mutex
	files map[string]*parsed
}

func (c *Cache) get(id string) *parsed {
	if c == nil || id == "" {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.files[id]
}

// put keeps a parsed file. Two goroutines may have parsed the same one; either result will do.
func (c *Cache) put(id string, p *parsed) {
	if c == nil || id == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files == nil {
		c.files = map[string]*parsed{}
	}
	c.files[id] = p
}
