package simulate

import (
	"path"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/internal/schedule/pull"
)

// bootstrap creates what a platform team installs on a cluster: the reconciler, and for each membership
// the objects that follow the folder of the cluster type, or that of the cluster in an environment with rings.
func (m *machine) bootstrap(now time.Time) {
	own := map[Reconciler]string{Flux: "flux-system", ArgoCD: "argocd"}[m.Reconciler]
	objects := []*manifest{namespace("default"), namespace("kube-system"), namespace(own)}
	for _, member := range m.Memberships {
		switch {
		case member.Rings:
			objects = append(objects, member.installed(m.Cluster)...)
		case m.Reconciler == ArgoCD:
			objects = append(objects, member.application())
		default:
			objects = append(objects, member.gitRepository(), member.kustomization())
		}
	}
	for _, o := range objects {
		m.store.put(o, key{}, now, m.delay)
	}
	// Clusters that start together do not poll together.
	phase := time.Duration(m.random.Int64N(int64(m.config.Poll)))
	m.started = now.Add(-phase)
}

// branch defaults to the name of the environment.
func (m Membership) branch() string {
	if m.GitOps.Branch != "" {
		return m.GitOps.Branch
	}
	return m.Environment
}

func (m Membership) folder() string { return clean(path.Join(m.GitOps.Path, m.ClusterType)) }

func object(apiVersion, kind, namespace, name string, spec map[string]any) *manifest {
	return manifestOf(map[string]any{
		"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"namespace": namespace, "name": name}, "spec": spec,
	})
}

// installed returns the objects by which a cluster follows its folder, in an environment with rings.
func (m Membership) installed(c Cluster) []*manifest {
	source := pull.Source{Environment: m.Environment, ClusterType: m.ClusterType, URL: m.GitOps.Repo, Branch: m.branch(), Path: clean(m.GitOps.Path)}
	var all []*manifest
	for _, o := range source.Installed(string(c.Reconciler), "", c.Name) {
		text, err := yaml.Marshal(o)
		if err != nil {
			continue // cannot happen: the objects are maps of strings
		}
		objects, err := decode(text) // with the types of JSON, as an API server has them
		if err != nil {
			continue
		}
		for _, u := range objects {
			all = append(all, manifestOf(u.Object))
		}
	}
	return all
}

func (m Membership) gitRepository() *manifest {
	return object(sourceGroup+"/v1", "GitRepository", "flux-system", m.reconcilerName(), map[string]any{
		"interval": "1m", "url": m.GitOps.Repo, "ref": map[string]any{"branch": m.branch()},
	})
}

func (m Membership) kustomization() *manifest {
	return object(kustomizeGroup+"/v1", "Kustomization", "flux-system", m.reconcilerName(), map[string]any{
		"interval": "1m", "prune": true, "path": "./" + m.folder(),
		"sourceRef": map[string]any{"kind": "GitRepository", "name": m.reconcilerName()},
	})
}

func (m Membership) application() *manifest {
	return object(argoGroup+"/v1alpha1", "Application", "argocd", m.reconcilerName(), map[string]any{
		"project": "default",
		"source": map[string]any{
			"repoURL": m.GitOps.Repo, "targetRevision": m.branch(), "path": m.folder(), "directory": map[string]any{"recurse": true},
		},
		"destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": "argocd"},
		"syncPolicy":  map[string]any{"automated": map[string]any{"prune": true, "selfHeal": true}},
	})
}
