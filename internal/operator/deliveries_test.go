package operator

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

func deliveringPlane() *v1alpha1.ControlPlane {
	p := ledgerPlane()
	p.Spec.Applications = &v1alpha1.ControlPlaneApplications{Deliver: true}
	return p
}

// The status has the first applications by name, with the state of each environment. One that fails does not make the control plane fail.
func TestApplicationStatus(t *testing.T) {
	w := newWorld(t, botSecret(), ledgerSecret(), deliveringPlane())
	w.planes.promoted = &promote.Outcome{}
	w.planes.deliveries = Deliveries{
		Applications: []*query.Application{
			{Name: "shop", Subject: "b", Workspace: "shops", Environments: []query.ApplicationEnvironment{
				{
					Environment: "dev", Phase: decide.Applying, Reason: "0 of 1 cluster runs it", Build: &deliver.Build{Commit: "one", Version: "1.0.1"},
					Change: &query.Change{URL: "https://git.example.com/7"},
				},
				{Environment: "prod", Phase: decide.NoClusters, Error: "the branch is protected"},
			}},
			{Name: "bank", Subject: "a", Error: strings.Repeat("x", 300), Environments: make([]query.ApplicationEnvironment, 12)},
		},
		Left: 2, Problems: []string{"a.yaml:1: whether it is delivered is not known"}, Did: []string{"shop: dev: opened pull request 7"}, Next: time.Now().Add(10 * time.Second),
	}
	p, result := w.reconcile(t)
	if len(p.Status.Applications) != 2 || len(p.Status.Applications[0].Environments) != maxChain || len([]rune(p.Status.Applications[0].Error)) != maxReason {
		t.Fatalf("the applications are %+v", p.Status.Applications)
	}
	want := v1alpha1.ApplicationStatus{Name: "shop", Workspace: "shops", Environments: []v1alpha1.ApplicationEnvironmentStatus{
		{Name: "dev", Phase: "applying", Commit: "one", Version: "1.0.1", Reason: "0 of 1 cluster runs it", PullRequest: "https://git.example.com/7"},
		{Name: "prod", Phase: "noClusters", Error: "the branch is protected"},
	}}
	if diff := cmp.Diff(want, p.Status.Applications[1]); diff != "" {
		t.Errorf("application (-want +got):\n%s", diff)
	}
	if want := "2 applications, 2 failed, 2 waiting; not read: 1, such as a.yaml:1: whether it is delivered is not known"; p.Status.Deliveries != want {
		t.Errorf("got %q, want %q", p.Status.Deliveries, want)
	}
	if c := p.Status.Conditions[0]; c.Type != "Ready" || c.Status != metav1.ConditionTrue {
		t.Errorf("the condition is %+v", c)
	}
	if got, want := <-w.events.Events, "Normal Changed shop: dev: opened pull request 7"; got != want {
		t.Errorf("got the event %q, want %q", got, want)
	}
	if result.RequeueAfter > 2*time.Second {
		t.Errorf("after a pull request, the next round is after %s", result.RequeueAfter)
	}
	for i := range 60 {
		w.planes.deliveries.Applications = append(w.planes.deliveries.Applications, &query.Application{Name: fmt.Sprint("many-", i)})
	}
	if p, _ = w.reconcile(t); len(p.Status.Applications) != maxApplications || !strings.HasPrefix(p.Status.Deliveries, "62 applications") {
		t.Errorf("%d of many applications: %s", len(p.Status.Applications), p.Status.Deliveries)
	}
}

// Without promotion, nothing is delivered, and what was known stays. If no application can be read, Ready says why.
func TestDeliveryFailures(t *testing.T) {
	for name, tc := range map[string]struct{ promotion, deliveries, reason, want string }{
		"no ledger": {promotion: "down", deliveries: "not called", reason: ReasonPromotionFailed, want: "promote: down"},
		"no source": {deliveries: "read branch main: refused", reason: ReasonDeliveryFailed, want: "deliver applications: read branch main: refused"},
	} {
		t.Run(name, func(t *testing.T) {
			plane := deliveringPlane()
			plane.Status.Applications = []v1alpha1.ApplicationStatus{{Name: "shop"}}
			w := newWorld(t, botSecret(), ledgerSecret(), plane)
			w.planes.promoted = &promote.Outcome{}
			if tc.promotion != "" {
				w.planes.errs["promotion"] = errors.New(tc.promotion)
			}
			w.planes.errs["deliveries"] = errors.New(tc.deliveries)
			p, _ := w.reconcile(t)
			wantConditions(t, p, metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: tc.reason, Message: tc.want}, retrying())
			if len(p.Status.Applications) != 1 || p.Status.Environments[0].Error != "" {
				t.Errorf("the status is %+v", p.Status)
			}
		})
	}
}
