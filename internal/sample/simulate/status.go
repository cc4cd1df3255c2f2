package simulate

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/agent/reconciler"
)

// reportsNow returns the reports of all reconcilers, in the order of their objects.
func (m *machine) reportsNow() []hub.Report {
	var all []hub.Report
	for _, f := range m.followers {
		all = append(all, reconciler.Reports(f.compose(m.now), m.find, nil, m.now)...)
	}
	return all
}

// find returns the source of a reconciler as the agent would read it.
func (m *machine) find(kind, namespace, name string) *unstructured.Unstructured {
	if e := m.store.entries[key{sourceGroup, kind, namespace, name}]; e != nil {
		return e.compose(m.now)
	}
	return nil
}

// compose returns an object as an API server would. It shares data with others: do not modify it.
func (e *entry) compose(now time.Time) *unstructured.Unstructured {
	object := maps.Clone(map[string]any(e.fields))
	metadata := maps.Clone(map[string]any(e.fields.fieldsAt("metadata")))
	metadata["generation"] = e.generation
	metadata["creationTimestamp"] = e.created.UTC().Format(time.RFC3339)
	switch e.owner.group {
	case kustomizeGroup:
		metadata["labels"] = with(metadata["labels"], map[string]any{
			kustomizeGroup + "/name": e.owner.name, kustomizeGroup + "/namespace": e.owner.namespace,
		})
	case argoGroup:
		metadata["annotations"] = with(metadata["annotations"], map[string]any{
			"argocd.argoproj.io/tracking-id": e.owner.name + ":" + e.group + "/" + e.kind + ":" + e.namespace + "/" + e.name,
		})
	}
	object["metadata"] = metadata
	if status := e.statusAt(now); status != nil {
		object["status"] = status
	}
	return &unstructured.Unstructured{Object: object}
}

func with(m any, more map[string]any) map[string]any {
	all, _ := m.(map[string]any)
	all = maps.Clone(all)
	if all == nil {
		all = map[string]any{}
	}
	maps.Copy(all, more)
	return all
}

// statusAt returns the status of an object at a point in time.
func (e *entry) statusAt(now time.Time) map[string]any {
	switch {
	case e.status != nil:
		return e.status
	case e.group == "" && e.kind == "Namespace":
		return map[string]any{"phase": "Active"}
	case runsPods(e.key):
		return e.rollout(now)
	}
	return nil
}

// replicas returns how many pods an object wants.
func (e *entry) replicas() int64 {
	if n, ok := e.fields.at("spec", "replicas").(int64); ok {
		return n
	}
	return 1
}

// rollout returns the status of a workload object: all its pods are ready, or none.
func (e *entry) rollout(now time.Time) map[string]any {
	wanted, ready := e.replicas(), int64(0)
	if !now.Before(e.available) {
		ready = wanted
	}
	if e.kind == "DaemonSet" {
		return map[string]any{
			"observedGeneration": e.generation, "desiredNumberScheduled": wanted, "currentNumberScheduled": wanted,
			"updatedNumberScheduled": wanted, "numberReady": ready, "numberAvailable": ready, "numberMisscheduled": int64(0),
		}
	}
	return map[string]any{
		"observedGeneration": e.generation, "replicas": wanted, "updatedReplicas": wanted, "readyReplicas": ready, "availableReplicas": ready,
	}
}
