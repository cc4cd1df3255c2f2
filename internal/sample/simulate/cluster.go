package simulate

import (
	"cmp"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// Reconciler is the program with which a cluster follows Git.
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
	// Memberships is not empty. // required
	Memberships []Membership
	// Reconciler defaults to Flux.
	Reconciler Reconciler
}

// Membership is an environment that a cluster serves as a cluster type, and the branch that it follows.
type Membership struct {
	// Environment and ClusterType are names. // required
	Environment, ClusterType string
	// GitOps is the platform GitOps repository; the folder of the cluster type is below its path.
	// The branch defaults to the environment's name. // required
	GitOps hub.Repository
	// Rings means that the environment has rings: the cluster follows its folder of the branch, which has the objects by which it
	// follows the branch of its ring.
	Rings bool
}

// completed returns the cluster with its defaults. The error lists everything that is invalid.
func (c Cluster) completed() (Cluster, error) {
	c.Reconciler = cmp.Or(c.Reconciler, Flux)
	return c, c.check()
}

// check lists everything that is invalid.
func (c Cluster) check() error {
	var wrong []error
	if problems := validation.IsDNS1123Label(c.Name); len(problems) > 0 {
		wrong = append(wrong, fmt.Errorf("name %q: %s", c.Name, problems[0]))
	}
	if c.Reconciler != Flux && c.Reconciler != ArgoCD {
		wrong = append(wrong, fmt.Errorf("reconciler %q: want %s or %s", c.Reconciler, Flux, ArgoCD))
	}
	if len(c.Memberships) == 0 {
		wrong = append(wrong, errors.New("the cluster has no membership"))
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
			wrong = append(wrong, fmt.Errorf("duplicate membership %q in %q", m.ClusterType, m.Environment))
		}
		seen[m.reconcilerName()] = true
	}
	return errors.Join(wrong...)
}

// reconcilerName returns the name of the objects that follow the folder of a membership.
func (m Membership) reconcilerName() string {
	if m.Rings {
		return "platform-" + m.Environment + "-ring"
	}
	return "platform-" + m.Environment + "-" + m.ClusterType
}
