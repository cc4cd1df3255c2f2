package plane

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

// Board has the results of the last rounds, in memory. A new server fills it with its first rounds.
// The zero value is ready; it is safe for concurrent use.
type Board struct {
	mu     sync.Mutex
	planes map[string]*query.ControlPlane
	// names are the environments of each control plane, once they are known.
	names map[string][]string
}

var _ query.Fleet = (*Board)(nil)

// plane returns a copy of a control plane that the caller may change, under the lock. Earlier results of ControlPlanes
// stay unchanged.
func (b *Board) plane(url string) *query.ControlPlane {
	if b.planes == nil {
		b.planes = map[string]*query.ControlPlane{}
	}
	was := b.planes[url]
	if was == nil {
		was = &query.ControlPlane{URL: url}
	}
	now := &query.ControlPlane{
		URL: url, Err: was.Err, Environments: was.Environments, Promotion: was.Promotion,
		Scheduling: maps.Clone(was.Scheduling), Applications: slices.Clone(was.Applications),
	}
	if now.Scheduling == nil {
		now.Scheduling = map[string]*query.Scheduled{}
	}
	b.planes[url] = now
	return now
}

// Environments sets the environments of a control plane, and forgets others.
func (b *Board) Environments(controlPlane string, names []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.names == nil {
		b.names = map[string][]string{}
	}
	b.names[controlPlane] = names
	plane := b.plane(controlPlane)
	plane.Err = nil
	plane.Environments = append([]string{}, names...)
	maps.DeleteFunc(plane.Scheduling, func(name string, _ *query.Scheduled) bool { return !slices.Contains(names, name) })
}

// Known returns the environments of a control plane, as they were last set.
func (b *Board) Known(controlPlane string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.names[controlPlane])
}

// Unread sets the error of reading a control plane's environments. Earlier results are kept.
func (b *Board) Unread(controlPlane string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.plane(controlPlane).Err = err
}

// Scheduled sets the result of a scheduling round. After an error, the result of the last successful round is kept.
// Rounds of removed environments are ignored.
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

// Promoted sets the result of a promotion round.
func (b *Board) Promoted(controlPlane string, o *promote.Outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.plane(controlPlane).Promotion = o
}

// Registered sets the applications that a control plane delivers, by subject, and forgets others.
func (b *Board) Registered(controlPlane string, subjects []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	plane := b.plane(controlPlane)
	plane.Applications = slices.DeleteFunc(plane.Applications, func(a *query.Application) bool { return !slices.Contains(subjects, a.Subject) })
}

// Delivered adds a round of an application. It returns the application after and before the round; was is nil before
// the first.
func (b *Board) Delivered(r query.Round) (now, was *query.Application) {
	b.mu.Lock()
	defer b.mu.Unlock()
	plane := b.plane(r.ControlPlane)
	subject := deliver.SubjectOf(r.Request.Source, r.Request.Workload)
	i := slices.IndexFunc(plane.Applications, func(a *query.Application) bool { return a.Subject == subject })
	if i < 0 {
		now = query.Delivered(r, nil)
		plane.Applications = append(plane.Applications, now)
		sortApplications(plane.Applications)
		return now, nil
	}
	was = plane.Applications[i]
	now = query.Delivered(r, was)
	plane.Applications[i] = now
	return now, was
}

// Viewed sets the result of another replica's round of an application.
func (b *Board) Viewed(a *query.Application) {
	b.mu.Lock()
	defer b.mu.Unlock()
	plane := b.plane(a.ControlPlane)
	plane.Applications = slices.DeleteFunc(plane.Applications, func(other *query.Application) bool { return other.Subject == a.Subject })
	plane.Applications = append(plane.Applications, a)
	sortApplications(plane.Applications)
}

func sortApplications(all []*query.Application) {
	slices.SortFunc(all, func(x, y *query.Application) int {
		return cmp.Or(strings.Compare(x.Name, y.Name), strings.Compare(x.Subject, y.Subject))
	})
}

// Scheduling returns the results of an environment's last rounds; nil before the first.
func (b *Board) Scheduling(controlPlane, environment string) *query.Scheduled {
	b.mu.Lock()
	defer b.mu.Unlock()
	if plane := b.planes[controlPlane]; plane != nil {
		return plane.Scheduling[environment]
	}
	return nil
}

// Outcome returns the result of an environment's last successful scheduling round; nil before the first.
func (b *Board) Outcome(controlPlane, environment string) *schedule.Outcome {
	if last := b.Scheduling(controlPlane, environment); last != nil {
		return last.Outcome
	}
	return nil
}

// ControlPlanes implements [query.Fleet].
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
