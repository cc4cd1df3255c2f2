package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
)

// Client opens repositories. The zero value is ready to use; do not change its fields afterwards, and do not copy it.
// It is safe for concurrent use.
type Client struct {
	// CacheDir holds the bare clones of remote repositories; empty means kalypso/git in the user's cache folder.
	CacheDir string
	// Map says where repositories are found; it is applied before git's own insteadOf rules.
	Map []Mapping
	// Config is a local repository whose configuration is read besides the system's and the user's.
	// Empty means none.
	Config string
	// Env reads the environment; nil means os.Getenv. See the package documentation for what is read.
	Env func(string) string
	// Credentials returns what a host asks for, such as a token that is soon replaced: it is asked for every conversation,
	// after the URL and before the environment. The host is in lower case, with its port where that is not the usual one.
	// An empty password means none; nil is nobody to ask. It may be called from several goroutines at once.
	Credentials func(ctx context.Context, host string) (user string, password Secret, err error)
	// Elsewhere says that those who read errors are not at this machine: repositories on it are called by the URLs that were mapped to
	// them, and folders are not named.
	Elsewhere bool
	// Progress is told what takes long, in short lines; nil means nobody.
	// It may be called from several goroutines at once.
	Progress func(string)

	mu   sync.Mutex
	open map[string]*Repository

	rulesOnce sync.Once
	rules     []rewrite
	rulesErr  error
}

// Open returns the repository of a URL or path, after mapping it. It does not ask remotes yet: [Repository.Resolve] does.
// Opening the same repository again returns the same value, with what it has cached.
func (c *Client) Open(ctx context.Context, url string) (*Repository, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l, err := c.locate(url)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// The user and the scheme decide what the server answers, so they are part of the identity here.
	id := l.scheme + " " + l.user + " " + l.password.Reveal() + " " + l.path + " " + l.hostPort()
	if r := c.open[id]; r != nil {
		return r, nil
	}
	r, err := c.openLocation(l, c.name(url, l))
	if err != nil {
		return nil, err
	}
	if c.open == nil {
		c.open = map[string]*Repository{}
	}
	c.open[id] = r
	return r, nil
}

// Locate returns where a URL leads after mapping: a path, or a URL without credentials.
func (c *Client) Locate(url string) (string, error) {
	l, err := c.locate(url)
	return l.String(), err
}

// Close releases the files of all repositories. They must not be used afterwards.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	for _, r := range c.open {
		err = errors.Join(err, r.close())
	}
	c.open = nil
	return err
}

func (c *Client) locate(url string) (location, error) {
	l, err := parseLocation(url)
	if err != nil {
		return l, err
	}
	if mapped, ok := applyMappings(c.Map, l); ok {
		url = mapped
	}
	rules, err := c.rewrites()
	if err != nil {
		return l, err
	}
	return parseLocation(applyRewrites(rules, url))
}

// rewrites reads git's configuration once.
func (c *Client) rewrites() ([]rewrite, error) {
	c.rulesOnce.Do(func() {
		var repository string
		if repository, c.rulesErr = c.configDir(); c.rulesErr == nil {
			c.rules, c.rulesErr = rewrites(c.env, repository)
		}
	})
	return c.rules, c.rulesErr
}

// configDir is the Git directory whose configuration counts; empty for none.
// A linked work tree has its configuration in the directory it shares.
func (c *Client) configDir() (string, error) {
	if c.Config == "" {
		return "", nil
	}
	dir, ok := findGitDir(c.Config)
	if !ok {
		return "", nil
	}
	return commonDir(dir)
}

// name is what errors call a repository that was asked for by a URL and found at a location; empty for a folder as it is found.
func (c *Client) name(url string, l location) string {
	if !l.local() {
		return l.String()
	}
	asked, err := parseLocation(url)
	if err != nil || !c.Elsewhere || asked.local() {
		return ""
	}
	return asked.String()
}

func (c *Client) openLocation(l location, name string) (*Repository, error) {
	if l.local() {
		return c.openLocal(l.path, name)
	}
	dir, err := c.cacheFolder()
	if err != nil {
		return nil, err
	}
	r := &Repository{Name: name, client: c, remote: newRemote(l, dir)}
	if c.Elsewhere {
		r.remote.cache.called = name
	}
	return r, nil
}

func (c *Client) cacheFolder() (string, error) {
	if c.CacheDir != "" {
		return c.CacheDir, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", &Error{
			Kind: ErrDenied, Op: "find the cache folder", Detail: "the user has none",
			Hint: "set HOME or XDG_CACHE_HOME",
		}
	}
	return filepath.Join(dir, "kalypso", "git"), nil
}

func (c *Client) env(name string) string {
	if c.Env != nil {
		return c.Env(name)
	}
	return os.Getenv(name)
}

func (c *Client) progress(line string) {
	if c.Progress != nil && line != "" {
		c.Progress(line)
	}
}
