package reconciler

import (
	"fmt"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
)

// kustomization returns the report of a Flux Kustomization.
func kustomization(o object, find Find) hub.Report {
	r := hub.Report{Path: folder(o.text("spec", "path"))}
	applied, attempted := o.text("status", "lastAppliedRevision"), o.text("status", "lastAttemptedRevision")
	s := sourceOf(o, o.objectAt("spec", "sourceRef"), find)
	fluxState(o, s, &r)
	setRevision(&r, applied, attempted)
	r.Repository, r.Ref = s.follow(attempted)
	return r
}

// helmRelease returns the report of a Flux HelmRelease. Its revision is the version of the chart,
// its path the chart's name or folder.
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

// deployedChart returns the version of the chart that was installed last.
func (o object) deployedChart() string {
	// Since v2, the history has the newest release first; before, there was a field for it.
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

// setRevision sets the attempted revision if the state is progressing or failed, otherwise the applied one.
func setRevision(r *hub.Report, applied, attempted string) {
	text := applied
	if attempted != "" && (r.State == hub.StateFailed || r.State == hub.StateProgressing) {
		text = attempted
	}
	r.Revision = revision(text)
}

// fluxState sets state and message from the Ready condition. A broken source does not change the state, because what was applied
// still runs. Messages about routine work are omitted, because they change all the time.
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

// fluxSource is the source of a Flux reconciler.
type fluxSource struct {
	object  object // nil if it does not exist
	kind    string
	problem string // why it provides nothing new; empty if it works
}

// sourceOf finds the source that an object references.
func sourceOf(o, ref object, find Find) fluxSource {
	kind, namespace, name := ref.text("kind"), ref.text("namespace"), ref.text("name")
	if namespace == "" {
		namespace = o.text("metadata", "namespace")
	}
	s := fluxSource{kind: kind}
	title := fmt.Sprintf("source %s %s/%s", kind, namespace, name)
	switch u := find(kind, namespace, name); {
	case name == "":
		s.problem = "has no source"
	case u == nil && sourceResource(kind) == "":
		// Buckets and others are not watched.
	case u == nil:
		s.problem = title + " does not exist, or cannot be read"
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

// sourceResource returns the resource of a watched kind of source; empty for others.
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

// waits reports whether a reconciler is not ready only because another object is not ready. The artifact of a working source
// appears in a moment; that of a broken one does not.
func (s fluxSource) waits(reason string) bool {
	switch reason {
	case "DependencyNotReady", "Progressing":
		return true
	case "ArtifactFailed", "SourceNotReady":
		return s.problem == ""
	}
	return false
}

// follow returns the repository and its branch or tag. For a range of versions, the revision has the tag.
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
		return repository, "master" // Flux's default
	}
}
