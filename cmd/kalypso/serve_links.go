package main

import (
	"net/url"
	"strings"
)

// pageLinks are the addresses of the server's own pages, below the URL where people reach it. Statuses lead there.
type pageLinks string

// environment returns the page of an environment. Where several control planes have one of that name, it asks which is meant:
// the URL of a control plane is nobody's business where the status is read.
func (p pageLinks) environment(name string) string { return p.below("environments", name) }

// workload returns the page of a workload, which shows how it is delivered to all of its environments.
func (p pageLinks) workload(name string) string { return p.below("workloads", name) }

func (p pageLinks) below(section, name string) string {
	return strings.TrimSuffix(string(p), "/") + "/" + section + "/" + url.PathEscape(name)
}
