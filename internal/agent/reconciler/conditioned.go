package reconciler

import (
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// Annotations with the source of an object of any kind. Templates can set them.
const (
	AnnotationRepository = "hub.kalypso.io/repository"
	AnnotationRef        = "hub.kalypso.io/ref"
	AnnotationPath       = "hub.kalypso.io/path"
	AnnotationRevision   = "hub.kalypso.io/revision"
)

// conditioned returns the report of an object of any kind: see [Status], and [custom] for what is stricter.
func conditioned(o object, now time.Time) hub.Report {
	annotation := func(name string) string { return o.text("metadata", "annotations", name) }
	r := hub.Report{
		Repository: address(annotation(AnnotationRepository)), Ref: branch(annotation(AnnotationRef)),
		Path: folder(annotation(AnnotationPath)), Revision: revision(annotation(AnnotationRevision)),
	}
	if r.State, r.Message = Status(o, now); r.State == hub.StateReady && o.isCustom() {
		r.State, r.Message = o.verdict()
	}
	switch {
	case r.State == hub.StateReady && o.hasHealth():
		r.Health = hub.HealthHealthy
	case r.State == hub.StateProgressing && r.Message == unsaid: // nor whether it is healthy
	case r.State == hub.StateProgressing:
		r.Health = hub.HealthProgressing
	case r.State == hub.StateFailed:
		r.Health = hub.HealthDegraded
	}
	if o.text("apiVersion") == "apps/v1" && o.replicated() && !o.unseen() {
		r.Applied = r.Revision // the pods may fail, but the specification is the one of the revision
	}
	return r
}

// hasHealth reports whether the status of a ready object says that it is healthy. kstatus calls an object ready that has no
// conditions; whether it works is not known then, and neither is it if it is ready and not synced.
func (o object) hasHealth() bool {
	if coreKinds[o.groupKind()] != nil && o.objectAt("status") != nil {
		return true // by its own rule
	}
	return o.condition("Ready").status == "True" && o.condition("Synced").status != "False"
}

// replicated reports whether the status counts pods that do not have to be ready for the specification to be applied.
func (o object) replicated() bool {
	kind := o.groupKind()
	return kind == "apps/Deployment" || kind == "apps/StatefulSet" || kind == "apps/DaemonSet" || kind == "apps/ReplicaSet"
}
