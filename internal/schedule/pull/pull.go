// Package pull writes the objects by which a cluster pulls its folder of a GitOps branch, for each reconciler.
//
// A cluster of an environment without rings has them from its installation. In an environment with rings, they are in the GitOps
// branch, below [Folder]: which branch a cluster follows is decided by a merged change, and the installed objects only follow
// that folder ([Source.Installed]).
package pull

import (
	"cmp"
	"path"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

// The reconcilers for which there are objects that pull.
const (
	Flux   = "flux"
	ArgoCD = "argocd"
	Fleet  = "fleet"
	// Direct means that there is no reconciler: the agent asks the server for its folder, and applies it.
	Direct = "direct"
)

// Reconcilers are those for which there are objects that pull.
var Reconcilers = []string{Flux, ArgoCD, Fleet, Direct}

// RingsFolder is the folder with the objects of each cluster, in an environment with rings.
const RingsFolder = "rings"

// Folder returns the folder with the objects by which a cluster pulls, in an environment with rings.
func Folder(cluster string) string { return RingsFolder + "/" + cluster }

// Source is what a cluster follows in an environment.
type Source struct {
	Environment, ClusterType string
	// Folder is the folder below Path. Default: that of the cluster type.
	Folder string
	// URL, Branch and Path locate the environment's generated files. An empty path means the root.
	URL, Branch, Path string
}

// Object is a Kubernetes object.
type Object = map[string]any

// Name returns the name of the objects, which is unique on the cluster.
func (s Source) Name() string { return "platform-" + s.Environment }

func (s Source) folder() string { return path.Join(s.Path, cmp.Or(s.Folder, s.ClusterType)) }

// Objects returns the objects for a reconciler. They contain no credential: the Secret that secret names is created separately;
// Argo CD finds it by the URL. An unknown reconciler has no objects.
func (s Source) Objects(reconciler, secret string) []Object {
	return s.objects(reconciler, secret, s.Name(), true)
}

// Installed returns the objects by which a cluster follows its folder below [RingsFolder]. The folder has the objects of
// [Source.Objects]. Whatever happens to the folder, these are never deleted, because with them everything on the cluster would be.
func (s Source) Installed(reconciler, secret, cluster string) []Object {
	s.Folder = Folder(cluster)
	return s.objects(reconciler, secret, s.Name()+"-ring", false)
}

func (s Source) objects(reconciler, secret, name string, prune bool) []Object {
	switch reconciler {
	case Flux:
		return s.flux(secret, name, prune)
	case ArgoCD:
		return []Object{s.argo(name, prune)}
	case Fleet:
		return []Object{s.fleet(secret, name, prune)}
	case Direct:
		return []Object{s.direct(name)}
	default:
		return nil
	}
}

func (s Source) flux(secret, name string, prune bool) []Object {
	meta := Object{"name": name, "namespace": "flux-system"}
	source := Object{"interval": "1m", "url": s.URL, "ref": Object{"branch": s.Branch}}
	if secret != "" {
		source["secretRef"] = Object{"name": secret}
	}
	return []Object{
		{"apiVersion": "source.toolkit.fluxcd.io/v1", "kind": "GitRepository", "metadata": meta, "spec": source},
		{"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": meta, "spec": Object{
			"interval": "5m", "retryInterval": "1m", "timeout": "3m", "prune": prune, "path": "./" + s.folder(),
			"sourceRef": Object{"kind": "GitRepository", "name": name},
		}},
	}
}

// argo has no credential: Argo CD finds it by the URL of the repository. A failed synchronization is tried again with the newest commit,
// which may be the one that mends it.
func (s Source) argo(name string, prune bool) Object {
	namespace := "default"
	if !prune {
		namespace = "argocd" // where the Applications in the folder are
	}
	return Object{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": Object{"name": name, "namespace": "argocd"}, "spec": Object{
		"project":     "default",
		"source":      Object{"repoURL": s.URL, "targetRevision": s.Branch, "path": s.folder(), "directory": Object{"recurse": true}},
		"destination": Object{"server": "https://kubernetes.default.svc", "namespace": namespace},
		"syncPolicy": Object{
			"automated": Object{"prune": prune, "selfHeal": true},
			"retry":     Object{"limit": 5, "refresh": true, "backoff": Object{"duration": "10s", "factor": 2, "maxDuration": "3m"}},
		},
	}}
}

// fleet corrects drift, because Fleet takes the labels of a namespace away when it installs an application there for the first time.
func (s Source) fleet(secret, name string, prune bool) Object {
	spec := Object{
		"repo": s.URL, "branch": s.Branch, "paths": []string{s.folder()},
		"correctDrift": Object{"enabled": true, "force": true},
	}
	if secret != "" {
		spec["clientSecretName"] = secret
	}
	if !prune {
		spec["keepResources"] = true
	}
	return Object{"apiVersion": "fleet.cattle.io/v1alpha1", "kind": "GitRepo", "metadata": Object{"name": name, "namespace": "fleet-local"}, "spec": spec}
}

// direct says what the agent applies. It is not sent to the cluster: the server reads the merged branch itself.
func (s Source) direct(name string) Object {
	return Object{"apiVersion": "hub.kalypso.io/v1alpha1", "kind": "DirectDelivery", "metadata": Object{"name": name, "namespace": "kalypso-agent"}, "spec": Object{
		"serviceAccount": "kalypso-agent",
		"source":         Object{"repository": s.URL, "branch": s.Branch, "path": s.folder()},
	}}
}

// aliases are other names of the templates of reconcilers.
var aliases = map[string]string{"arc-flux": Flux}

// ReconcilerOf returns the reconciler of a cluster type: the one that its spec.pull names, or else the one after which its template
// is named. It returns "" if there is none, so that objects have to be written by hand.
func ReconcilerOf(ct *fleet.ClusterType) string {
	name := cmp.Or(ct.Pull, aliases[ct.Reconciler], ct.Reconciler)
	for _, known := range Reconcilers {
		if name == known {
			return name
		}
	}
	return ""
}
