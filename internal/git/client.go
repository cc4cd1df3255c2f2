package git

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"sync"
)

// Client opens repositories. The zero value is ready to use; do not change its fields afterwards, and do not copy it.
// It is safe for concurrent use.
type Client struct {
	// CacheDir holds the bare clones of remote repositories. It defaults to kalypso/git in the user's cache folder.
	CacheDir string
	// Map redirects URLs of repositories. It is applied before git's own insteadOf rules.
	Map []Mapping
	// Config is a local repository whose configuration is read in addition to the system's and the user's.
	// Optional.
	Config string
	// Env reads the environment. It defaults to os.Getenv. The package documentation lists the variables.
	Env func(string) string
	// Credentials returns the credential for a host. It is called for each connection, which suits short-lived tokens,
	// after the URL and before the environment. The host is in lower case, with its port unless it is the default.
	// An empty password means none. Optional. It may be called from several goroutines at once.
	Credentials func(ctx context.Context, host string) (user string, password Secret, err error)
	// Elsewhere means that errors are read on other machines: they refer to local repositories by the URLs mapped to them,
	// and do not name folders.
	Elsewhere bool
	// Allow returns an error for locations that must not be opened. It gets the scheme and the host, with its port unless that is the
	// default, of each location after mapping, and of each redirect. A folder has the scheme "file" and no host. Optional.
	Allow func(scheme, host string) error
	// Progress receives short messages about slow operations. Optional.
	// It may be called from several goroutines at once.
	Progress func(string)
	// Limits bound what one remote repository can take. Optional.
	Limits Limits

	sources sources

	mu   sync.Mutex
	open map[string]*Repository

	rulesOnce sync.Once
	rules     []rewrite
	rulesErr  error
}

// Open returns the repository at a URL or path, after mapping it. It does not contact remotes; [Repository.Resolve] does.
// Opening the same repository again returns the same value, with its caches.
func (c *Client) Open(ctx context.Context, url string) (*Repository, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l, err := c.locate(url)
	if err != nil {
		return nil, err
	}
	if err := c.allowed(l); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// The server's answer depends on user and scheme, so they are part of the identity here.
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

// allowed applies Allow to a location.
func (c *Client) allowed(l location) error {
	if c.Allow == nil {
		return nil
	}
	if err := c.Allow(l.scheme, l.hostPort()); err != nil {
		return &Error{Kind: ErrDenied, Op: "open", Where: l.String(), Detail: err.Error(), Hint: "use the URL of a repository on a permitted host", cause: err}
	}
	return nil
}

// redirect applies Allow to a redirect.
func (c *Client) redirect(next *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return errors.New("too many redirects")
	}
	if err := permitHost(next.Context(), next.URL.Hostname(), false); err != nil || c.Allow == nil {
		return err
	}
	return c.Allow(next.URL.Scheme, next.URL.Host)
}

// maxRedirects is how many redirects are followed, as many as by [http.Client] without a CheckRedirect.
const maxRedirects = 10

// Locate returns the location of a URL after mapping: a path, or a URL without credentials.
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

// configDir returns the Git directory whose configuration applies. Empty if there is none.
// The configuration of a linked work tree is in the shared directory.
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

// name returns the name in errors of a repository with a URL and a location. Empty for a folder without a mapping.
func (c *Client) name(url string, l location) string {
	if !l.local() {
		return l.String()
	}
	requested, err := parseLocation(url)
	if err != nil || !c.Elsewhere || requested.local() {
		return ""
	}
	return requested.String()
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
