package simulate

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// follower is a reconciler as its object describes it.
type follower struct {
	*entry
	dialect dialect
	sources []place
	// namespace is the namespace of objects; see folder.
	namespace string
	override  bool
	flat      bool
	// createNamespace creates the namespace if it does not exist.
	createNamespace bool
	prune           bool
	// settles means that it is ready only when everything it applied is.
	settles bool
	// suspended reconcilers do nothing. manual ones wait for a request, which never comes here.
	suspended, manual bool
	dependsOn         []key
	invalid           string // why its specification makes no sense
}

type place struct{ source, path string }

// dialect is how a reconciler words its status.
type dialect interface {
	// revision formats the revision that a source has found.
	revision(f *follower, a artifact) string
	// missing is the message for a folder that a source does not have.
	missing(path string) string
	// refused is the message for an object that an API server rejects.
	refused(r *refusal) string
	// status returns the status of the object after a change.
	status(f *follower, w *work, now time.Time) map[string]any
}

// phase is the progress of a reconciler.
type phase string

const (
	waiting  phase = "waiting"  // for a source, or another reconciler
	trying   phase = "trying"   // what it found
	failed   phase = "failed"   // and tries again later
	settling phase = "settling" // applied, and not all available
	settled  phase = "settled"
)

// outcome is the state of a reconciler.
type outcome struct {
	phase phase
	// reason is Flux's word for it.
	reason, message string
	// attempted and applied are revisions, one for each source, joined by spaces.
	attempted, applied string
	generation         int64
}

// work is the state of a reconciler's attempts.
type work struct {
	outcome
	reported outcome // as in the status of its object
	tried    string  // what the last attempt was of
	// attempt is the one in progress; nil if none is.
	attempt *attempt
	// again is when a failed attempt is retried or, while settling, when everything is ready.
	again   time.Time
	history int // how often something was applied
}

type attempt struct {
	of        string // specification and revisions
	artifacts []artifact
	until     time.Time
}

// due returns when there is something to do; zero if only its sources decide that.
func (w *work) due() time.Time {
	switch {
	case w.attempt != nil:
		return w.attempt.until
	case w.phase == failed || w.phase == settling:
		return w.again
	}
	return time.Time{}
}

// advance lets a reconciler do what it can do now, and reports whether it did anything.
func (m *machine) advance(ctx context.Context, f *follower, now time.Time) bool {
	w := m.works[f.key]
	did := false
	switch {
	case w.attempt != nil && now.Before(w.attempt.until):
	case w.attempt != nil:
		did = m.finish(ctx, f, w, now)
	case f.suspended:
	case f.invalid != "":
		w.outcome = outcome{phase: failed, reason: "InvalidSpec", message: f.invalid, applied: w.applied}
		w.again = m.nextTry(now)
	default:
		did = m.start(f, w, now)
	}
	m.setStatus(f, w, now)
	return did
}

// setStatus writes the status of a reconciler if it has changed.
func (m *machine) setStatus(f *follower, w *work, now time.Time) {
	w.generation = f.generation
	if f.suspended || w.reported == w.outcome && f.status != nil {
		return
	}
	if w.reported.phase != w.phase || w.reported.message != w.message {
		m.log.Debug("a simulated reconciler changed", "reconciler", f.key.String(), "phase", string(w.phase), "message", w.message)
	}
	w.reported = w.outcome
	f.status = f.dialect.status(f, w, now)
	m.changed = true
}

// start begins an attempt for something new, or to retry what failed.
func (m *machine) start(f *follower, w *work, now time.Time) bool {
	artifacts, lacks := m.artifacts(f)
	if lacks != "" {
		w.wait("ArtifactFailed", lacks)
		return false
	}
	found := f.revisions(artifacts)
	of := fmt.Sprintf("%d %d %s", f.generation, m.epoch, found)
	switch {
	case f.manual:
		w.wait("Manual", "")
		w.attempted = found
		return false
	case w.tried == of && w.phase == settling:
		if now.Before(w.again) {
			return false
		}
		w.phase = settled
		return true
	case w.tried == of && (w.phase == settled || w.phase == failed && now.Before(w.again)):
		return false
	}
	if d := m.missingDependency(f); d != "" {
		w.wait("DependencyNotReady", d)
		return false
	}
	w.attempt = &attempt{of: of, artifacts: artifacts, until: now.Add(m.delay())}
	w.outcome = outcome{phase: trying, reason: "Progressing", attempted: found, applied: w.applied}
	return true
}

func (w *work) wait(reason, message string) {
	w.phase, w.reason, w.message = waiting, reason, message
}

// missingDependency returns the reconciler that has to be ready first.
func (m *machine) missingDependency(f *follower) string {
	for _, k := range f.dependsOn {
		if w := m.works[k]; w == nil || w.phase != settled {
			return fmt.Sprintf("dependency '%s/%s' is not ready", k.namespace, k.name)
		}
	}
	return ""
}

// artifacts returns what the sources of a reconciler have found, or what is missing.
func (m *machine) artifacts(f *follower) ([]artifact, string) {
	all := make([]artifact, len(f.sources))
	for i, p := range f.sources {
		s := m.sources[p.source]
		switch {
		case s == nil:
			return nil, p.source + " not found"
		case s.found.revision == "" && s.entry != nil:
			return nil, "Source artifact not found, retrying in 30s" // the source has the reason
		case s.found.revision == "":
			return nil, s.problem
		}
		all[i] = s.found
	}
	return all, ""
}

func (f *follower) revisions(all []artifact) string {
	texts := make([]string, len(all))
	for i, a := range all {
		texts[i] = f.dialect.revision(f, a)
	}
	return strings.Join(texts, " ")
}
