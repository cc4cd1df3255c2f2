package serve

import (
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"regexp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/external"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// SchedulerConfig is an external scheduler or extender that policies can name. It has one of command, url and placementDecisions.
type SchedulerConfig struct {
	// Name is the name that policies use.
	Name string `json:"name"`
	// Command is a program with its arguments. It gets the request on its standard input. The program is an absolute path.
	Command []string `json:"command,omitempty"`
	// URL is an endpoint that gets the request by POST.
	URL string `json:"url,omitempty"`
	// TokenEnv is the environment variable with a bearer token for the endpoint. Default: none.
	TokenEnv string `json:"tokenEnv,omitempty"`
	// PlacementDecisions follows the PlacementDecisions of another scheduler, such as Open Cluster Management.
	PlacementDecisions *PlacementDecisionsConfig `json:"placementDecisions,omitempty"`
	// Facts is a JSON file with what else the decisions of a command or endpoint depend on, such as prices. It is read for each
	// draft, and is part of the request: when it changes, the scheduler is asked again. Default: none.
	Facts string `json:"facts,omitempty"`
	// Timeout is how long an answer may take, up to 2m. Default: 10s.
	Timeout metav1.Duration `json:"timeout,omitempty"`
}

// PlacementDecisionsConfig is where PlacementDecisions are read: one of path, repo and command.
type PlacementDecisionsConfig struct {
	// Path is a file or folder on this machine; with repo, a folder of the repository.
	Path string `json:"path,omitempty"`
	// Repo is the URL of a repository, and Branch its branch. Default: the default branch.
	Repo   string `json:"repo,omitempty"`
	Branch string `json:"branch,omitempty"`
	// Command prints them as YAML or JSON, such as kubectl with --kubeconfig and get placementdecisions -A -o json. The program is
	// an absolute path.
	Command []string `json:"command,omitempty"`
	// Namespace is the only one that counts. Default: all.
	Namespace string `json:"namespace,omitempty"`
}

// schedulerName is a DNS label, as policies can name it.
var schedulerName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// CheckSchedulers returns all errors of the schedulers, joined.
func CheckSchedulers(schedulers []SchedulerConfig) error {
	var problems []error
	names := map[string]bool{}
	for i := range schedulers {
		s := &schedulers[i]
		for _, err := range s.check() {
			problems = append(problems, fmt.Errorf("schedulers[%d]: %w", i, err))
		}
		if names[s.Name] {
			problems = append(problems, fmt.Errorf("schedulers[%d]: another scheduler has the name %q; use a different one", i, s.Name))
		}
		names[s.Name] = true
	}
	return errors.Join(problems...)
}

func (s *SchedulerConfig) check() (problems []error) {
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	switch {
	case !schedulerName.MatchString(s.Name):
		problem("name: %q is not a name of lower-case letters, digits and dashes", s.Name)
	case s.Name == fleet.DefaultScheduler:
		problem("name: %q is the scheduler that is part of Kalypso; use another name", s.Name)
	}
	kinds := 0
	for _, set := range []bool{s.Command != nil, s.URL != "", s.PlacementDecisions != nil} {
		if set {
			kinds++
		}
	}
	if kinds != 1 {
		problem("want exactly one of command, url and placementDecisions")
	}
	if err := checkCommand(s.Command); err != nil {
		problem("command: %w", err)
	}
	if s.URL != "" {
		u, err := url.Parse(s.URL)
		switch {
		case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil:
			problem("url: want a URL such as https://scheduler.example.com/v1, without credentials")
		case s.TokenEnv != "" && u.Scheme == "http" && !secret.IsLoopback(u.Hostname()):
			problem("url: the token would be readable on the way; use https")
		}
	} else if s.TokenEnv != "" {
		problem("tokenEnv: it is for a url")
	}
	if t := s.Timeout.Duration; t < 0 || t > external.MaxTimeout {
		problem("timeout: want at most %s", external.MaxTimeout)
	}
	if d := s.PlacementDecisions; d != nil {
		if s.Facts != "" {
			problem("facts: PlacementDecisions are facts already")
		}
		if err := d.check(); err != nil {
			problem("placementDecisions: %w", err)
		}
	}
	return problems
}

func (d *PlacementDecisionsConfig) check() error {
	switch {
	case d.Command != nil && (d.Path != "" || d.Repo != ""), d.Command == nil && d.Path == "" && d.Repo == "":
		return errors.New("want one of path, repo and command")
	case d.Branch != "" && d.Repo == "":
		return errors.New("branch: it is for a repo")
	case d.Repo != "" && d.Path != "" && (path.IsAbs(d.Path) || path.Clean(d.Path) != d.Path || !filepath.IsLocal(d.Path)):
		return fmt.Errorf("path: %q is not a folder in the repository", d.Path)
	}
	return checkCommand(d.Command)
}

// checkCommand checks that a command, if there is one, begins with an absolute path.
func checkCommand(args []string) error {
	if args != nil && (len(args) == 0 || !filepath.IsAbs(args[0])) {
		return fmt.Errorf("%q does not begin with the absolute path of a program", args)
	}
	return nil
}
