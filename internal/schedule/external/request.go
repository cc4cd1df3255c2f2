package external

import (
	"encoding/json"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	schedulingv1 "github.com/kalypso-io/kalypso/api/scheduling/v1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/placement"
)

// RequestOf returns the request for a question, sealed.
func RequestOf(s *fleet.Snapshot, q *placement.Question, facts json.RawMessage) (*schedulingv1.Request, error) {
	r := &schedulingv1.Request{
		Version: schedulingv1.Version, Task: taskOf(q), Scheduler: q.Scheduler, Environment: s.Environment, Facts: facts,
		Policy: schedulingv1.Policy{
			Name: q.Policy.Name, Workspace: q.Policy.Workspace, Priority: int32(q.Policy.Priority), MaxClusterTypes: int32(q.Policy.Max),
		},
		ClusterTypes: make([]schedulingv1.ClusterType, len(q.ClusterTypes)),
		Targets:      make([]schedulingv1.Target, len(q.Targets)),
	}
	clusters := map[string][]schedulingv1.Cluster{}
	for _, c := range s.Clusters {
		clusters[c.Type] = append(clusters[c.Type], schedulingv1.Cluster{Name: c.Name, Labels: c.Labels})
	}
	for i, ct := range q.ClusterTypes {
		r.ClusterTypes[i] = schedulingv1.ClusterType{
			Name: ct.Name, Labels: ct.Labels, Features: ct.Features, Capacity: quantities(ct.Capacity), Clusters: clusters[ct.Name],
		}
	}
	for i, t := range q.Targets {
		r.Targets[i] = schedulingv1.Target{
			Name: t.Name, Workload: t.Workload, Workspace: t.Workspace, Labels: t.Labels, Requests: quantities(t.Requests),
			Candidates: t.Candidates, Previous: t.Previous,
		}
	}
	return r, r.Seal()
}

func taskOf(q *placement.Question) schedulingv1.Task {
	if q.Extender {
		return schedulingv1.Extend
	}
	return schedulingv1.Schedule
}

func quantities(q map[string]resource.Quantity) map[string]string {
	if len(q) == 0 {
		return nil
	}
	texts := make(map[string]string, len(q))
	for _, name := range slices.Sorted(maps.Keys(q)) {
		amount := q[name]
		texts[name] = amount.String()
	}
	return texts
}
