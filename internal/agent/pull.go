package agent

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// The reconcilers for which [Manifests] writes objects that pull.
const (
	Flux   = "flux"
	ArgoCD = "argocd"
	Fleet  = "fleet"
)

// Reconcilers are those for which [Manifests] writes objects that pull.
var Reconcilers = []string{Flux, ArgoCD, Fleet}

// Pull is the folder that a cluster follows in an environment.
type Pull struct {
	Environment, ClusterType string
	// Folder is the folder below Path. Default: that of the cluster type.
	Folder string
	// URL, Branch and Path locate the environment's generated files. An empty path means the root.
	URL, Branch, Path string
}

func (p Pull) name() string   { return "platform-" + p.Environment }
func (p Pull) folder() string { return path.Join(p.Path, cmp.Or(p.Folder, p.ClusterType)) }

// pulls returns the objects with which the cluster's reconciler follows its folders. They contain no credential: the Secret that
// GitSecret names is created separately.
func (i *Install) pulls() []object {
	var all []object
	for _, p := range i.Pulls {
		switch i.Reconciler {
		case Flux:
			all = append(all, p.flux(i.GitSecret)...)
		case ArgoCD:
			all = append(all, p.argo())
		case Fleet:
			all = append(all, p.fleet(i.GitSecret))
		}
	}
	return all
}

func (p Pull) flux(credentials string) []object {
	meta := object{"name": p.name(), "namespace": "flux-system"}
	source := object{"interval": "1m", "url": p.URL, "ref": object{"branch": p.Branch}}
	if credentials != "" {
		source["secretRef"] = object{"name": credentials}
	}
	return []object{
		{"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": meta, "spec": source},
		{"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": meta, "spec": object{
			"interval": "5m", "retryInterval": "1m", "timeout": "3m", "prune": true, "path": "./" + p.folder(),
			"sourceRef": object{"kind": "GitRepository", "name": p.name()},
		}},
	}
}

// argo has no credential: Argo CD finds it by the URL of the repository. A failed synchronization is tried again with the newest commit,
// which may be the one that mends it.
func (p Pull) argo() object {
	return object{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": object{"name": p.name(), "namespace": "argocd"}, "spec": object{
		"project":     "default",
		"source":      object{"repoURL": p.URL, "targetRevision": p.Branch, "path": p.folder(), "directory": object{"recurse": true}},
		"destination": object{"server": "https://kubernetes.default.svc", "namespace": "default"},
		"syncPolicy": object{
			"automated": object{"prune": true, "selfHeal": true},
			"retry":     object{"limit": 5, "refresh": true, "backoff": object{"duration": "10s", "factor": 2, "maxDuration": "3m"}},
		},
	}}
}

// fleet corrects drift, because Fleet takes the labels of a namespace away when it installs an application there for the first time.
func (p Pull) fleet(credentials string) object {
	spec := object{
		"repo": p.URL, "branch": p.Branch, "paths": []string{p.folder()},
		"correctDrift": object{"enabled": true, "force": true},
	}
	if credentials != "" {
		spec["clientSecretName"] = credentials
	}
	return object{"apiVersion": "fleet.cattle.io/v1alpha1", "kind": "GitRepo", "metadata": object{"name": p.name(), "namespace": "fleet-local"}, "spec": spec}
}

// checkPulls returns an error if the objects that pull cannot be written.
func (i *Install) checkPulls() error {
	if i.Reconciler == "" {
		if len(i.Pulls) > 0 || i.GitSecret != "" {
			return fmt.Errorf("a reconciler is required: %s", strings.Join(Reconcilers, ", "))
		}
		return nil
	}
	if !slices.Contains(Reconcilers, i.Reconciler) {
		return fmt.Errorf("%q is not one of %s", i.Reconciler, strings.Join(Reconcilers, ", "))
	}
	if i.GitSecret != "" {
		if i.Reconciler == ArgoCD {
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
		if seen[p.name()] {
			return fmt.Errorf("the cluster is two cluster types in environment %q; write the objects for one of them by hand, with another name", p.Environment)
		}
		seen[p.name()] = true
	}
	return nil
}
