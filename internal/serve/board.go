package serve

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

// Board has what the last rounds found, for everybody who asks. It is only memory: a server that starts fills it with its
// first rounds. The zero value is ready; it is safe for concurrent use.
type Board struct {
	mu     sync.Mutex
	planes map[string]*query.ControlPlane
	// names are the environments of each control plane, once that is known.
	names map[string][]string
}

var _ query.Fleet = (*Board)(nil)

// plane returns a control plane to be changed, under the lock. What was given out before does not change.
func (b *Board) plane(url string) *query.ControlPlane {
	if b.planes == nil {
		b.planes = map[string]*query.ControlPlane{}
	}
	was := b.planes[url]
	if was == nil {
		was = &query.ControlPlane{URL: url}
	}
	now := &query.ControlPlane{
		URL: url, Err: was.Err, Promotion: was.Promotion, Scheduling: maps.Clone(was.Scheduling), Applications: slices.Clone(was.Applications),
	}
	if now.Scheduling == nil {
		now.Scheduling = map[string]*query.Scheduled{}
	}
	b.planes[url] = now
	return now
}

// Environments says which environments a control plane has; what is known of others is forgotten.
func (b *Board) Environments(controlPlane string, names []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.names == nil {
		b.names = map[string][]string{}
	}
	b.names[controlPlane] = names
	plane := b.plane(controlPlane)
	plane.Err = nil
	maps.DeleteFunc(plane.Scheduling, func(name string, _ *query.Scheduled) bool { return !slices.Contains(names, name) })
}

// Unread says why the environments of a control plane could not be read. What was found before stays.
func (b *Board) Unread(controlPlane string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.plane(controlPlane).Err = err
}

// Scheduled says what a round of scheduling found. Of one that failed the error is kept, beside what was found before.
// The round of an environment that was removed meanwhile is nothing to show.
func (b *Board) Scheduled(controlPlane, environment string, o *schedule.Outcome, err error, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if names, known := b.names[controlPlane]; known && !slices.Contains(names, environment) {
		return
	}
	plane := b.plane(controlPlane)
	s := &query.Scheduled{At: now, Err: err}
	if was := plane.Scheduling[environment]; was != nil && (err != nil || o == nil) {
		s.Outcome, s.Snapshot, s.Decisions = was.Outcome, was.Snapshot, was.Decisions
	}
	if err == nil && o != nil {
		s.Outcome = o
		if o.Bundle != nil {
			s.Snapshot, s.Decisions = o.Bundle.Snapshot, o.Bundle.Decisions
		}
	}
	plane.Scheduling[environment] = s
}

// Promoted says what a round of promotion found.
func (b *Board) Promoted(controlPlane string, o *promote.Outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.plane(controlPlane).Promotion = o
}

// Registered says which applications a control plane delivers, by their subjects; what is known of others is forgotten.
func (b *Board) Registered(controlPlane string, subjects []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	plane := b.plane(controlPlane)
	plane.Applications = slices.DeleteFunc(plane.Applications, func(a *query.Application) bool { return !slices.Contains(subjects, a.Subject) })
}

// Delivered says what a round of an application found. It returns what is known of the application now, and was before; nil for
// nothing.
func (b *Board) Delivered(r query.Round) (now, was *query.Application) {
	b.mu.Lock()
	defer b.mu.Unlock()
	plane := b.plane(r.ControlPlane)
	subject := deliver.SubjectOf(r.Request.Source, r.Request.Workload)
	i := slices.IndexFunc(plane.Applications, func(a *query.Application) bool { return a.Subject == subject })
	if i < 0 {
		now = query.Delivered(r, nil)
		plane.Applications = append(plane.Applications, now)
		slices.SortFunc(plane.Applications, func(x, y *query.Application) int {
			return cmp.Or(strings.Compare(x.Name, y.Name), strings.Compare(x.Subject, y.Subject))
		})
		return now, nil
	}
	was = plane.Applications[i]
	now = query.Delivered(r, was)
	plane.Applications[i] = now
	return now, was
}

// Outcome returns what the last round of an environment that did not fail found; nil when there was none.
func (b *Board) Outcome(controlPlane, environment string) *schedule.Outcome {
	b.mu.Lock()
	defer b.mu.Unlock()
	plane := b.planes[controlPlane]
	if plane == nil || plane.Scheduling[environment] == nil {
		return nil
	}
	return plane.Scheduling[environment].Outcome
}

// ControlPlanes returns what is known of each control plane, by URL.
func (b *Board) ControlPlanes() []query.ControlPlane {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []query.ControlPlane
	for _, plane := range b.planes {
		all = append(all, *plane)
	}
	slices.SortFunc(all, func(x, y query.ControlPlane) int { return strings.Compare(x.URL, y.URL) })
	return all
}
