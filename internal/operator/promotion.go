package operator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// readLedger reads the Secret with the URL of the ledger. Without it, environments are scheduled, and nothing is promoted.
func (r *run) readLedger(ctx context.Context) (secret.Value, error) {
	ref := r.plane.Spec.Ledger
	if ref == nil {
		return secret.Value{}, nil
	}
	s, err := r.secret(ctx, "spec.ledger.secretRef", ref.SecretRef.Name)
	if err != nil {
		return secret.Value{}, err
	}
	url := secret.New(string(s.Data["url"]))
	if url.IsZero() {
		return url, &waiting{ReasonSecret, fmt.Errorf("spec.ledger.secretRef: Secret %q has no field url", ref.SecretRef.Name)}
	}
	return url, nil
}

// promote runs a round of promotion, and sets the promotion of each environment. After an error, they stay as they are.
func (r *run) promote(ctx context.Context) error {
	if r.plane.Spec.Ledger == nil || r.plane.Spec.Source.Repository == "" {
		for i := range r.plane.Status.Environments {
			r.plane.Status.Environments[i].Promotion = nil
		}
		return nil
	}
	if r.ledger != nil {
		return r.ledger
	}
	bounded, cancel := context.WithTimeout(ctx, r.limit())
	defer cancel()
	outcome, err := r.tenant.Promote(bounded)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if bounded.Err() != nil {
		err = fmt.Errorf("promotion took longer than %s", r.limit())
	}
	if outcome != nil {
		r.promoted(outcome)
	}
	if err == nil && outcome != nil {
		r.soonest(outcome.Next)
		if len(outcome.Did) > 0 {
			r.soonest(time.Now()) // the next round schedules what was promoted
		}
	}
	switch {
	case errors.Is(err, pullrequest.ErrMoved):
		r.moved = true
		return nil
	case errors.Is(err, ErrNotAllowed):
		return &waiting{ReasonNotAllowed, err} // environments are scheduled all the same
	case errors.Is(err, ErrLedger):
		return &waiting{ReasonLedger, err}
	case err != nil:
		return &waiting{ReasonPromotionFailed, fmt.Errorf("promote: %w", err)}
	}
	return nil
}

// promoted sets what a round of promotion found, and tells what it did.
func (r *run) promoted(o *promote.Outcome) {
	for _, did := range o.Did {
		r.Events.Eventf(r.plane, nil, corev1.EventTypeNormal, EventChanged, "Promote", "%s", message(did))
	}
	for i := range r.plane.Status.Environments {
		e := &r.plane.Status.Environments[i]
		at := slices.IndexFunc(o.Environments, func(s promote.Standing) bool { return s.Environment == e.Name })
		if at < 0 {
			e.Promotion = nil
			continue
		}
		was := e.Promotion
		e.Promotion = promotionStatus(&o.Environments[at])
		r.announcePromotion(e.Name, was, e.Promotion)
	}
}

// announcePromotion records an event if an environment has another commit, and if its commit failed.
func (r *run) announcePromotion(environment string, was, is *v1alpha1.EnvironmentPromotion) {
	about := fmt.Sprintf("%s: %s, %s", environment, is.Commit, is.Reason)
	if was != nil && is.Commit != "" && is.Commit != was.Commit {
		r.Events.Eventf(r.plane, nil, corev1.EventTypeNormal, EventPromoted, "Promote", "%s", message(about))
	}
	failed := string(decide.Failed)
	if is.Phase == failed && (was == nil || was.Phase != failed || was.Commit != is.Commit) {
		r.Events.Eventf(r.plane, nil, corev1.EventTypeWarning, EventFailed, "Promote", "%s", message(about))
	}
}

const (
	// maxRings is how many rings an environment's status has, and maxReason the length of a reason in it.
	maxRings  = 10
	maxReason = 256
)

// promotionStatus returns the status of an environment's promotion.
func promotionStatus(s *promote.Standing) *v1alpha1.EnvironmentPromotion {
	p := &v1alpha1.EnvironmentPromotion{Phase: string(s.Phase), Commit: s.Commit, Next: s.Candidate, Reason: message(s.Reason)}
	if i := slices.IndexFunc(s.Proposals, func(o promote.Proposal) bool { return o.State == decide.ProposalOpen }); i >= 0 {
		p.PullRequest = s.Proposals[i].URL
	}
	for _, ring := range s.Rings {
		if !ring.Phase.Deployed() && len(p.Rings) < maxRings {
			p.Rings = append(p.Rings, v1alpha1.RingPromotion{Name: ring.Name, Phase: string(ring.Phase), Commit: ring.Commit, Reason: shortened(ring.Reason, maxReason)})
		}
	}
	return p
}

// promotionSummary returns how many environments are in which phase: "2 deployed, 1 failed". It is empty without promotion.
func promotionSummary(environments []v1alpha1.EnvironmentStatus) string {
	counts := map[string]int{}
	for _, e := range environments {
		if e.Promotion != nil {
			counts[e.Promotion.Phase]++
		}
	}
	var parts []string
	for _, phase := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[phase], phase))
	}
	return strings.Join(parts, ", ")
}
