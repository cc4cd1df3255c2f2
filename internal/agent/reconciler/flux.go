package reconciler

import (
	"fmt"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
)

// kustomization reads a Kustomization of Flux.
func kustomization(o object, find Find) hub.Report {
	r := hub.Report{Path: folder(o.text("spec", "path"))}
	applied, attempted := o.text("status", "lastAppliedRevision"), o.text("status", "lastAttemptedRevision")
	s := sourceOf(o, o.objectAt("spec", "sourceRef"), find)
	fluxState(o, s, &r)
	setRevision(&r, applied, attempted)
	r.Repository, r.Ref = s.follow(attempted)
	return r
}

// helmRelease reads a HelmRelease of Flux. Its revision is the version of the chart;
// its path is the chart's name or folder.
func helmRelease(o object, find Find) hub.Report {
	ref := o.objectAt("spec", "chartRef")
	if ref == nil {
		ref = o.objectAt("spec", "chart", "spec", "sourceRef")
	}
	r := hub.Report{Path: folder(o.text("spec", "chart", "spec", "chart"))}
	attempted := o.text("status", "lastAttemptedRevision")
	s := sourceOf(o, ref, find)
	fluxState(o, s, &r)
	setRevision(&r, o.deployedChart(), attempted)
	r.Repository, r.Ref = s.follow(attempted)
	return r
}

// deployedChart is the version of the chart that was installed last.
func (o object) deployedChart() string {
	// Since v2 the newest release is the first of the history, until then there was a field for it.
	for _, release := range o.objects("status", "history") {
		if release.text("status") == "deployed" {
			return release.text("chartVersion")
		}
	}
	return o.text("status", "lastAppliedRevision")
}

func (o object) objectAt(path ...string) object {
	fields, _ := o.at(path...).(map[string]any)
	return fields
}

// setRevision sets what was applied, and of what is under way or failed, what was tried.
func setRevision(r *hub.Report, applied, attempted string) {
	text := applied
	if attempted != "" && (r.State == hub.StateFailed || r.State == hub.StateProgressing) {
		text = attempted
	}
	r.Revision = revision(text)
}

// fluxState sets state and message, as the Ready condition has them. That a source is broken does not change the state:
// what was applied is still there. Messages about routine work are left out, since they change all the time.
func fluxState(o object, s fluxSource, r *hub.Report) {
	ready := o.condition("Ready")
	switch {
	case o.removing():
		r.State, r.Message = hub.StateProgressing, "is being removed"
	case o.is("spec", "suspend"):
		r.State = hub.StateSuspended
	case ready.status == "" || o.outdated(ready):
		r.State = hub.StateProgressing
	case ready.status == "True":
		r.State, r.Message = hub.StateReady, s.problem
	case ready.status == "False" && !s.waits(ready.reason):
		r.State, r.Message = hub.StateFailed, join(ready.message, s.problem)
	case ready.reason == "Progressing" || ready.reason == "ProgressingWithRetry":
		r.State, r.Message = hub.StateProgressing, s.problem
	default:
		r.State, r.Message = hub.StateProgressing, join(ready.message, s.problem)
	}
}

// fluxSource is what a reconciler of Flux takes manifests from.
type fluxSource struct {
	object  object // nil when it is not there
	kind    string
	problem string // why it gives nothing new; empty when it does
}

// sourceOf looks up what a reference of an object names.
func sourceOf(o, ref object, find Find) fluxSource {
	kind, namespace, name := ref.text("kind"), ref.text("namespace"), ref.text("name")
	if namespace == "" {
		namespace = o.text("metadata", "namespace")
	}
	s := fluxSource{kind: kind}
	title := fmt.Sprintf("source %s %s/%s", kind, namespace, name)
	switch u := find(kind, namespace, name); {
	case name == "":
		s.problem = "names no source"
	case u == nil && sourceResource(kind) == "":
		// Buckets and others are not watched: of them nothing is known.
	case u == nil:
		s.problem = title + " is not there, or cannot be read"
	default:
		s.object = u.Object
		if ready := s.object.condition("Ready"); s.object.is("spec", "suspend") {
			s.problem = title + " is suspended"
		} else if ready.status == "False" {
			s.problem = title + ": " + ready.message
		}
	}
	return s
}

// sourceResource is the resource of a kind of source that is watched; empty for others.
func sourceResource(kind string) string {
	switch kind {
	case "GitRepository":
		return "gitrepositories"
	case "OCIRepository":
		return "ocirepositories"
	case "HelmRepository":
		return "helmrepositories"
	}
	return ""
}

// waits says whether a reconciler is not ready only because others are not yet.
// The artifact of a source that works comes in a moment; that of a broken one does not.
func (s fluxSource) waits(reason string) bool {
	switch reason {
	case "DependencyNotReady", "Progressing":
		return true
	case "ArtifactFailed", "SourceNotReady":
		return s.problem == ""
	}
	return false
}

// follow returns the repository, and the branch or tag of it. Where a range of versions is wanted,
// the revision says which tag it is.
func (s fluxSource) follow(attempted string) (repository, ref string) {
	spec := s.object.objectAt("spec")
	repository = address(spec.text("url"))
	name := comply.ParseRevision(attempted).Name
	wanted := func(field string) string { return spec.text("ref", field) }
	switch {
	case s.object == nil || s.kind == "HelmRepository":
		return repository, ""
	case wanted("name") != "":
		return repository, branch(wanted("name"))
	case wanted("semver") != "" && name != "":
		return repository, tag(name)
	case wanted("semver") != "":
		return repository, ""
	case wanted("tag") != "":
		return repository, tag(wanted("tag"))
	case s.kind == "OCIRepository":
		return repository, tag("latest")
	case wanted("branch") != "":
		return repository, branch(wanted("branch"))
	default:
		return repository, "master" // what Flux takes when nothing is said
	}
}
