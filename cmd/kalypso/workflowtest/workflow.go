package workflowtest

import (
	"maps"
	"slices"
	"strings"
)

// Event is what happened, and where.
type Event struct {
	Kind Kind
	// URL is that of the repository whose workflows run: "https://github.com/acme/shop".
	URL string
	// Branch is the one that was pushed, and Commit its head.
	Branch, Commit string
	// Environment is what the workflow of a configuration repository tells, for [ConfigChanged].
	Environment string
	// Number counts runs.
	Number string
	// Settings are the secrets and variables that were set up for the repository.
	Settings map[string]string
	// Token is the one that the CI system makes for each job.
	Token string
}

// Kind is the kind of an event.
type Kind string

// The kinds of events.
const (
	Push     Kind = "push"
	Schedule Kind = "schedule"
	// ConfigChanged is that another repository asks for the manifests of an environment to be rendered again.
	ConfigChanged Kind = "config-changed"
)

// Step is one script.
type Step struct {
	// Job is what it is part of.
	Job    string
	Script string
	// Env are the variables that it has: of the CI system, the workflow, the job and the step.
	Env map[string]string
	// Checkout says whether it runs in a checkout of the repository; otherwise it has an empty folder.
	Checkout bool
}

// System is a CI system: it finds the steps of an event in the files of a repository, in their order.
type System func(files map[string][]byte, e Event) ([]Step, error)

// site divides the URL of a repository into where the forge is and the path.
func site(repository string) (server, path string) {
	scheme, rest, _ := strings.Cut(repository, "://")
	host, path, _ := strings.Cut(rest, "/")
	return scheme + "://" + host, path
}

// merged is all variables together; later ones win.
func merged(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, one := range all {
		maps.Copy(out, one)
	}
	return out
}

// names is one name or a list of them.
func names(value any) []string {
	switch value := value.(type) {
	case string:
		return []string{value}
	case []any:
		var all []string
		for _, v := range value {
			all = append(all, names(v)...)
		}
		return all
	}
	return nil
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
