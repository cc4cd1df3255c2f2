package reconciler

import (
	"testing"

	"sigs.k8s.io/yaml"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]hub.State{
		"{kind: ConfigMap, apiVersion: v1}":                                  hub.StateReady,
		"{kind: Deployment, apiVersion: apps/v1, metadata: {generation: 1}}": hub.StateProgressing,
		"{kind: Deployment, apiVersion: apps/v1, metadata: {generation: 2}, spec: {replicas: 1}, status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: 1}}":                                                                    hub.StateProgressing,
		"{kind: Deployment, apiVersion: apps/v1, metadata: {generation: 2}, spec: {replicas: 1}, status: {observedGeneration: 2, replicas: 2, updatedReplicas: 1, availableReplicas: 1}}":                                                                    hub.StateProgressing,
		"{kind: Deployment, apiVersion: apps/v1, metadata: {generation: 2}, spec: {replicas: 1}, status: {observedGeneration: 2, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1, conditions: [{type: Available, status: 'True'}]}}": hub.StateReady,
		"{kind: Deployment, apiVersion: apps/v1, status: {observedGeneration: 2, conditions: [{type: Progressing, status: 'False', reason: ProgressDeadlineExceeded}]}}":                                                                                     hub.StateFailed,
		"{kind: Job, apiVersion: batch/v1}":                                                                                                  hub.StateProgressing,
		"{kind: Job, apiVersion: batch/v1, status: {startTime: now}}":                                                                        hub.StateReady,
		"{kind: Job, apiVersion: batch/v1, status: {conditions: [{type: Failed, status: 'True'}]}}":                                          hub.StateFailed,
		"{kind: CustomResourceDefinition, apiVersion: apiextensions.k8s.io/v1}":                                                              hub.StateProgressing,
		"{kind: CustomResourceDefinition, apiVersion: apiextensions.k8s.io/v1, status: {conditions: [{type: Established, status: 'True'}]}}": hub.StateReady,
	} {
		var o map[string]any
		if err := yaml.Unmarshal([]byte(text), &o); err != nil {
			t.Fatal(err)
		}
		if got, why := Status(o, noon); got != want {
			t.Errorf("%s: got %s (%s), want %s", text, got, why, want)
		}
	}
}
