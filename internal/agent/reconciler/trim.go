package reconciler

import (
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// trim returns an object with only the fields that are read. Others can be large or confidential, such as the values of
// a HelmRelease.
func trim(u *unstructured.Unstructured, k Kind) *unstructured.Unstructured {
	kept := map[string]any{"metadata": map[string]any{}}
	for _, name := range []string{"name", "namespace", "generation", "creationTimestamp", "deletionTimestamp", "resourceVersion"} {
		keep(u.Object, kept, []string{"metadata", name})
	}
	for _, name := range []string{"apiVersion", "kind"} {
		keep(u.Object, kept, []string{name})
	}
	if len(k.keeps) == 0 {
		for _, path := range statusFields {
			keep(u.Object, kept, path)
		}
		keepAnnotations(u.Object, kept)
		keepVerdict(u.Object, kept)
		if u.Object["status"] != nil && kept["status"] == nil {
			kept["status"] = map[string]any{} // that there is one is known
		}
	}
	for _, path := range k.keeps {
		keep(u.Object, kept, path)
	}
	trimResources(kept)
	trimManagers(kept)
	return &unstructured.Unstructured{Object: kept}
}

// statusFields are the fields that [Status] reads.
var statusFields = [][]string{
	fields("status.conditions"), fields("status.observedGeneration"), fields("spec.replicas"), fields("status.replicas"),
	fields("status.updatedReplicas"), fields("status.readyReplicas"), fields("status.availableReplicas"), fields("status.currentReplicas"),
	fields("status.fullyLabeledReplicas"), fields("status.currentRevision"), fields("status.updateRevision"),
	fields("status.desiredNumberScheduled"), fields("status.currentNumberScheduled"), fields("status.updatedNumberScheduled"),
	fields("status.numberAvailable"), fields("status.numberReady"), fields("spec.updateStrategy"), fields("spec.progressDeadlineSeconds"),
	fields("status.phase"), fields("status.reason"), fields("status.message"), fields("status.startTime"), fields("status.containerStatuses"),
	fields("spec.type"), fields("spec.clusterIP"),
}

// trimResources removes the resources of an application that are healthy, and of those without a health all but [suspects]. An
// application can have thousands.
func trimResources(o object) {
	status := o.objectAt("status")
	all, ok := status["resources"].([]any)
	if !ok {
		return
	}
	var kept, without []any
	for _, r := range all {
		fields, _ := r.(map[string]any)
		health := object(fields).text("health", "status")
		switch parsed := hub.ParseHealth(health); {
		case parsed != "" && parsed != hub.HealthHealthy:
			kept = append(kept, r)
		case health == "" && mayRun(fields) && len(without) < maxSuspects:
			without = append(without, r)
		}
	}
	if len(suspects(o)) > 0 {
		kept = append(kept, without...)
	}
	status["resources"] = kept
}

// trimManagers removes the names of managed fields, of which there are many, and what Fleet would change back in modified objects,
// which can be confidential.
func trimManagers(o object) {
	metadata := o.objectAt("metadata")
	if metadata["managedFields"] != nil {
		var kept []any
		for _, m := range o.objects("metadata", "managedFields") {
			kept = append(kept, map[string]any{"subresource": m.text("subresource"), "time": m.text("time")})
		}
		metadata["managedFields"] = kept
	}
	if status := o.objectAt("status"); status["modifiedStatus"] != nil {
		var kept []any
		for _, m := range o.objects("status", "modifiedStatus") {
			without := maps.Clone(m)
			delete(without, "patch")
			kept = append(kept, map[string]any(without))
		}
		status["modifiedStatus"] = kept
	}
}

// keep copies a field and its parents.
func keep(from, to map[string]any, path []string) {
	value, ok, err := unstructured.NestedFieldNoCopy(from, path...)
	if !ok || err != nil {
		return
	}
	for _, name := range path[:len(path)-1] {
		inner, ok := to[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			to[name] = inner
		}
		to = inner
	}
	to[path[len(path)-1]] = value
}

// keepAnnotations copies the annotations with the source.
func keepAnnotations(from, to map[string]any) {
	annotations, _ := object(from).at("metadata", "annotations").(map[string]any)
	for name, value := range annotations {
		if strings.HasPrefix(name, "hub.kalypso.io/") {
			keep(map[string]any{"metadata": map[string]any{"annotations": map[string]any{name: value}}}, to, []string{"metadata", "annotations", name})
		}
	}
}
