package reconciler

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Kind is a kind of object to watch.
type Kind struct {
	Group    string
	Resource string // plural, as in URLs
	// Versions are the supported versions, best first. Default: the cluster's preferred version.
	Versions []string

	// keeps are the fields to keep. Default: those that kstatus needs.
	keeps [][]string
	// selector restricts objects by their labels; optional.
	selector string
}

// GroupResource returns the group and resource.
func (k Kind) GroupResource() schema.GroupResource {
	return schema.GroupResource{Group: k.Group, Resource: k.Resource}
}

// Known returns the kinds that are always watched.
func Known() []Kind {
	source := func(resource string, keeps ...[]string) Kind {
		return watched("source.toolkit.fluxcd.io", resource, []string{"v1", "v1beta2"}, append(keeps,
			fields("spec.url"), fields("spec.ref"), fields("spec.suspend"), fields("status.conditions")))
	}
	return []Kind{
		source("gitrepositories"), source("ocirepositories"), source("helmrepositories"),
		watched("kustomize.toolkit.fluxcd.io", "kustomizations", []string{"v1", "v1beta2"}, [][]string{
			fields("spec.sourceRef"), fields("spec.path"), fields("spec.suspend"), fields("status.observedGeneration"),
			fields("status.conditions"), fields("status.lastAppliedRevision"), fields("status.lastAttemptedRevision"),
		}),
		watched("helm.toolkit.fluxcd.io", "helmreleases", []string{"v2", "v2beta2", "v2beta1"}, [][]string{
			fields("spec.install.disableWait"), fields("spec.upgrade.disableWait"),
			fields("spec.chart.spec.chart"), fields("spec.chart.spec.sourceRef"), fields("spec.chartRef"), fields("spec.suspend"),
			fields("status.observedGeneration"), fields("status.conditions"), fields("status.history"),
			fields("status.lastAppliedRevision"), fields("status.lastAttemptedRevision"),
		}),
		watched("argoproj.io", "applications", []string{"v1alpha1"}, [][]string{
			fields("spec.source.repoURL"), fields("spec.source.targetRevision"), fields("spec.source.path"), fields("spec.source.chart"),
			fields("spec.sourceHydrator.drySource.repoURL"), fields("spec.sourceHydrator.drySource.targetRevision"),
			fields("spec.sourceHydrator.drySource.path"), fields("spec.sourceHydrator.syncSource.targetBranch"),
			fields("status.sourceHydrator.lastSuccessfulOperation.drySHA"), fields("status.sourceHydrator.lastSuccessfulOperation.hydratedSHA"),
			fields("status.sourceHydrator.lastSuccessfulOperation.sourceHydrator.drySource.repoURL"),
			fields("status.sourceHydrator.currentOperation.phase"), fields("status.sourceHydrator.currentOperation.message"),
			fields("status.sourceHydrator.currentOperation.drySHA"),
			fields("spec.sources"), fields("spec.destination.name"), fields("spec.destination.server"), fields("spec.syncPolicy.automated"), fields("status.sync.status"), fields("status.sync.revision"),
			fields("status.sync.revisions"), fields("status.health"), fields("status.conditions"), fields("status.history"),
			fields("status.resources"),
			fields("status.operationState.phase"), fields("status.operationState.message"), fields("status.operationState.retryCount"),
			fields("status.operationState.syncResult.revision"), fields("status.operationState.syncResult.revisions"),
			fields("status.operationState.operation.sync.revision"), fields("status.operationState.operation.sync.revisions"),
		}),
		watched(fleetGroup, "gitrepos", []string{"v1alpha1"}, [][]string{
			fields("spec.repo"), fields("spec.branch"), fields("spec.revision"), fields("spec.paths"), fields("spec.bundles"), fields("spec.paused"),
			fields("status.commit"), fields("status.gitJobStatus"), fields("status.observedGeneration"), fields("status.conditions"),
			fields("status.desiredReadyClusters"),
		}),
		watched(fleetGroup, "bundles", []string{"v1alpha1"}, [][]string{
			label(labelFleetRepo), label(labelFleetCommit), fields("status.observedGeneration"), fields("status.conditions"),
		}),
		watched(fleetGroup, "bundledeployments", []string{"v1alpha1"}, [][]string{
			label(labelFleetRepo), label(labelFleetCommit), label(labelFleetBundle), label(labelFleetBundleNamespace),
			label(labelFleetCluster), label(labelFleetClusterNamespace), fields("metadata.managedFields"),
			fields("spec.deploymentID"), fields("spec.stagedDeploymentID"), fields("spec.paused"), fields("spec.offSchedule"),
			fields("status.appliedDeploymentID"), fields("status.ready"), fields("status.nonModified"), fields("status.conditions"),
			fields("status.nonReadyStatus"), fields("status.modifiedStatus"),
		}),
	}
}

func watched(group, resource string, versions []string, keeps [][]string) Kind {
	return Kind{Group: group, Resource: resource, Versions: versions, keeps: keeps}
}

func label(name string) []string { return []string{"metadata", "labels", name} }

func fields(path string) []string { return strings.Split(path, ".") }

// ParseKind parses an additional kind: "group/resource", such as "apps/deployments", with the plural as in URLs.
func ParseKind(text string) (Kind, error) {
	group, resource, ok := strings.Cut(text, "/")
	if !ok || !isDNS(group) || !isDNS(resource) {
		return Kind{}, fmt.Errorf("%q is not a kind: want group/resource, such as apps/deployments", text)
	}
	for _, k := range Known() {
		if k.Group == group && k.Resource == resource {
			return Kind{}, fmt.Errorf("%q is always watched", text)
		}
	}
	return Kind{Group: group, Resource: resource}, nil
}

func isDNS(name string) bool {
	return name != "" && len(name) <= 253 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-.") == "" &&
		!slices.Contains(strings.Split(name, "."), "")
}
