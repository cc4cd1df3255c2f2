package simulate

import (
	"cmp"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// Reconciler is what a cluster follows Git with.
type Reconciler string

// The reconcilers that can be simulated.
const (
	Flux   Reconciler = "flux"
	ArgoCD Reconciler = "argocd"
)

// Cluster describes a simulated cluster.
type Cluster struct {
	// Name is that of the cluster, a DNS label. // required
	Name string
	// Memberships are its roles, at least one. // required
	Memberships []Membership
	// Reconciler is what is installed on it. Default: Flux.
	Reconciler Reconciler
}

// Membership is one role of a cluster, and where what it has to run is found.
type Membership struct {
	// Environment and ClusterType are names. // required
	Environment, ClusterType string
	// GitOps is the platform GitOps repository; the folder of the cluster type is below its path.
	// Without a branch it is the environment's name. // required
	GitOps hub.Repository
}

// completed returns a description with its defaults; an error says everything that is wrong with it.
func (c Cluster) completed() (Cluster, error) {
	c.Reconciler = cmp.Or(c.Reconciler, Flux)
	return c, c.check()
}

// check says everything that is wrong with a description.
func (c Cluster) check() error {
	var wrong []error
	if problems := validation.IsDNS1123Label(c.Name); len(problems) > 0 {
		wrong = append(wrong, fmt.Errorf("name %q: %s", c.Name, problems[0]))
	}
	if c.Reconciler != Flux && c.Reconciler != ArgoCD {
		wrong = append(wrong, fmt.Errorf("reconciler %q: want %s or %s", c.Reconciler, Flux, ArgoCD))
	}
	if len(c.Memberships) == 0 {
		wrong = append(wrong, errors.New("it has no membership, and so nothing to follow"))
	}
	seen := map[string]bool{}
	for _, m := range c.Memberships {
		for _, name := range []string{m.Environment, m.ClusterType} {
			if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
				wrong = append(wrong, fmt.Errorf("membership %q in %q: %s", m.ClusterType, m.Environment, problems[0]))
			}
		}
		if m.GitOps.Repo == "" {
			wrong = append(wrong, fmt.Errorf("membership %q in %q names no GitOps repository", m.ClusterType, m.Environment))
		}
		if seen[m.reconcilerName()] {
			wrong = append(wrong, fmt.Errorf("membership %q in %q is there twice", m.ClusterType, m.Environment))
		}
		seen[m.reconcilerName()] = true
	}
	return errors.Join(wrong...)
}

// reconcilerName is the name of the objects that follow the folder of a membership.
func (m Membership) reconcilerName() string { return "platform-" + m.Environment + "-" + m.ClusterType }
