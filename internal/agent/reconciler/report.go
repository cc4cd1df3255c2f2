package reconciler

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// Find returns an object by kind, namespace and name, or nil when there is none.
type Find func(kind, namespace, name string) *unstructured.Unstructured

// Reports returns what an object says about itself, without the time. Objects of any content are understood;
// what cannot be told from them is empty. Sources of Flux are no reconcilers: they say nothing themselves.
func Reports(u *unstructured.Unstructured, find Find) []hub.Report {
	o := object(u.Object)
	var reports []hub.Report
	switch group := u.GroupVersionKind().Group; {
	case group == "source.toolkit.fluxcd.io":
		return nil
	case group == "kustomize.toolkit.fluxcd.io" && u.GetKind() == "Kustomization":
		reports = []hub.Report{kustomization(o, find)}
	case group == "helm.toolkit.fluxcd.io" && u.GetKind() == "HelmRelease":
		reports = []hub.Report{helmRelease(o, find)}
	case group == "argoproj.io" && u.GetKind() == "Application":
		reports = application(o)
	default:
		reports = []hub.Report{conditioned(o)}
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
