package reconciler

import (
	"fmt"
	"slices"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

const applicationKind = "Application"

// application returns a report for each source of an Argo CD Application.
func application(o object) []hub.Report {
	if o.objectAt("spec", "sourceHydrator") != nil {
		return []hub.Report{hydrated(o)}
	}
	sources := o.objects("spec", "sources")
	if len(sources) == 0 {
		sources = []object{o.objectAt("spec", "source")}
	}
	state, text := argoState(o)
	health, unhealthy := argoHealth(o), argoUnhealthy(o)
	reports := make([]hub.Report, len(sources))
	for i, s := range sources {
		r := &reports[i]
		r.State, r.Message = state, text
		r.Repository, r.Ref, r.Path = address(s.text("repoURL")), argoRef(s), folder(s.text("path"))
		if chart := s.text("chart"); chart != "" {
			r.Path = folder(chart)
		}
		r.Revision, r.Applied = revision(argoRevision(o, state, i)), revision(argoApplied(o, i))
		r.Health, r.Unhealthy = health, unhealthy
		if i > 0 {
			r.Name = fmt.Sprintf("#%d", i+1) // names in Kubernetes cannot contain "#"
		}
	}
	return reports
}

// argoRef returns the followed branch. Argo CD does not distinguish branches from tags, and calls the default branch HEAD.
// A chart has a version or range, and no ref.
func argoRef(source object) string {
	target := source.text("targetRevision")
	switch {
	case source.text("chart") != "":
		return ""
	case target == "":
		return "HEAD"
	default:
		return branch(target)
	}
}

// argoState derives the state from sync status, health and the last operation. If it cannot be compared, it is neither ready nor
// failed: what was applied before may still run.
func argoState(o object) (hub.State, string) {
	sync, health := o.text("status", "sync", "status"), o.text("status", "health", "status")
	switch {
	case o.removing():
		return hub.StateProgressing, "is being removed"
	case argoError(o, "InvalidSpecError") != "":
		return hub.StateFailed, argoError(o, "InvalidSpecError")
	case operationFailed(o):
		return hub.StateFailed, o.text("status", "operationState", "message")
	case retried(o):
		return hub.StateFailed, o.text("status", "operationState", "message")
	case o.text("status", "operationState", "phase") == "Running":
		return hub.StateProgressing, "" // without a message, like a retry: the agent reports it only if it is new
	case sync == "OutOfSync" && !automated(o):
		return hub.StateSuspended, "is out of sync, and syncs only manually"
	case sync == "OutOfSync":
		return hub.StateProgressing, join("is out of sync", argoError(o, "SyncError"))
	case sync != "Synced":
		return hub.StateProgressing, join("cannot be compared", argoError(o, "ComparisonError"), argoError(o, "UnknownError"))
	}
	text := o.text("status", "health", "message")
	switch health {
	case "Healthy":
		return hub.StateReady, ""
	case "Degraded":
		return hub.StateFailed, join("health is Degraded", text)
	case "Suspended":
		return hub.StateSuspended, text
	case "":
		return hub.StateProgressing, "health is not known yet"
	default: // Progressing, Missing, Unknown
		return hub.StateProgressing, join("health is "+health, text)
	}
}

// retried reports whether an operation failed and waits to be repeated. It stays "Running", for minutes, and goes on with the revision that
// it began with, even if there is a newer one: https://argo-cd.readthedocs.io/en/stable/user-guide/sync-options/
// During another attempt there is no result.
func retried(o object) bool {
	return o.text("status", "operationState", "phase") == "Running" && o.number("status", "operationState", "retryCount") > 0 &&
		len(argoRevisions(o, "status", "operationState", "syncResult")) > 0
}

// argoTried returns the revisions of the last operation: of its result, or else those that it began with.
func argoTried(o object) []string {
	if tried := argoRevisions(o, "status", "operationState", "syncResult"); len(tried) > 0 {
		return tried
	}
	return argoRevisions(o, "status", "operationState", "operation", "sync")
}

// operationFailed reports whether the last operation failed for the wanted revisions. All objects can be in sync then, because a hook after the
// synchronization failed, such as a migration: https://argo-cd.readthedocs.io/en/stable/user-guide/sync-waves/
// Objects in sync that do not have the revision of the operation were synced by something else.
func operationFailed(o object) bool {
	phase := o.text("status", "operationState", "phase")
	if phase != "Failed" && phase != "Error" {
		return false
	}
	tried, wanted := argoTried(o), argoRevisions(o, "status", "sync")
	if len(tried) == 0 || len(wanted) == 0 {
		return o.text("status", "sync", "status") != "Synced"
	}
	return slices.Equal(tried, wanted)
}

// automated reports whether differences are synced automatically.
func automated(o object) bool {
	policy := o.objectAt("spec", "syncPolicy", "automated")
	enabled, said := policy.at("enabled").(bool)
	return policy != nil && (enabled || !said)
}

// argoError returns the message of a condition. Argo CD's conditions have a format of their own.
func argoError(o object, kind string) string {
	for _, c := range o.objects("status", "conditions") {
		if c.text("type") == kind {
			return kind + ": " + c.text("message")
		}
	}
	return ""
}

// argoRevision returns the revision of a source that runs. The sync status has the wanted one, which runs only if it is in sync.
func argoRevision(o object, state hub.State, source int) string {
	wanted := argoRevisions(o, "status", "sync")
	tried := argoTried(o)
	of := argoHistory(o)
	switch {
	case o.text("status", "sync", "status") == "Synced" && len(wanted) > 0:
		of = wanted
	case (state == hub.StateFailed || o.text("status", "operationState", "phase") == "Running") && len(tried) > 0:
		of = tried
	}
	if source >= len(of) {
		return ""
	}
	return of[source]
}

// argoApplied returns the revision of a source whose manifests are all in the cluster: the one that was compared last, if it is in
// sync. Otherwise it is not known; the history has revisions whose objects may have changed since.
func argoApplied(o object, source int) string {
	of := argoRevisions(o, "status", "sync")
	if o.text("status", "sync", "status") != "Synced" || o.text("status", "operationState", "phase") == "Running" || source >= len(of) {
		return ""
	}
	return of[source]
}

// argoHealth returns the health of an application. While Argo CD cannot compare, that is unknown: the status keeps what it was before,
// "Healthy" even for a cluster that is gone.
func argoHealth(o object) hub.Health {
	switch o.text("status", "sync", "status") {
	case "Synced", "OutOfSync":
		return hub.ParseHealth(o.text("status", "health", "status"))
	}
	return ""
}

// argoUnhealthy returns the objects of an application that are not healthy. Argo CD keeps the health of objects in the application only if
// controller.resource.health.persist is set; otherwise the [explainer] finds them.
func argoUnhealthy(o object) []hub.ObjectHealth {
	if argoHealth(o) == "" {
		return nil
	}
	var objects []hub.ObjectHealth
	for _, r := range o.objects("status", "resources") {
		health := hub.ParseHealth(r.text("health", "status"))
		if health == "" {
			continue
		}
		objects = append(objects, hub.ObjectHealth{
			Kind: line(r.text("kind"), hub.MaxName), Namespace: line(r.text("namespace"), hub.MaxName),
			Name: line(r.text("name"), hub.MaxName), Health: health, Message: line(redact(r.text("health", "message")), hub.MaxObjectMessage),
		})
	}
	return hub.Unhealthy(objects)
}

// argoHistory returns the revisions that were applied last.
func argoHistory(o object) []string {
	history := o.objects("status", "history")
	if len(history) == 0 {
		return nil
	}
	return argoRevisions(history[len(history)-1])
}

// argoRevisions returns the revision of each source.
func argoRevisions(o object, path ...string) []string {
	at := o.objectAt(path...)
	if len(path) == 0 {
		at = o
	}
	if several := at.texts("revisions"); len(several) > 0 {
		return several
	}
	if one := at.text("revision"); one != "" {
		return []string{one}
	}
	return nil
}
