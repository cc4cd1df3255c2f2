package operator

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
)

func ledgerPlane() *v1alpha1.ControlPlane {
	return shopPlane(func(p *v1alpha1.ControlPlane) {
		p.Spec.Ledger = &v1alpha1.ControlPlaneLedger{SecretRef: v1alpha1.SecretReference{Name: "ledger"}}
	})
}

func ledgerSecret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "ledger", Namespace: "shop"}, Data: map[string][]byte{"url": []byte("postgres://shop:pass-word@db/shop")}}
}

// The status of an environment says what is promoted to it, what the next commit waits for, and which rings are not deployed yet.
func TestPromotionStatus(t *testing.T) {
	w := newWorld(t, botSecret(), ledgerSecret(), ledgerPlane())
	var rings []promote.RingStanding
	for i := range 12 {
		rings = append(rings, promote.RingStanding{Name: fmt.Sprint("ring-", i), Phase: decide.Applying, Commit: "of-gitops", Reason: strings.Repeat("x", 300)})
	}
	rings[0].Phase = decide.Good
	w.planes.promoted = &promote.Outcome{Environments: []promote.Standing{{
		Environment: "dev", Phase: decide.Applying, Commit: "one", Candidate: "two", Reason: "2 of 4 clusters run it", Rings: rings,
		Proposals: []promote.Proposal{
			{Proposal: decide.Proposal{State: decide.ProposalClosed, URL: "https://git.example.com/6"}}, {Proposal: decide.Proposal{State: decide.ProposalOpen, URL: "https://git.example.com/7"}},
		},
	}}}
	p, result := w.reconcile(t)
	is := p.Status.Environments[0].Promotion
	if len(is.Rings) != maxRings || is.Rings[0].Name != "ring-1" || len([]rune(is.Rings[0].Reason)) != maxReason {
		t.Errorf("the rings are %+v", is.Rings)
	}
	is.Rings = nil
	want := &v1alpha1.EnvironmentPromotion{Phase: "applying", Commit: "one", Next: "two", Reason: "2 of 4 clusters run it", PullRequest: "https://git.example.com/7"}
	if diff := cmp.Diff(want, is); diff != "" {
		t.Errorf("promotion (-want +got):\n%s", diff)
	}
	if want := "1 environment, 0 assignments; promotion: 1 applying"; p.Status.Summary != want {
		t.Errorf("the summary is %q, want %q", p.Status.Summary, want)
	}
	if a := w.planes.opened[0]; a.Ledger.Reveal() != "postgres://shop:pass-word@db/shop" {
		t.Errorf("opened with %+v", a)
	}
	if result.RequeueAfter < time.Minute {
		t.Errorf("the next round is after %s", result.RequeueAfter)
	}
	// A failure is a warning once, and a promoted commit an event. What a round did leads to another one at once.
	o := w.planes.promoted
	o.Did, o.Environments[0].Phase, o.Environments[0].Commit, o.Environments[0].Reason = []string{"dev: promoted two"}, decide.Failed, "two", "no such image"
	if _, result = w.reconcile(t); result.RequeueAfter > 2*time.Second {
		t.Errorf("after a promotion, the next round is after %s", result.RequeueAfter)
	}
	o.Did = nil
	w.reconcile(t)
	var got []string
	for len(w.events.Events) > 0 {
		got = append(got, <-w.events.Events)
	}
	wantEvents := []string{
		"Normal Succeeded 1 environment, 0 assignments; promotion: 1 applying", "Normal Changed dev: promoted two", "Normal Promoted dev: two, no such image",
		"Warning Failed dev: two, no such image",
	}
	if diff := cmp.Diff(wantEvents, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// What keeps promotion from its end is in the condition, with a reason. Environments are scheduled, and what is promoted stays in the status.
func TestPromotionFailures(t *testing.T) {
	for name, tc := range map[string]struct {
		secret       client.Object
		err          error
		reason, want string
		next         time.Duration
	}{
		"no Secret": {reason: ReasonSecret, want: `spec.ledger.secretRef: no Secret "ledger" in namespace "shop"`, next: time.Minute},
		"a Secret of another namespace": {
			secret: &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "ledger", Namespace: "bank"}, Data: map[string][]byte{"url": []byte("postgres://bank")}},
			reason: ReasonSecret, want: `spec.ledger.secretRef: no Secret "ledger" in namespace "shop"`, next: time.Minute,
		},
		"a Secret without the field": {
			secret: &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "ledger", Namespace: "shop"}}, reason: ReasonSecret,
			want: `spec.ledger.secretRef: Secret "ledger" has no field url`, next: time.Minute,
		},
		"an address that is not allowed": {
			secret: ledgerSecret(), err: fmt.Errorf("spec.ledger: %w: postgres://db", ErrNotAllowed), reason: ReasonNotAllowed,
			want: "spec.ledger: the operator does not allow this address: postgres://db", next: time.Minute,
		},
		"a database that does not answer": {secret: ledgerSecret(), err: ErrLedger, reason: ReasonLedger, want: "the ledger cannot be used", next: time.Minute},
		"a branch that cannot be pushed": {
			secret: ledgerSecret(), err: errors.New(`environment "dev": denied`), reason: ReasonPromotionFailed, want: `promote: environment "dev": denied`, next: time.Minute,
		},
		"a branch that moved": {secret: ledgerSecret(), err: pullrequest.ErrMoved, next: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			plane := ledgerPlane()
			plane.Status.Environments = []v1alpha1.EnvironmentStatus{{Name: "dev", Promotion: &v1alpha1.EnvironmentPromotion{Phase: "good", Commit: "one"}}}
			objects := []client.Object{botSecret(), plane}
			if tc.secret != nil {
				objects = append(objects, tc.secret)
			}
			w := newWorld(t, objects...)
			w.planes.errs["promotion"] = tc.err
			p, result := w.reconcile(t)
			if tc.reason != "" {
				wantConditions(t, p, metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: tc.reason, Message: tc.want}, retrying())
			}
			if result.RequeueAfter < tc.next || result.RequeueAfter > tc.next+tc.next/9 {
				t.Errorf("the next round is after %s, want %s", result.RequeueAfter, tc.next)
			}
			if e := p.Status.Environments[0]; e.Promotion == nil || e.Promotion.Commit != "one" || len(w.planes.rounds) != 1 || w.planes.planned != 1 {
				t.Errorf("after %d rounds, the status is %+v", len(w.planes.rounds), e)
			}
		})
	}
}
