package reconciler_test

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kalypso-io/kalypso/internal/agent/reconciler"
)

// What an Application of Argo CD says about itself.
func ExampleReports() {
	app := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
		"metadata": map[string]any{"namespace": "argocd", "name": "platform-dev"},
		"spec": map[string]any{"source": map[string]any{
			"repoURL": "https://example.com/acme/gitops", "targetRevision": "dev", "path": "large",
		}},
		"status": map[string]any{
			"sync":   map[string]any{"status": "Synced", "revision": "1f0e0a7c5bd94c2f8a63b7d1e4f5a6b7c8d9e0f1"},
			"health": map[string]any{"status": "Degraded", "message": "web exceeded its progress deadline"},
		},
	}}
	for _, r := range reconciler.Reports(app, nil, nil, time.Now()) {
		fmt.Println(r.Kind, r.Namespace, r.Name)
		fmt.Println("follows", r.Repository, r.Ref, r.Path)
		fmt.Println("is", r.State, "at", r.Revision[:7]+":", r.Message)
	}
	// Output:
	// Application argocd platform-dev
	// follows https://example.com/acme/gitops dev large
	// is failed at 1f0e0a7: health is Degraded; web exceeded its progress deadline
}
