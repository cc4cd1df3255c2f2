package manifests

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kalypso-io/kalypso/internal/schedule/pull"
)

// Pull is what a cluster follows in an environment.
type Pull struct {
	pull.Source
	// Rings means that the environment has rings, so that the cluster finds in the GitOps branch what it follows.
	Rings bool
}

// pulls returns the objects with which the cluster's reconciler follows its folders.
func (i *Config) pulls() []object {
	var all []object
	if i.Reconciler == pull.Direct {
		return nil // the agent asks the server, which reads the merged branches itself
	}
	for _, p := range i.Pulls {
		if p.Rings {
			all = append(all, p.Installed(i.Reconciler, i.GitSecret, i.Cluster)...)
			continue
		}
		all = append(all, p.Objects(i.Reconciler, i.GitSecret)...)
	}
	return all
}

// checkPulls returns an error if the objects that pull cannot be written.
func (i *Config) checkPulls() error {
	if i.Reconciler == "" {
		if len(i.Pulls) > 0 || i.GitSecret != "" {
			return fmt.Errorf("a reconciler is required: %s", strings.Join(pull.Reconcilers, ", "))
		}
		return nil
	}
	if !slices.Contains(pull.Reconcilers, i.Reconciler) {
		return fmt.Errorf("%q is not one of %s", i.Reconciler, strings.Join(pull.Reconcilers, ", "))
	}
	if i.GitSecret != "" {
		if i.Reconciler == pull.Direct {
			return fmt.Errorf("without a reconciler, the cluster needs no credential of a repository: the server reads it")
		}
		if i.Reconciler == pull.ArgoCD {
			return fmt.Errorf("argocd finds the credential of a repository by its URL, so it needs no name of a Secret")
		}
		if problems := validation.IsDNS1123Subdomain(i.GitSecret); len(problems) > 0 {
			return fmt.Errorf("%q is not a valid name: %s", i.GitSecret, problems[0])
		}
	}
	seen := map[string]bool{}
	for _, p := range i.Pulls {
		if p.URL == "" || p.Branch == "" {
			return fmt.Errorf("the GitOps repository of environment %q is not known", p.Environment)
		}
		if seen[p.Name()] {
			return fmt.Errorf("the cluster is two cluster types in environment %q; write the objects for one of them by hand, with another name", p.Environment)
		}
		seen[p.Name()] = true
	}
	return nil
}
