package wiring

import (
	"net/url"
	"strings"
)

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
