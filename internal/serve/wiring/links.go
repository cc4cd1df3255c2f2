package wiring

import (
	"net/url"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
)

// browse returns the pages of a repository on its forge. It has none if no forge is known to host the repository.
func (s *Server) browse(repository string) forge.Browse {
	id, err := forge.ParseID(repository)
	if err != nil {
		return forge.Browse{}
	}
	kind, known := forge.KindOfHost(id.Host)
	if host, err := s.Flows.Forges.Forge(repository); err == nil {
		kind, known = host.Kind(), true
	}
	if !known {
		return forge.Browse{}
	}
	return forge.BrowseAt(kind, s.Flows.promotion.Hosts.Reach("https://"+id.String()))
}

// pageLinks is the URL of the server, below which its pages are. Commit statuses link to them.
type pageLinks string

// environment returns the page of an environment. The URL of its control plane is left out, as statuses may be public:
// if several control planes have an environment of that name, the page asks which one is meant.
func (p pageLinks) environment(name string) string { return p.below("environments", name) }

// workload returns the page of a workload, which shows its delivery to all of its environments.
func (p pageLinks) workload(name string) string { return p.below("workloads", name) }

func (p pageLinks) below(section, name string) string {
	return strings.TrimSuffix(string(p), "/") + "/" + section + "/" + url.PathEscape(name)
}
