package record

import (
	"strings"
	"sync"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// Hosts are the hosts whose repositories may be read. They keep workloads and clusters from making the server send requests
// to any address. The zero value has none. Hosts is safe for concurrent use.
type Hosts struct {
	mu sync.RWMutex
	// schemes has the scheme of each host: "https" if it was ever named with it, else "http", else "ssh".
	schemes map[string]string
}

// Add adds the hosts of configured URLs, of repositories or forges. It ignores URLs without a host, such as paths.
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

// hostOf returns the host of a repository or forge, or "".
func hostOf(url string) string {
	if id, err := forge.ParseID(url); err == nil {
		return id.Host
	}
	site, _ := forge.ParseSite(url) // the zero value has no host
	return site.Host
}

// AddRead adds the hosts in the platform team's documents: control plane, registered workloads and GitOps repository.
func (h *Hosts) AddRead(loaded *schedule.Loaded) {
	for _, at := range loaded.Read {
		h.Add(at.Repo)
	}
	if gitOps := loaded.Snapshot.GitOps; gitOps != nil {
		h.Add(gitOps.Repo)
	}
}

// Know reports whether a repository is on one of the hosts. The port is part of the host. A local path has no host.
func (h *Hosts) Know(repository string) bool {
	id, err := forge.ParseID(repository)
	h.mu.RLock()
	defer h.mu.RUnlock()
	return err == nil && h.schemes[id.Host] != ""
}

// Reach returns the URL to read a repository that is in the spelling of the ledger, which always has https:
// the host may have been configured with http.
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
