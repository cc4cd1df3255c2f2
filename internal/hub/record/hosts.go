package record

import (
	"strings"
	"sync"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// Hosts are those whose repositories are read. What workloads and clusters name is read only there, so that neither can make
// the server talk to an address of their choice. The zero value knows none. They are safe for concurrent use, since environments
// are recorded at the same time.
type Hosts struct {
	mu sync.RWMutex
	// schemes is how each of them was named: by "https", or else by "http", or else by "ssh".
	schemes map[string]string
}

// Add adds the hosts of URLs that people configured, of repositories or of whole forges. What is no URL of a host, such as a path,
// adds nothing.
func (h *Hosts) Add(urls ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, url := range urls {
		host := hostOf(url)
		if host == "" {
			continue
		}
		if h.schemes == nil {
			h.schemes = map[string]string{}
		}
		scheme, _, full := strings.Cut(strings.ToLower(url), "://")
		if !full {
			scheme = "ssh"
		}
		if known := h.schemes[host]; known == "" || known == "ssh" || scheme == "https" {
			h.schemes[host] = scheme
		}
	}
}

// hostOf returns the host of a repository or of a forge; empty when a URL is of neither.
func hostOf(url string) string {
	if id, err := forge.ParseID(url); err == nil {
		return id.Host
	}
	site, _ := forge.ParseSite(url) // the zero value has no host
	return site.Host
}

// AddRead adds the hosts that the platform team's documents name: those of the control plane, of registered workloads and of
// the GitOps repository.
func (h *Hosts) AddRead(loaded *schedule.Loaded) {
	for _, at := range loaded.Read {
		h.Add(at.Repo)
	}
	if gitOps := loaded.Snapshot.GitOps; gitOps != nil {
		h.Add(gitOps.Repo)
	}
}

// Know reports whether a repository is on one of the hosts. The port is a part of the host. A path of this machine is on none.
func (h *Hosts) Know(repository string) bool {
	id, err := forge.ParseID(repository)
	h.mu.RLock()
	defer h.mu.RUnlock()
	return err == nil && h.schemes[id.Host] != ""
}

// Reach returns a URL by which a repository is reached that is written as ledgers have it, which is always with https:
// the host may have been named with http alone. Everything else stays as it is.
func (h *Hosts) Reach(repository string) string {
	rest, secure := strings.CutPrefix(repository, "https://")
	id, err := forge.ParseID(repository)
	h.mu.RLock()
	defer h.mu.RUnlock()
	if err == nil && secure && h.schemes[id.Host] == "http" {
		return "http://" + rest
	}
	return repository
}
