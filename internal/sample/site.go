package sample

import (
	"cmp"
	"strings"
)

// Site is where the repositories of a sample are.
type Site struct {
	// URL is the URL of the forge. // required
	URL string `json:"url"`
	// Org owns all repositories. Empty on the embedded forge, where each team owns its repositories.
	Org string `json:"org,omitempty"`
	// Prefix and a dash precede the names of repositories. Optional.
	Prefix string `json:"prefix,omitempty"`
	// Flux lists the cluster types that use Flux.
	Flux []string `json:"flux,omitempty"`
	// Secret is the name of the Secret with which they read repositories; empty for public ones.
	Secret string `json:"secret,omitempty"`
	// WithoutApp leaves the application unregistered and without scheduling policies, so that a user can onboard it.
	WithoutApp bool `json:"withoutApp,omitempty"`
}

// Team is a team of the tutorial.
type Team string

// The teams of the tutorial. On the embedded forge they own repositories under these names.
const (
	Platform Team = "platform"
	Kaizen   Team = "kaizen" // the application team
)

// Teams are all teams.
func Teams() []Team { return []Team{Platform, Kaizen} }

// Account returns the account name of a team.
func (t Team) Account() string { return string(t) + "-team" }

// Names of the repositories, without prefix.
const (
	ControlPlane   = "control-plane"
	GitOps         = "gitops"
	Services       = "platform-services"
	ServicesGitOps = "platform-services-gitops"
	App            = "hello-world-app"
	AppConfigs     = "hello-world-app-configs"
	AppGitOps      = "hello-world-app-gitops"
)

// teamOf returns the team that owns a repository.
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
