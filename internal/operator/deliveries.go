package operator

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/hub/query"
)

const (
	// maxApplications is how many applications the status of a control plane has, and maxChain how many environments of each.
	maxApplications, maxChain = 50, 8
)

// deliver runs a round of each application, and sets their status. An application that cannot be delivered is no failure of the control plane: it
// belongs to another team.
func (r *run) deliver(ctx context.Context) error {
	if a := r.plane.Spec.Applications; a == nil || !a.Deliver || r.plane.Spec.Ledger == nil || r.plane.Spec.Source.Repository == "" {
		r.plane.Status.Applications, r.plane.Status.Deliveries = nil, ""
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, r.limit())
	defer cancel()
	found, err := r.tenant.Deliver(bounded)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	for _, did := range found.Did {
		r.Events.Eventf(r.plane, nil, corev1.EventTypeNormal, EventChanged, "Deliver", "%s", message(did))
	}
	if err != nil {
		return &waiting{ReasonDeliveryFailed, fmt.Errorf("deliver applications: %w", err)}
	}
	if len(found.Did) > 0 {
		r.soonest(time.Now())
	}
	r.soonest(found.Next)
	slices.SortFunc(found.Applications, func(a, b *query.Application) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Subject, b.Subject))
	})
	r.plane.Status.Deliveries = message(deliverySummary(found))
	r.plane.Status.Applications = nil
	for _, a := range found.Applications[:min(len(found.Applications), maxApplications)] {
		r.plane.Status.Applications = append(r.plane.Status.Applications, applicationStatus(a))
	}
	return nil
}

func applicationStatus(a *query.Application) v1alpha1.ApplicationStatus {
	s := v1alpha1.ApplicationStatus{Name: a.Name, Workspace: a.Workspace, Error: shortened(a.Error, maxReason)}
	for _, e := range a.Environments[:min(len(a.Environments), maxChain)] {
		is := v1alpha1.ApplicationEnvironmentStatus{
			Name: e.Environment, Phase: string(e.Phase), Reason: shortened(e.Reason, maxReason), Error: shortened(e.Error, maxReason),
		}
		if e.Build != nil {
			is.Commit, is.Version = e.Build.Commit, shortened(e.Build.Version, maxReason)
		}
		if e.Change != nil {
			is.PullRequest = e.Change.URL
		}
		s.Environments = append(s.Environments, is)
	}
	return s
}

// deliverySummary returns one line: "12 applications, 1 failed, 3 waiting; workloads/shop.yaml:3: ...".
func deliverySummary(d Deliveries) string {
	failed := 0
	for _, a := range d.Applications {
		if a.Error != "" || slices.ContainsFunc(a.Environments, func(e query.ApplicationEnvironment) bool { return e.Error != "" }) {
			failed++
		}
	}
	text := count(int32(len(d.Applications)), "application") //nolint:gosec // far fewer
	if failed > 0 {
		text += fmt.Sprintf(", %d failed", failed)
	}
	if d.Left > 0 {
		text += fmt.Sprintf(", %d waiting", d.Left)
	}
	if len(d.Problems) > 0 {
		text += fmt.Sprintf("; not read: %d, such as %s", len(d.Problems), d.Problems[0])
	}
	return text
}
