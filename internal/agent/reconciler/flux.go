package reconciler

import (
	"fmt"
	"regexp"
	"strings"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/text/revisions"
)

// kustomization returns the report of a Flux Kustomization.
func kustomization(o object, find Find) hub.Report {
	r := hub.Report{Path: folder(o.text("spec", "path"))}
	applied, attempted := o.text("status", "lastAppliedRevision"), o.text("status", "lastAttemptedRevision")
	s := sourceOf(o, o.objectAt("spec", "sourceRef"), find)
	fluxState(o, s, &r)
	r.Applied = revision(applied)
	kustomizationHealth(o, &r)
	setRevision(&r, applied, attempted)
	r.Repository, r.Ref = s.follow(attempted)
	return r
}

// kustomizationHealth sets the health, which Flux checks after it has applied everything, if the Kustomization has wait: true or
// health checks. Flux calls a revision applied only when its objects are healthy; here it is applied when they are checked.
//
// A check that ended at its timeout is still progressing: the objects may become healthy, and Flux goes on checking.
func kustomizationHealth(o object, r *hub.Report) {
	ready, healthy := o.condition("Ready"), o.condition("Healthy")
	attempted := o.text("status", "lastAttemptedRevision")
	switch {
	case healthy.status == "" || r.State == hub.StateSuspended || o.removing():
		return
	case healthy.status == "True":
		r.Health = hub.HealthHealthy
		return
	case healthy.status == "Unknown" && attempted != "" && strings.Contains(healthy.message, attempted):
		r.Applied, r.Health = revision(attempted), hub.HealthProgressing
		return
	case healthy.status == "Unknown" || ready.reason != healthy.reason:
		r.Applied = "" // the check was about another attempt, whose revision is not known any more
		return
	}
	r.Applied, r.Health = revision(attempted), hub.HealthProgressing
	for _, u := range unhealthyObjects(healthy.message) {
		if u.Health == hub.HealthDegraded {
			r.Health = hub.HealthDegraded
		}
		r.Unhealthy = append(r.Unhealthy, u)
	}
	if len(r.Unhealthy) == 0 {
		r.Health = hub.HealthDegraded // for a reason that is not understood
	}
	r.Unhealthy = hub.Unhealthy(r.Unhealthy)
	if r.State == hub.StateFailed && r.Health == hub.HealthProgressing {
		r.State = hub.StateProgressing
	}
}

// unhealthyObject matches an object in the error of a health check of Flux:
// https://github.com/fluxcd/pkg/blob/main/ssa/manager_wait.go
var unhealthyObject = regexp.MustCompile(`([A-Za-z0-9]+)/(?:([^/\s,\[\]]+)/)?([^/\s,\[\]]+) status: '([A-Za-z]+)'(?:: ([^,\]]*))?`)

func unhealthyObjects(message string) []hub.ObjectHealth {
	var all []hub.ObjectHealth
	for _, m := range unhealthyObject.FindAllStringSubmatch(message[:min(len(message), readable)], -1) {
		all = append(all, hub.ObjectHealth{
			Kind: line(m[1], hub.MaxName), Namespace: line(m[2], hub.MaxName), Name: line(m[3], hub.MaxName),
			Health: hub.ParseHealth(m[4]), Message: line(redact(m[5]), hub.MaxObjectMessage),
		})
	}
	return all
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
	r.Applied = revision(o.deployedChart())
	// Helm waits for what it installs, unless that is switched off.
	if r.State == hub.StateReady && !o.is("spec", "install", "disableWait") && !o.is("spec", "upgrade", "disableWait") {
		r.Health = hub.HealthHealthy
	}
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
		r.State, r.Message = hub.StateReady, join(s.problem, s.unjudged())
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

// unjudged says why the revision cannot be compared with the commits of a branch; empty if it can.
func (s fluxSource) unjudged() string {
	ref := s.object.objectAt("spec", "ref")
	switch {
	case s.kind != "" && sourceResource(s.kind) == "":
		return "cannot be judged: a source of the kind " + s.kind + " follows no branch or tag of a repository"
	case s.kind == "GitRepository" && ref.text("commit") != "":
		return "cannot be judged: its source is pinned to the commit " + ref.text("commit")
	case s.kind == "OCIRepository" && ref.text("digest") != "":
		return "cannot be judged: its source is pinned to the digest " + ref.text("digest")
	}
	return ""
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
	name := revisions.Parse(attempted).Name
	wanted := func(field string) string { return spec.text("ref", field) }
	switch {
	case s.object == nil || s.kind == "HelmRepository":
		return repository, ""
	case s.kind == "GitRepository" && wanted("commit") != "", s.kind == "OCIRepository" && wanted("digest") != "":
		return repository, "" // it is preferred to every other field
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
