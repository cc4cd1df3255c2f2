package reconciler

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

func applicationTo(name, destination string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
		"metadata": map[string]any{"namespace": "argocd", "name": name},
		"spec": map[string]any{
			"source":      map[string]any{"repoURL": "https://example.com/gitops", "targetRevision": "dev", "path": name},
			"destination": parseInline(destination),
		},
		"status": map[string]any{
			"sync":   map[string]any{"status": "Synced", "revision": "1f0e0a7c5bd94c2f8a63b7d1e4f5a6b7c8d9e0f1"},
			"health": map[string]any{"status": "Healthy"},
		},
	}}
}

// parseInline parses "name: a" or "server: b"; both may be given, separated by a comma.
func parseInline(text string) map[string]any {
	fields := map[string]any{"namespace": "shop"}
	for part := range strings.SplitSeq(text, ", ") {
		if key, value, ok := strings.Cut(part, ": "); ok {
			fields[key] = value
		}
	}
	return fields
}

// TestDestinations: an Application is reported for the cluster that it applies to, and for none if that cluster is not known.
func TestDestinations(t *testing.T) {
	t.Parallel()
	serveApplications := func(w *world) {
		w.served.set(func(s *served) { s.kinds[apps] = "Application" })
		w.Destinations = Destinations{"store": "store-01", "https://10.1.2.3:6443": "store-02", "idle": "store-03", "me": ""}
		w.server = "https://127.0.0.1:6443"
	}
	watching(t, func(w *world) {
		serveApplications(w)
		w.start()
		s := w.wait(time.Second)
		names := func(reports []hub.Report) string {
			var all []string
			for _, r := range reports {
				all = append(all, fmt.Sprint(r.Name, " ", r.State))
			}
			return strings.Join(all, ", ")
		}
		got := map[string]string{"": names(s.Reports)}
		for cluster, reports := range s.Others {
			got[cluster] = names(reports)
		}
		want := map[string]string{
			"":         "address ready, name ready, nowhere ready, own ready, slash ready, alias ready",
			"store-01": "by-name ready", "store-02": "by-server ready, second ready", "store-03": "",
		}
		for _, m := range []map[string]string{got, want} { // the order is that of the names
			parts := strings.Split(m[""], ", ")
			slices.Sort(parts)
			m[""] = strings.Join(parts, ", ")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("reports (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(map[string]int{"far": 2, "https://10.9.9.9": 1, "STORE": 1}, s.Unassigned); diff != "" {
			t.Errorf("unassigned (-want +got):\n%s", diff)
		}
	},
		applicationTo("name", "name: in-cluster"), applicationTo("address", "server: https://kubernetes.default.svc"),
		applicationTo("slash", "server: https://kubernetes.default.svc/"), applicationTo("own", "server: https://127.0.0.1:6443"),
		applicationTo("nowhere", ""), applicationTo("alias", "name: me"),
		applicationTo("by-name", "name: store"), applicationTo("by-server", "server: https://10.1.2.3:6443"),
		applicationTo("second", "server: https://10.1.2.3:6443/"),
		applicationTo("unknown", "name: far"), applicationTo("unknown-2", "name: far"), applicationTo("unknown-3", "server: https://user:secret@10.9.9.9/"),
		applicationTo("case", "name: STORE"),
	)

	// While Applications cannot be read, nothing is known about the other clusters.
	watching(t, func(w *world) {
		serveApplications(w)
		w.client.PrependReactor("list", "applications", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(apps.GroupResource(), "", errors.New("no"))
		})
		w.start()
		if s := w.wait(time.Minute); !s.Complete || s.Others != nil {
			t.Errorf("got complete %t, others %v, want none", s.Complete, s.Others)
		}
	}, applicationTo("by-name", "name: store"))
}

func TestParseDestination(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"store=store-01": "store store-01", "https://10.1.2.3:6443/=s": "https://10.1.2.3:6443 s", "https://x/?a=b=s": "https://x/?a=b s",
	} {
		destination, cluster, err := ParseDestination(text)
		if got := destination + " " + cluster; err != nil || got != want {
			t.Errorf("%s: got %q, %v, want %q", text, got, err, want)
		}
	}
	for _, wrong := range []string{"", "store", "=store", "store=", "store=Not A Name", "store=a/b"} {
		if d, c, err := ParseDestination(wrong); err == nil {
			t.Errorf("%q: got %q and %q, want an error", wrong, d, c)
		}
	}
}
