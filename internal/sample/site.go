package sample

import (
	"cmp"
	"strings"
)

// Site is where the repositories of a sample are.
type Site struct {
	// URL is that of the forge. // required
	URL string `json:"url"`
	// Org owns all repositories. Empty on the local forge, where each team has repositories of its own.
	Org string `json:"org,omitempty"`
	// Prefix is what the names of the repositories begin with, before a dash; may be empty.
	Prefix string `json:"prefix,omitempty"`
	// Flux are the cluster types whose clusters follow Git with Flux, whatever the example says about them.
	Flux []string `json:"flux,omitempty"`
	// Secret is the name of the Secret with which those read repositories; empty where anybody may.
	Secret string `json:"secret,omitempty"`
}

// Team is who works with a repository.
type Team string

// The teams of the tutorial. On the local forge they own repositories under these names.
const (
	Platform Team = "platform"
	Kaizen   Team = "kaizen" // the application team
)

// Teams are all of them.
func Teams() []Team { return []Team{Platform, Kaizen} }

// Account is how a team is called where it does something.
func (t Team) Account() string { return string(t) + "-team" }

// The names of the repositories, without prefix.
const (
	ControlPlane   = "control-plane"
	GitOps         = "gitops"
	Services       = "platform-services"
	ServicesGitOps = "platform-services-gitops"
	App            = "hello-world-app"
	AppConfigs     = "hello-world-app-configs"
	AppGitOps      = "hello-world-app-gitops"
)

// teamOf is who works with a repository.
func teamOf(repository string) Team {
	if strings.HasPrefix(repository, App) {
		return Kaizen
	}
	return Platform
}

// Repository returns the URL of a repository.
func (s Site) Repository(name string) string {
	return strings.TrimRight(s.URL, "/") + "/" + s.owner(name) + "/" + s.name(name)
}

func (s Site) owner(repository string) string { return cmp.Or(s.Org, string(teamOf(repository))) }

func (s Site) name(repository string) string {
	if s.Prefix == "" {
		return repository
	}
	return s.Prefix + "-" + repository
}
