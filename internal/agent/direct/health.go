package direct

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// look finds out whether what was applied is healthy.
func (w *work) look(ctx context.Context) error {
	s := w.state
	if s == nil || s.Phase == applying || s.Phase == removing {
		return nil
	}
	if s.Phase == healthy && w.Now().Before(w.track.lookAt) { // it was woken by a change of others
		w.track.next = w.track.lookAt
		return nil
	}
	found, failed, err := w.health(ctx, s)
	if err != nil {
		w.Log.Debug("cannot look at the objects of a delivery", "delivery", w.id, "error", err)
		return nil // the API server does not answer, which says nothing about health
	}
	was := *s
	s.Unhealthy = found
	since := max(w.Now().Sub(s.Since), 0)
	switch {
	case len(found) == 0:
		s.Phase, s.Message = healthy, ""
		if s.Healthy == nil || s.Healthy.Version() != s.Delivery.Version() {
			delivery := s.Delivery
			s.Healthy = &delivery
		}
		if s.Rejected == s.Delivery.Content() {
			s.Rejected, s.Why = "", ""
		}
		w.track.lookAt = w.Now().Add(w.rest())
		w.track.next = w.track.lookAt
	case s.Phase == waiting && !failed && since < s.Delivery.Timeout():
		s.Message = found[0].String()
		w.track.next = w.Now().Add(lookAgain)
	case s.Healthy != nil && s.Healthy.Content() == s.Delivery.Content():
		// It was healthy once: another version would not mend what happened to it since.
		s.Phase, s.Message = unhealthy, "is no longer healthy: "+found[0].String()
	default:
		if s.Phase == waiting && !failed {
			s.Why = fmt.Sprintf("did not become healthy within %s", s.Delivery.Timeout())
		} else if s.Phase == waiting {
			s.Why = "is not healthy"
		}
		s.Phase, s.Message = unhealthy, s.Why+": "+found[0].String()
		w.rollBack()
	}
	if s.Phase == unhealthy && w.track.next.After(w.Now()) {
		w.track.next = w.Now().Add(lookUnhealthy)
	}
	if was.Phase == s.Phase && was.Message == s.Message && slices.Equal(was.Unhealthy, s.Unhealthy) && was.Rejected == s.Rejected && (was.Healthy == nil) == (s.Healthy == nil) {
		return nil
	}
	return w.put()
}

// health returns the objects that are not healthy, the worst first. failed means that one cannot become healthy any more.
func (w *work) health(ctx context.Context, s *state) (found []hub.ObjectHealth, failed bool, err error) {
	for _, r := range s.Objects {
		if r.Unwanted {
			continue
		}
		u, err := w.Cluster.get(ctx, account(&s.Delivery), r)
		if err != nil && !apierrors.IsForbidden(err) {
			return nil, false, err
		}
		object := hub.ObjectHealth{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name, Health: hub.HealthProgressing}
		switch {
		case err != nil:
			object.Message = cut(oneLine(err), hub.MaxObjectMessage)
		case u == nil:
			object.Message = "does not exist"
			w.track.applyAt = time.Time{} // it was removed by another client: apply it again
		default:
			state, text := w.Status(u.Object, w.Now())
			if state == hub.StateReady {
				continue
			}
			if state == hub.StateFailed {
				failed, object.Health = true, hub.HealthDegraded
			}
			object.Message = cut(strings.Join(strings.Fields(text), " "), hub.MaxObjectMessage)
		}
		found = append(found, object)
	}
	slices.SortStableFunc(found, func(a, b hub.ObjectHealth) int { return b.Health.Severity() - a.Health.Severity() })
	return found[:min(len(found), hub.MaxUnhealthy)], failed, nil
}
