package reconciler

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const degradedApp = `
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {namespace: flux-system, name: shop}
spec: {path: ./dev, wait: true, sourceRef: {kind: GitRepository, name: platform}}
status:
  lastAttemptedRevision: dev@sha1:1f0e0a7c5bd94c2f8a63b7d1e4f5a6b7c8d9e0f1
  conditions:
  - {type: Ready, status: "False", reason: HealthCheckFailed, message: "failed: [Deployment/shop/web status: 'Failed']"}
  - {type: Healthy, status: "False", reason: HealthCheckFailed, message: "failed: [Deployment/shop/web status: 'Failed']"}
`

const degradedDeployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: shop, name: web}
spec: {selector: {matchLabels: {app: web}}}
status:
  conditions:
  - {type: Available, status: "False", message: "Deployment does not have minimum availability."}
  - {type: Progressing, status: "False", reason: ProgressDeadlineExceeded, message: 'ReplicaSet "web-1" has timed out progressing.'}
`

// pod returns a pod of the Deployment with the status of its container.
func pod(app, container string) string {
	return `
apiVersion: v1
kind: Pod
metadata: {namespace: shop, name: ` + app + `-1, labels: {app: ` + app + `}}
status:
  containerStatuses:
  - ` + container + `
`
}

// TestReasonsOfPods checks what is said about an object that is not healthy.
func TestReasonsOfPods(t *testing.T) {
	t.Parallel()
	crashes := pod("web", `{name: web, state: {waiting: {reason: CrashLoopBackOff, message: "back-off 10s restarting web-1"}}, lastState: {terminated: {exitCode: 3, reason: Error}}}`)
	for name, tc := range map[string]struct {
		objects []string
		want    string
	}{
		"the container crashes":         {[]string{degradedDeployment, crashes}, "container web: CrashLoopBackOff, exit code 3 (Error)"},
		"the image cannot be pulled":    {[]string{degradedDeployment, pod("web", `{name: web, state: {waiting: {reason: ErrImagePull, message: "no such host"}}}`)}, "container web: ErrImagePull: no such host"},
		"the container ended":           {[]string{degradedDeployment, pod("web", `{name: web, state: {terminated: {exitCode: 1}}}`)}, "container web: exit code 1"},
		"a pod that only starts":        {[]string{degradedDeployment, pod("web", `{name: web, state: {waiting: {reason: ContainerCreating}}}`)}, `ReplicaSet "web-1" has timed out progressing.`},
		"pods of another Deployment":    {[]string{degradedDeployment, pod("db", `{name: db, state: {waiting: {reason: ErrImagePull}}}`)}, `ReplicaSet "web-1" has timed out progressing.`},
		"the Deployment does not exist": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var objects []*unstructured.Unstructured
			for _, text := range append(tc.objects, degradedApp) {
				objects = append(objects, parse(t, text)...)
			}
			watching(t, func(w *world) {
				w.start()
				w.wait(time.Second)
				s := w.wait(time.Second)
				if len(s.Reports) != 1 || len(s.Reports[0].Unhealthy) != 1 || s.Reports[0].Unhealthy[0].Message != tc.want {
					w.t.Errorf("got %+v, want %q", s.Reports, tc.want)
				}
			}, append(objects, git())...)
		})
	}
}

// TestReasonsAreLookedUpOnce checks that no requests are sent while everything is healthy, nor again for the same failure.
func TestReasonsAreLookedUpOnce(t *testing.T) {
	t.Parallel()
	lookups := func(w *world) (n int) {
		for _, a := range w.client.Actions() {
			if a.GetVerb() == "get" {
				n++
			}
		}
		return n
	}
	watching(t, func(w *world) {
		w.start()
		for range 5 {
			w.wait(time.Minute)
		}
		if n := lookups(w); n != 0 {
			w.t.Errorf("%d requests though everything is healthy", n)
		}
	}, git(), kustomize("True"))
	objects := append(parse(t, degradedDeployment), parse(t, degradedApp)...)
	watching(t, func(w *world) {
		w.start()
		for range 5 {
			w.wait(time.Minute)
		}
		if n := lookups(w); n != 1 {
			w.t.Errorf("%d requests for one failure", n)
		}
	}, append(objects, git())...)
}
