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

// source is a place that a cluster pulls manifests from, and what was last found there.
type source struct {
	name string
	wanted
	// found is the commit found by the last successful poll; a made-up revision for a place that is not fetched.
	found artifact
	// problem says why the last poll failed.
	problem string
	// entry is the object whose status shows it; nil for a source without an object of its own.
	entry    *entry
	reported string    // as in that status
	next     time.Time // when it is polled again
	version  uint64    // of the store when an object last referred to it
}

// wanted is what a source follows. It is comparable, to see changes.
type wanted struct {
	remote
	// label is the prefix of revisions, such as a branch.
	label string
	// fixed is the revision of a place that is not fetched: a chart, an OCI artifact.
	fixed     string
	suspended bool
	invalid   string // why it cannot be followed
}

// artifact is what a source has found: the files of a commit.
type artifact struct {
	url      string
	label    string
	revision string // a hash, or the version of what is not fetched
	commit   git.Commit
	fixed    bool
}

// follow adds a source, or updates what it follows.
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

// dueSources returns the sources to poll now, by name.
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

// poll looks up the heads of sources. Servers can be slow, but the cluster's time stands still meanwhile.
func (m *machine) poll(ctx context.Context, due []*source, now time.Time) {
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
		s.next = m.nextPoll(now)
		m.setSourceStatus(s)
		m.mu.Unlock()
	}
}

// setSourceStatus writes the status of a source if it has changed.
func (m *machine) setSourceStatus(s *source) {
	if s.entry == nil {
		return
	}
	news := fmt.Sprintf("%d %s %s", s.entry.generation, s.found.revision, s.problem)
	if s.reported != news {
		s.reported, s.entry.status, m.changed = news, s.sourceStatus(m.now), true
	}
}

func (s *source) fetch(ctx context.Context, from *Sources, now time.Time, fresh time.Duration) (artifact, error) {
	if s.fixed != "" {
		return artifact{url: s.url, label: s.label, revision: s.fixed, fixed: true}, nil
	}
	commit, err := from.head(ctx, s.remote, now, fresh)
	return artifact{url: s.url, label: s.label, revision: commit.Hash, commit: commit}, err
}

// problemOf returns an error as text that can be reported: without quotes of servers and paths of this machine.
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

// nextPoll returns when to poll sources again that were polled now: all sources of a cluster together, and each cluster
// with a phase of its own.
func (m *machine) nextPoll(now time.Time) time.Time {
	every := m.lagging(m.config.Poll)
	since := now.Sub(m.started) % every
	return now.Add(every - since)
}
