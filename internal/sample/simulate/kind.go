package simulate

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kalypso-io/kalypso/internal/check"
)

// kind is a kind of object that a cluster serves.
type kind struct {
	schema.GroupVersionKind
	plural     string
	namespaced bool
}

// API groups of the reconcilers.
const (
	sourceGroup    = "source.toolkit.fluxcd.io"
	kustomizeGroup = "kustomize.toolkit.fluxcd.io"
	helmGroup      = "helm.toolkit.fluxcd.io"
	argoGroup      = "argoproj.io"
)

// reconcilerKinds are the kinds that a reconciler installs, with the versions that are still served.
var reconcilerKinds = map[Reconciler]map[string][]string{
	Flux: {
		sourceGroup + "/v1":      {"GitRepository", "OCIRepository", "HelmRepository", "HelmChart", "Bucket"},
		sourceGroup + "/v1beta2": {"GitRepository", "OCIRepository", "HelmRepository", "HelmChart", "Bucket"},
		kustomizeGroup + "/v1":   {"Kustomization"}, kustomizeGroup + "/v1beta2": {"Kustomization"},
		helmGroup + "/v2": {"HelmRelease"}, helmGroup + "/v2beta2": {"HelmRelease"}, helmGroup + "/v2beta1": {"HelmRelease"},
		"notification.toolkit.fluxcd.io/v1": {"Receiver"}, "notification.toolkit.fluxcd.io/v1beta3": {"Alert", "Provider"},
	},
	ArgoCD: {argoGroup + "/v1alpha1": {"Application", "ApplicationSet", "AppProject"}},
}

// shortNames are the short names of kinds.
var shortNames = map[string]string{
	"cm": "configmaps", "ns": "namespaces", "deploy": "deployments", "svc": "services", "sa": "serviceaccounts",
	"sts": "statefulsets", "ds": "daemonsets", "ing": "ingresses", "netpol": "networkpolicies", "quota": "resourcequotas",
	"limits": "limitranges", "crd": "customresourcedefinitions", "ks": "kustomizations", "hr": "helmreleases",
	"gitrepo": "gitrepositories", "ocirepo": "ocirepositories", "helmrepo": "helmrepositories", "app": "applications", "apps": "applications",
	"po": "pods",
}

// stable matches the versions that API servers serve by default.
var stable = regexp.MustCompile(`^v[0-9]+$`)

// builtin returns a built-in kind of Kubernetes; false for another kind, or a version that is no longer served.
func builtin(gvk schema.GroupVersionKind) (kind, bool) {
	definition := gvk.Group == "apiextensions.k8s.io" && gvk.Version == "v1" && gvk.Kind == "CustomResourceDefinition"
	if !definition {
		if !stable.MatchString(gvk.Version) || !scheme.Scheme.Recognizes(gvk) {
			return kind{}, false
		}
		// The scheme also has types that are not objects, such as options.
		if o, err := scheme.Scheme.New(gvk); err != nil || !isObject(o) {
			return kind{}, false
		}
	}
	return newKind(gvk, !check.ClusterScoped(gvk.GroupKind())), true
}

func isObject(o any) bool { _, ok := o.(metav1.Object); return ok }

func newKind(gvk schema.GroupVersionKind, namespaced bool) kind {
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	return kind{gvk, plural.Resource, namespaced}
}

// installed returns the kinds that a reconciler installs, sorted.
func installed(r Reconciler) []kind {
	var all []kind
	for version, names := range reconcilerKinds[r] {
		gv, _ := schema.ParseGroupVersion(version)
		for _, name := range names {
			all = append(all, newKind(gv.WithKind(name), true))
		}
	}
	slices.SortFunc(all, kind.compare)
	return all
}

// defined returns the kinds that a CustomResourceDefinition defines.
func defined(definition fields) []kind {
	names := definition.fieldsAt("spec", "names")
	var all []kind
	for _, version := range definition.list("spec", "versions") {
		if served, set := version["served"].(bool); set && !served {
			continue
		}
		all = append(all, kind{
			schema.GroupVersionKind{Group: definition.text("spec", "group"), Version: version.text("name"), Kind: names.text("kind")},
			names.text("plural"), definition.text("spec", "scope") != "Cluster",
		})
	}
	return all
}

func (k kind) compare(o kind) int { return cmp.Compare(k.String(), o.String()) }

// isCalled reports whether a name means this kind: its plural, singular or short name, with or without the group.
func (k kind) isCalled(name string) bool {
	name, group, qualified := strings.Cut(strings.ToLower(name), ".")
	if qualified && group != k.Group {
		return false
	}
	return name == k.plural || name == strings.ToLower(k.Kind) || shortNames[name] == k.plural
}
