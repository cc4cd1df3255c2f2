package reconciler

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// degradedApplication is as Argo CD 3.5 writes it: it does not say which object is the reason.
const degradedApplication = `
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {namespace: argocd, name: shop}
spec:
  source: {repoURL: https://example.com/shop, targetRevision: dev, path: dev}
  destination: {server: "https://kubernetes.default.svc", namespace: shop}
  syncPolicy: {automated: {prune: true}}
status:
  sync: {status: Synced, revision: 1f0e0a7c5bd94c2f8a63b7d1e4f5a6b7c8d9e0f1}
  health: {status: Degraded}
  resourceHealthSource: appTree
  resources:
  - {version: v1, kind: ConfigMap, namespace: shop, name: settings, status: Synced}
  - {group: apps, version: v1, kind: Deployment, namespace: shop, name: web, status: Synced}
  - {group: apps, version: v1, kind: Deployment, namespace: shop, name: fine, status: Synced}
  - {group: example.com, version: v1, kind: Deployment, namespace: shop, name: other, status: Synced}
`

const fineDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: shop, name: fine}
spec: {selector: {matchLabels: {app: fine}}}
status: {observedGeneration: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1, replicas: 1, conditions: [{type: Available, status: "True"}]}
`

// TestSuspects: of an Application that does not say which of its objects is not healthy, the agent finds out.
func TestSuspects(t *testing.T) {
	t.Parallel()
	crashes := pod("web", `{name: web, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 3, reason: Error}}}`)
	for name, tc := range map[string]struct{ application, want string }{
		"of this cluster":             {degradedApplication, "Deployment shop/web is degraded: container web: CrashLoopBackOff, exit code 3 (Error)"},
		"progressing":                 {strings.Replace(degradedApplication, "Degraded", "Progressing", 1), "Deployment shop/web is degraded: container web: CrashLoopBackOff, exit code 3 (Error)"},
		"healthy":                     {strings.Replace(degradedApplication, "Degraded", "Healthy", 1), ""},
		"of another cluster":          {strings.Replace(degradedApplication, "server: \"https://kubernetes.default.svc\"", "name: store", 1), ""},
		"cannot be compared any more": {strings.Replace(degradedApplication, "Synced, revision", "Unknown, revision", 1), ""},
		"says its objects": {
			strings.Replace(degradedApplication, "name: other, status: Synced", "name: other, status: Synced, health: {status: Degraded, message: down}", 1),
			"Deployment shop/other is degraded: down",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var objects []*unstructured.Unstructured
			for _, text := range []string{tc.application, degradedDeployment, fineDeployment, crashes} {
				objects = append(objects, parse(t, text)...)
			}
			watching(t, func(w *world) {
				w.served.set(func(s *served) { s.kinds[apps] = "Application" })
				w.Destinations = Destinations{"store": "store-01"}
				w.start()
				w.wait(time.Second)
				s := w.wait(time.Second)
				reports := append(s.Reports, s.Others["store-01"]...)
				if len(reports) != 1 {
					w.t.Fatalf("got %+v", reports)
				}
				var got []string
				for _, o := range reports[0].Unhealthy {
					got = append(got, o.String())
				}
				if strings.Join(got, "; ") != tc.want {
					w.t.Errorf("got %q, want %q", got, tc.want)
				}
				wantFit(w.t, reports[0])
			}, objects...)
		})
	}
}

// A suspect is looked up at once when the health of its Application changes.
func TestSuspectsOfAnotherHealth(t *testing.T) {
	t.Parallel()
	progressing := strings.Replace(degradedApplication, "Degraded", "Progressing", 1)
	starting := strings.Replace(degradedDeployment, "ProgressDeadlineExceeded", "ReplicaSetUpdated", 1)
	watching(t, func(w *world) {
		w.served.set(func(s *served) { s.kinds[apps] = "Application" })
		w.start()
		w.wait(time.Second)
		if s := w.wait(time.Second); len(s.Reports[0].Unhealthy) != 1 || s.Reports[0].Unhealthy[0].Health != hub.HealthProgressing {
			t.Errorf("got %v", s.Reports[0].Unhealthy)
		}
		deployments := w.client.Resource(explained["Deployment"]).Namespace("shop")
		if _, err := deployments.Update(t.Context(), parse(t, degradedDeployment)[0], metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.client.Resource(apps).Namespace("argocd").Update(t.Context(), parse(t, degradedApplication)[0], metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.wait(time.Second)
		if s := w.wait(time.Second); len(s.Reports[0].Unhealthy) != 1 || s.Reports[0].Unhealthy[0].Health != hub.HealthDegraded {
			t.Errorf("got %v", s.Reports[0].Unhealthy)
		}
	}, append(parse(t, progressing), append(parse(t, starting), parse(t, fineDeployment)...)...)...)
}

// A suspect is looked up again while its Application does not change, because another object may be the reason by then.
func TestSuspectsChange(t *testing.T) {
	t.Parallel()
	objects := append(parse(t, degradedApplication), parse(t, fineDeployment)...)
	watching(t, func(w *world) {
		w.served.set(func(s *served) { s.kinds[apps] = "Application" })
		w.start()
		w.wait(time.Second)
		if s := w.wait(time.Second); len(s.Reports[0].Unhealthy) != 0 {
			t.Errorf("got %v", s.Reports[0].Unhealthy)
		}
		if err := w.client.Tracker().Add(parse(t, degradedDeployment)[0]); err != nil {
			t.Fatal(err)
		}
		w.wait(2 * time.Minute)
		if s := w.wait(time.Second); len(s.Reports[0].Unhealthy) != 1 || s.Reports[0].Unhealthy[0].Name != "web" {
			t.Errorf("got %v", s.Reports[0].Unhealthy)
		}
	}, objects...)
}
