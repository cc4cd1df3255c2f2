package operator

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// planPullRequests posts on the open pull requests of the control plane what they change, and sets the line about them in the status. A pull request
// that cannot be planned is no failure of the control plane: anyone who can push a branch can open one. The error is that of an operator that stops.
func (r *run) planPullRequests(ctx context.Context) error {
	spec := &r.plane.Spec
	if spec.Source.Repository == "" || spec.PlanPullRequests == v1alpha1.PlanNone {
		r.plane.Status.PlannedPullRequests = ""
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, r.limit())
	defer cancel()
	result, err := r.tenant.PlanPullRequests(bounded)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		r.plane.Status.PlannedPullRequests = message("not planned: " + err.Error())
	default:
		r.plane.Status.PlannedPullRequests = message(result.text())
	}
	for _, did := range result.Did {
		r.Events.Eventf(r.plane, nil, corev1.EventTypeNormal, EventPlanned, "Plan", "%s", message(did))
	}
	return nil
}

// text returns one line: "3 planned, 1 not planned, from forks, 1 failed: pull request 7: ...". It is empty if no pull request is open.
func (p PullRequests) text() string {
	var parts []string
	if p.Planned > 0 {
		parts = append(parts, fmt.Sprintf("%d planned", p.Planned))
	}
	if p.NotPlanned > 0 {
		parts = append(parts, fmt.Sprintf("%d not planned, from forks", p.NotPlanned))
	}
	if p.Left > 0 {
		parts = append(parts, fmt.Sprintf("%d waiting", p.Left))
	}
	if n := len(p.Failed); n > 0 {
		parts = append(parts, fmt.Sprintf("%d failed: %s", n, p.Failed[0]))
	}
	return strings.Join(parts, ", ")
}
