package reconciler

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a kind of objects to watch.
type Kind struct {
	Group    string
	Resource string // in the plural, as in URLs
	// Versions are those that can be read, the best first. Empty means any: the first that the cluster serves.
	Versions []string

	// keeps are the fields that are read; all others are forgotten at once. Empty means that all are kept.
	keeps [][]string
}

// GroupResource names the kind as Kubernetes does.
func (k Kind) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: k.Group, Resource: k.Resource}
}

// Known returns the kinds that are watched wherever they are.
func Known() []Kind {
	source := func(resource string, keeps ...[]string) Kind {
		return Kind{"source.toolkit.fluxcd.io", resource, []string{"v1", "v1beta2"}, append(keeps,
			fields("spec.url"), fields("spec.ref"), fields("spec.suspend"), fields("status.conditions"))}
	}
	return []Kind{
		source("gitrepositories"), source("ocirepositories"), source("helmrepositories"),
		{"kustomize.toolkit.fluxcd.io", "kustomizations", []string{"v1", "v1beta2"}, [][]string{
			fields("spec.sourceRef"), fields("spec.path"), fields("spec.suspend"), fields("status.observedGeneration"),
			fields("status.conditions"), fields("status.lastAppliedRevision"), fields("status.lastAttemptedRevision"),
		}},
		{"helm.toolkit.fluxcd.io", "helmreleases", []string{"v2", "v2beta2", "v2beta1"}, [][]string{
			fields("spec.chart.spec.chart"), fields("spec.chart.spec.sourceRef"), fields("spec.chartRef"), fields("spec.suspend"),
			fields("status.observedGeneration"), fields("status.conditions"), fields("status.history"),
			fields("status.lastAppliedRevision"), fields("status.lastAttemptedRevision"),
		}},
		{"argoproj.io", "applications", []string{"v1alpha1"}, [][]string{
			fields("spec.source.repoURL"), fields("spec.source.targetRevision"), fields("spec.source.path"), fields("spec.source.chart"),
			fields("spec.sources"), fields("spec.syncPolicy.automated"), fields("status.sync.status"), fields("status.sync.revision"),
			fields("status.sync.revisions"), fields("status.health"), fields("status.conditions"), fields("status.history"),
			fields("status.operationState.phase"), fields("status.operationState.message"),
			fields("status.operationState.syncResult.revision"), fields("status.operationState.syncResult.revisions"),
		}},
	}
}

func fields(path string) []string { return strings.Split(path, ".") }

// ParseKind reads a further kind to watch: "group/resource", such as "apps/deployments".
// It has to be spelled as in URLs, and in the plural.
func ParseKind(text string) (Kind, error) {
	group, resource, ok := strings.Cut(text, "/")
	if !ok || !isDNS(group) || !isDNS(resource) {
		return Kind{}, fmt.Errorf("%q is no kind: want group/resource, such as apps/deployments", text)
	}
	for _, k := range Known() {
		if k.Group == group && k.Resource == resource {
			return Kind{}, fmt.Errorf("%q is watched in any case", text)
		}
	}
	return Kind{Group: group, Resource: resource}, nil
}

func isDNS(name string) bool {
	return name != "" && len(name) <= 253 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") == "" &&
		!slices.Contains(strings.Split(name, "."), "")
}
