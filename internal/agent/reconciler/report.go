package reconciler

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// Find returns an object, or nil.
type Find func(kind, namespace, name string) *unstructured.Unstructured

// Reports returns the reports of an object, without the time. It accepts any content; unknown values are empty. Flux sources and
// what Fleet makes of a GitRepo have no reports, because they are not reconcilers. Without made, nothing of that is known. An object that
// waits for something can count as failed after a while, so reports depend on the time.
func Reports(u *unstructured.Unstructured, find Find, made Made, now time.Time) []hub.Report {
	o := object(u.Object)
	var reports []hub.Report
	switch group := u.GroupVersionKind().Group; {
	case group == "source.toolkit.fluxcd.io":
		return nil
	case group == "kustomize.toolkit.fluxcd.io" && u.GetKind() == "Kustomization":
		reports = []hub.Report{kustomization(o, find)}
	case group == "helm.toolkit.fluxcd.io" && u.GetKind() == "HelmRelease":
		reports = []hub.Report{helmRelease(o, find)}
	case group == "argoproj.io" && u.GetKind() == applicationKind:
		reports = application(o)
	case group == fleetGroup && u.GetKind() == "GitRepo":
		reports = gitRepo(o, made)
	case group == fleetGroup && (u.GetKind() == "Bundle" || u.GetKind() == "BundleDeployment"):
		return nil
	default:
		reports = []hub.Report{conditioned(o, now)}
	}
	for i := range reports {
		r := &reports[i]
		r.Kind = line(u.GetKind(), hub.MaxName)
		r.Namespace = line(o.text("metadata", "namespace"), hub.MaxName)
		r.Name = line(o.text("metadata", "name"), hub.MaxName) + r.Name
		r.Message = message(r.Message)
	}
	return reports
}
