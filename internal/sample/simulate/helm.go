package simulate

import (
	"regexp"
	"time"
)

// release is the dialect of Flux's helm-controller. Charts are not fetched: a release has no objects.
type release struct{ flux }

// readRelease reads a Flux HelmRelease.
func readRelease(e *entry) *follower {
	ref := e.fields.fieldsAt("spec", "chartRef")
	if ref == nil {
		ref = e.fields.fieldsAt("spec", "chart", "spec", "sourceRef")
	}
	return &follower{
		entry: e, dialect: release{}, sources: []place{{source: e.sourceRef(ref)}}, namespace: e.fields.text("spec", "targetNamespace"),
		suspended: e.fields.is("spec", "suspend"), dependsOn: e.dependencies(),
	}
}

var exactVersion = regexp.MustCompile(`^v?[0-9]+\.[0-9]+\.[0-9]+`)

// chartVersion returns the requested version of a chart. Only a registry could resolve a range.
func chartVersion(wanted string) string {
	if exactVersion.MatchString(wanted) {
		return wanted
	}
	return "1.0.0"
}

func (release) revision(f *follower, a artifact) string {
	if f.fields.at("spec", "chartRef") != nil {
		return chartVersion(a.label)
	}
	return chartVersion(f.fields.text("spec", "chart", "spec", "version"))
}

func (release) status(f *follower, w *work, now time.Time) map[string]any {
	status := map[string]any{
		"observedGeneration": w.generation,
		"conditions":         fluxReady(w, "Helm install succeeded for release "+f.namespace+"/"+f.name+".v1").list(w.generation, now),
	}
	if w.attempted != "" {
		status["lastAttemptedRevision"] = w.attempted
	}
	if w.applied != "" {
		status["history"] = []any{map[string]any{
			"name": f.name, "namespace": f.namespace, "chartName": f.fields.text("spec", "chart", "spec", "chart"),
			"chartVersion": w.applied, "status": "deployed", "version": int64(w.history),
		}}
	}
	return status
}
