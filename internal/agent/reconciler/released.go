package reconciler

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// Helm waits for what it installs, and Flux's helm-controller does not look at it again: a HelmRelease stays ready when its pods break
// later. So the agent watches the workloads of releases, by the labels that helm-controller gives to all objects of a release:
// https://fluxcd.io/flux/components/helm/helmreleases/
const (
	labelReleaseName      = "helm.toolkit.fluxcd.io/name"
	labelReleaseNamespace = "helm.toolkit.fluxcd.io/namespace"
)

var helmReleases = schema.GroupResource{Group: "helm.toolkit.fluxcd.io", Resource: "helmreleases"}

// releasedKinds are the kinds of workloads that are watched in clusters that serve HelmReleases. Each version of apps/v1 serves them.
var releasedKinds = []serving{
	{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "daemonsets"}, "DaemonSet"},
	{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, "Deployment"},
	{schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "statefulsets"}, "StatefulSet"},
}

// Watched returns the kinds that every watcher reads. It needs get, list and watch on them.
func Watched() []schema.GroupResource {
	var all []schema.GroupResource
	for _, k := range Known() {
		all = append(all, k.GroupResource())
	}
	for _, k := range releasedKinds {
		all = append(all, k.resource.GroupResource())
	}
	return all
}

// checkReleased watches the workloads of releases if the cluster serves HelmReleases.
func (w *Watcher) checkReleased(ctx context.Context, running *sync.WaitGroup) {
	w.mu.Lock()
	defer w.mu.Unlock()
	wanted := w.informers[helmReleases] != nil
	for _, as := range releasedKinds {
		at := as.resource.GroupResource()
		switch i := w.released[at]; {
		case wanted && i == nil:
			k := Kind{Group: at.Group, Resource: at.Resource, selector: labelReleaseName, keeps: append(slices.Clone(statusFields), label(labelReleaseName), label(labelReleaseNamespace))}
			w.released[at] = w.begin(ctx, running, k, as)
		case !wanted && i != nil:
			w.Log.Info("stop watching", "kind", at.String(), "of", helmReleases.String())
			i.stop()
			delete(w.released, at)
		}
	}
}

// releases are the workloads of HelmReleases that are not ready, by namespace and name of the HelmRelease.
type releases struct {
	unhealthy map[[2]string][]hub.ObjectHealth
	// some are the HelmReleases that have workloads.
	some map[[2]string]bool
	// unread is set if workloads could not be read.
	unread bool
}

// findReleases reads the workloads of releases. complete is false while they are read for the first time. The caller holds the lock.
func (w *Watcher) findReleases(now time.Time) (found releases, complete bool) {
	found = releases{unhealthy: map[[2]string][]hub.ObjectHealth{}, some: map[[2]string]bool{}}
	complete = true
	for _, i := range w.released {
		switch {
		case i.denied:
			found.unread = true
		case !i.HasSynced():
			complete = false
		}
		for _, o := range i.GetStore().List() {
			if u, ok := o.(*unstructured.Unstructured); ok {
				found.add(u.Object, i.kind, now)
			}
		}
	}
	for _, objects := range found.unhealthy {
		slices.SortFunc(objects, func(a, b hub.ObjectHealth) int {
			return cmp.Or(b.Health.Severity()-a.Health.Severity(), cmp.Compare(a.String(), b.String()))
		})
	}
	return found, complete
}

func (f *releases) add(o object, kind string, now time.Time) {
	release := [2]string{
		o.text("metadata", "labels", labelReleaseNamespace), o.text("metadata", "labels", labelReleaseName),
	}
	f.some[release] = true
	state, _ := Status(o, now)
	if state == hub.StateReady {
		return
	}
	health := hub.HealthProgressing
	if state == hub.StateFailed {
		health = hub.HealthDegraded
	}
	f.unhealthy[release] = append(f.unhealthy[release], hub.ObjectHealth{
		Kind: kind, Namespace: line(o.text("metadata", "namespace"), hub.MaxName), Name: line(o.text("metadata", "name"), hub.MaxName), Health: health,
	})
}

// judge sets the health of a HelmRelease that is ready by its workloads. What it installed works as long as they do.
func (f *releases) judge(r *hub.Report) {
	release := [2]string{r.Namespace, r.Name}
	objects := f.unhealthy[release]
	switch {
	case r.State != hub.StateReady:
	case f.unread:
		r.Health, r.Message = "", join(r.Message, "health is unknown: the agent may not list and watch workloads")
	case len(objects) > 0:
		r.Health = objects[0].Health
		r.Unhealthy = objects[:min(len(objects), hub.MaxUnhealthy)]
		if r.State = hub.StateProgressing; r.Health == hub.HealthDegraded {
			r.State = hub.StateFailed
		}
	case f.some[release]:
		r.Health = hub.HealthHealthy
	}
}
