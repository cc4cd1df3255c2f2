package simulate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// source is a place that a cluster takes manifests from, and what it knows of it.
type source struct {
	name string
	wanted
	// found is the commit it was at when it was last reached, of a place that is not fetched its made up revision.
	found artifact
	// problem is why the last look found nothing.
	problem string
	// entry is the object whose status says so; nil when it is none of its own.
	entry   *entry
	said    string    // what that status has
	next    time.Time // when it is looked at again
	version uint64    // of the store, in which somebody wants it
}

// wanted is what a source follows. It is compared to see whether it is still the same.
type wanted struct {
	remote
	// label is how revisions call what is followed, such as a branch.
	label string
	// fixed is the revision of what is not fetched: a chart, an artifact of a registry.
	fixed     string
	suspended bool
	invalid   string // why it cannot be followed
}

// artifact is what a source has found.
type artifact struct {
	url      string
	label    string
	revision string // a hash, or the version of what is not fetched
	commit   git.Commit
	fixed    bool
}

// follow makes sure that a source is looked at.
func (m *machine) follow(name string, w wanted) *source {
	s := m.sources[name]
	if s == nil {
		s = &source{name: name}
		m.sources[name] = s
	}
	if s.wanted != w {
		s.wanted, s.next, s.problem = w, time.Time{}, w.invalid
	}
	s.version = m.version
	return s
}

// dueSources are those to be looked at now, in the order of their names.
func (m *machine) dueSources(now time.Time) []*source {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.readFollowers()
	var due []*source
	for _, s := range m.sources {
		if !s.suspended && s.invalid == "" && !now.Before(s.next) {
			due = append(due, s)
		}
	}
	slices.SortFunc(due, func(a, b *source) int { return cmp.Compare(a.name, b.name) })
	return due
}

// look looks up what sources are at. The time may pass meanwhile, since servers can be slow, but not the cluster's.
func (m *machine) look(ctx context.Context, due []*source, now time.Time) {
	for _, s := range due {
		found, err := s.fetch(ctx, m.config.Sources, now, m.config.Poll/4)
		if ctx.Err() != nil {
			return
		}
		m.mu.Lock()
		s.problem = ""
		if err != nil {
			s.problem = problemOf(err)
		} else {
			s.found = found
		}
		s.next = m.nextLook(now)
		m.note(s)
		m.mu.Unlock()
	}
}

// note writes the status of a source when there is something new to say.
func (m *machine) note(s *source) {
	if s.entry == nil {
		return
	}
	news := fmt.Sprintf("%d %s %s", s.entry.generation, s.found.revision, s.problem)
	if s.said != news {
		s.said, s.entry.status, m.changed = news, s.sourceStatus(m.now), true
	}
}

func (s *source) fetch(ctx context.Context, from *Sources, now time.Time, fresh time.Duration) (artifact, error) {
	if s.fixed != "" {
		return artifact{url: s.url, label: s.label, revision: s.fixed, fixed: true}, nil
	}
	commit, err := from.head(ctx, s.remote, now, fresh)
	return artifact{url: s.url, label: s.label, revision: commit.Hash, commit: commit}, err
}

// problemOf is an error fit to be reported: it may quote what a server said, and name where this machine found a repository.
func problemOf(err error) string {
	var known *git.Error
	if !errors.As(err, &known) {
		return secret.Line(secret.Redact(err.Error()))
	}
	text := known.Kind.Error()
	if known.Detail != "" {
		text += ": " + known.Detail
	}
	return secret.Line(secret.Redact(text))
}

// nextLook is when sources are looked at that were looked at now: all sources of a cluster at once, and clusters apart
// from each other, each with a phase of its own.
func (m *machine) nextLook(now time.Time) time.Time {
	every := m.lagging(m.config.Poll)
	since := now.Sub(m.started) % every
	return now.Add(every - since)
}
