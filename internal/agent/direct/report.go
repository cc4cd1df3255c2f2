package direct

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/agent"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// report stores the reports of all deliveries, and tells that they may have changed.
func (d *Deliverer) report(v *view) {
	d.mu.Lock()
	stuck := maps.Clone(d.stuck)
	d.mu.Unlock()
	var reports []hub.Report
	for i := range v.desired.Deliveries {
		one := &v.desired.Deliveries[i]
		reports = append(reports, v.report(one, v.states[one.ID()], stuck[one.ID()]))
	}
	for _, id := range v.removed() {
		s := v.states[id]
		r := identified(&s.Delivery)
		r.Revision, r.Applied, r.State, r.Message = s.Delivery.Commit, s.Applied, hub.StateProgressing, s.Message
		if s.Phase == removing && s.Message != "is being removed" {
			r.State = hub.StateFailed
		}
		if c := v.closures[s.Delivery.Of]; c.why != "" && s.Phase != removing {
			r.Message = "is to be removed; " + c.why
		}
		if err := stuck[id]; err != nil {
			r.State, r.Message = hub.StateFailed, err.Error()
		}
		reports = append(reports, r)
	}
	for i := range reports {
		reports[i].Message = cut(line(secret.Scrub(reports[i].Message)), hub.MaxMessage)
		for n := range reports[i].Unhealthy {
			reports[i].Unhealthy[n].Message = cut(line(secret.Scrub(reports[i].Unhealthy[n].Message)), hub.MaxObjectMessage)
		}
	}
	d.mu.Lock()
	same := d.known && slices.EqualFunc(d.reports, reports, func(a, b hub.Report) bool { return a.SameOutcome(&b) })
	d.reports, d.known = reports, true
	d.mu.Unlock()
	if !same {
		signal(d.changed)
	}
}

func identified(one *hub.Delivery) hub.Report {
	source := one.Source()
	return hub.Report{
		Kind: hub.KindDirectDelivery, Namespace: one.Namespace, Name: one.Name,
		Repository: secret.Redact(source.Repository), Ref: source.Ref, Path: source.Path,
	}
}

// report returns the report of a delivery: the revision is what should run, applied is what was applied.
func (v *view) report(one *hub.Delivery, s *state, stuck error) hub.Report {
	r := identified(one)
	r.Revision = one.Commit
	if s != nil {
		r.Applied = s.Applied
	}
	switch {
	case stuck != nil:
		r.State, r.Message = hub.StateFailed, stuck.Error()
		return r
	case one.Error != "" && (one.Commit != "" || s == nil):
		r.State, r.Message = hub.StateFailed, one.Error
		return r
	case one.Error != "":
		// Its branch cannot be read just now, which says nothing about what runs.
		r.Revision = s.Delivery.Commit
	case s == nil || s.Delivery.Version() != one.Version() && s.Rejected != one.Content():
		r.State, r.Health = hub.StateProgressing, hub.HealthProgressing
		r.Message = "its archive is being downloaded"
		if v.has(one.Digest) {
			r.Message = "is about to be applied"
			if c := v.closedFor(one); c.why != "" {
				r.State, r.Message = v.stagedReport(one, c)
			} else if name := v.waits(one); name != "" {
				r.Message = "waits for " + name
			}
		}
		return r
	case s.Rejected == one.Content():
		r.State, r.Health = hub.StateFailed, hub.HealthDegraded
		r.Message = fmt.Sprintf("%s; rolled back to %.7s", s.Why, s.Healthy.Commit)
		if s.Phase == applying {
			r.Message = fmt.Sprintf("%s; is being rolled back to %.7s", s.Why, s.Healthy.Commit)
			if s.Message != "" && s.Delivery.Version() == s.Healthy.Version() {
				r.Message += ": " + s.Message
			}
		}
		return r
	}
	r.Message = s.Message
	switch s.Phase {
	case healthy:
		r.State, r.Health = hub.StateReady, hub.HealthHealthy
	case waiting:
		r.State, r.Health, r.Unhealthy = hub.StateProgressing, hub.HealthProgressing, slices.Clone(s.Unhealthy)
	case unhealthy:
		r.State, r.Health, r.Unhealthy = hub.StateFailed, hub.HealthDegraded, slices.Clone(s.Unhealthy)
	default:
		r.State = hub.StateFailed
		if s.Message == "" {
			r.State, r.Message = hub.StateProgressing, "is being applied"
		}
	}
	if s.Left != "" && s.Phase != applying {
		if r.State == hub.StateReady {
			r.State = hub.StateFailed // what runs is healthy, and says so
		}
		r.Message = strings.TrimPrefix(r.Message+"; "+s.Left, "; ")
	}
	return r
}

// line returns a text without control characters and repeated spaces.
func line(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "?"), func(c rune) bool { return unicode.IsControl(c) || unicode.IsSpace(c) }), " ")
}

// cut shortens a text to a limit in bytes.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := limit - len("...")
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "..."
}

// Watched is a cluster whose reconcilers are watched, and to which the agent applies deliveries itself.
type Watched struct {
	agent.Cluster            // required
	Deliverer     *Deliverer // required
	Follower      *Follower  // required

	once    sync.Once
	changed chan struct{}
}

var _ agent.Cluster = (*Watched)(nil)

// Run implements [agent.Cluster].
func (w *Watched) Run(ctx context.Context) {
	changed := w.signals()
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { w.Cluster.Run(ctx) })
	running.Go(func() { w.Deliverer.Run(ctx) })
	running.Go(func() { w.Follower.Run(ctx) })
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.Cluster.Changed():
		case <-w.Deliverer.Changed():
		}
		signal(changed)
	}
}

// Changed implements [agent.Cluster].
func (w *Watched) Changed() <-chan struct{} { return w.signals() }

func (w *Watched) signals() chan struct{} {
	w.once.Do(func() { w.changed = make(chan struct{}, 1) })
	return w.changed
}

// Snapshot implements [agent.Cluster]. It is not complete before the server has said what the cluster should run, or the store knows it.
func (w *Watched) Snapshot() agent.Snapshot {
	s := w.Cluster.Snapshot()
	w.Deliverer.mu.Lock()
	defer w.Deliverer.mu.Unlock()
	s.Reports = append(slices.Clip(s.Reports), w.Deliverer.reports...)
	s.Complete = s.Complete && w.Deliverer.known
	return s
}
