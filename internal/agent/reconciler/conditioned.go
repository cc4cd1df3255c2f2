package reconciler

import (
	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// Annotations with the source of an object of any kind. Templates can set them.
const (
	AnnotationRepository = "hub.kalypso.io/repository"
	AnnotationRef        = "hub.kalypso.io/ref"
	AnnotationPath       = "hub.kalypso.io/path"
	AnnotationRevision   = "hub.kalypso.io/revision"
)

// conditioned returns the report of an object of any kind, by the rules of kstatus, which most Kubernetes tools share:
// https://github.com/kubernetes-sigs/cli-utils/blob/master/pkg/kstatus/README.md
func conditioned(o object) hub.Report {
	annotation := func(name string) string { return o.text("metadata", "annotations", name) }
	r := hub.Report{
		Repository: address(annotation(AnnotationRepository)), Ref: branch(annotation(AnnotationRef)),
		Path: folder(annotation(AnnotationPath)), Revision: revision(annotation(AnnotationRevision)),
	}
	r.State, r.Message = kstatus(o)
	switch {
	case r.State == hub.StateReady && o.hasHealth():
		r.Health = hub.HealthHealthy
	case r.State == hub.StateProgressing:
		r.Health = hub.HealthProgressing
	case r.State == hub.StateFailed:
		r.Health = hub.HealthDegraded
	}
	if _, _, runs := rollout(o); runs && !o.outdated(condition{}) {
		r.Applied = r.Revision // the pods may fail, but the specification is the one of the revision
	}
	return r
}

// hasHealth reports whether the status of a ready object says that it is healthy. kstatus calls an object ready that has no
// conditions; whether it works is not known then, and neither is it if it is ready and not synced.
func (o object) hasHealth() bool {
	if o.text("apiVersion") == "apps/v1" && o.objectAt("status") != nil {
		return true // by its replicas
	}
	return o.condition("Ready").status == "True" && o.condition("Synced").status != "False"
}

// Status returns the state of an object of any kind by the rules of kstatus, with those for Jobs and definitions of kinds.
func Status(fields map[string]any) (hub.State, string) {
	o := object(fields)
	switch o.text("kind") {
	case "Job":
		if failed := o.condition("Failed"); failed.status == "True" {
			return hub.StateFailed, failed.message
		}
		if o.text("status", "startTime") == "" {
			return hub.StateProgressing, "has not started"
		}
	case "CustomResourceDefinition":
		if o.condition("Established").status != "True" {
			return hub.StateProgressing, "is not established"
		}
		return hub.StateReady, ""
	}
	if group := o.text("apiVersion"); group == "apps/v1" && o.text("kind") != "ControllerRevision" && o.text("kind") != "ReplicaSet" && o.number("status", "observedGeneration") == 0 {
		return hub.StateProgressing, "no controller has seen it yet"
	}
	return kstatus(o)
}

// kstatus applies the rules in order. An object without conditions is ready, and one that is not ready and not stalled
// is progressing.
func kstatus(o object) (hub.State, string) {
	stalled, reconciling, ready := o.condition("Stalled"), o.condition("Reconciling"), o.condition("Ready")
	switch {
	case o.removing():
		return hub.StateProgressing, "is being removed"
	case o.outdated(condition{}):
		return hub.StateProgressing, ""
	case stalled.status == "True":
		return hub.StateFailed, join(stalled.message, ready.message)
	case reconciling.status == "True":
		return hub.StateProgressing, reconciling.message
	case ready.status == "False" || ready.status == "Unknown":
		return hub.StateProgressing, ready.message
	case ready.status != "" && o.outdated(ready):
		return hub.StateProgressing, ""
	}
	if state, text, ok := rollout(o); ok {
		return state, text
	}
	return hub.StateReady, ""
}

// rollout applies the rules for kinds that run pods and have no Ready condition: Deployment, StatefulSet and DaemonSet.
func rollout(o object) (state hub.State, text string, ok bool) {
	if group := o.text("apiVersion"); group != "apps/v1" {
		return "", "", false
	}
	progress := o.condition("Progressing")
	if progress.reason == "ProgressDeadlineExceeded" {
		return hub.StateFailed, progress.message, true
	}
	wanted, updated, available := int64(1), o.number("status", "updatedReplicas"), o.number("status", "availableReplicas")
	if o.at("spec", "replicas") != nil {
		wanted = o.number("spec", "replicas")
	}
	if o.text("kind") == "DaemonSet" {
		wanted = o.number("status", "desiredNumberScheduled")
		updated, available = o.number("status", "updatedNumberScheduled"), o.number("status", "numberAvailable")
	}
	if updated < wanted || available < wanted {
		return hub.StateProgressing, "not all replicas are updated and available", true
	}
	if o.text("kind") == "Deployment" && o.number("status", "replicas") > updated {
		// Those that are available may all be of the version before.
		return hub.StateProgressing, "replicas of the version before are still there", true
	}
	return "", "", false
}
