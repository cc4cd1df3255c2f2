package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// maxStatuses is how many statuses of documents one reconciliation writes. The next one, soon after, writes the others.
const maxStatuses = 200

// documentStatus is the status of a document's object, and what identifies the object.
type documentStatus struct {
	name   string // as problems name it
	object *unstructured.Unstructured
	status v1alpha1.Status
}

// statusOf returns the status of an object, without its content.
func statusOf(o *unstructured.Unstructured) documentStatus {
	d := documentStatus{name: nameOf(o), object: &unstructured.Unstructured{}}
	d.object.SetGroupVersionKind(o.GroupVersionKind())
	d.object.SetNamespace(o.GetNamespace())
	d.object.SetName(o.GetName())
	d.object.SetUID(o.GetUID())
	d.object.SetGeneration(o.GetGeneration())
	d.object.SetLabels(o.GetLabels())
	if status, ok := o.Object["status"].(map[string]any); ok {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(status, &d.status); err != nil {
			d.status = v1alpha1.Status{} // it is written again
		}
	}
	return d
}

// writeDocumentStatuses sets the condition Ready of the documents to what the rounds found. It writes nothing if a round failed: then it is
// not known.
func (r *run) writeDocumentStatuses(ctx context.Context, rounds []assignmentsOf) error {
	if r.documents == nil {
		return nil
	}
	problems := map[string][]fleet.Problem{}
	for _, round := range rounds {
		if round.err != nil || round.outcome == nil || round.outcome.Plan == nil {
			return nil
		}
		for _, p := range round.outcome.Plan.Problems {
			problems[p.Position.File] = append(problems[p.Position.File], p)
		}
	}
	others, err := r.selectorsBefore(ctx)
	if err != nil {
		return err
	}
	written := 0
	for _, d := range r.documents.statuses {
		if slices.ContainsFunc(others, func(s labels.Selector) bool { return s.Matches(labels.Set(d.object.GetLabels())) }) {
			continue
		}
		if written == maxStatuses {
			r.soonest(time.Now())
			return nil
		}
		wrote, err := r.writeDocumentStatus(ctx, d, problems[d.name])
		switch {
		case apierrors.IsForbidden(err), meta.IsNoMatchError(err):
			return nil // a role of before: the documents are used all the same
		case err != nil:
			return explain(fmt.Errorf("write the status of %s: %w", d.name, err))
		case wrote:
			written++
		}
	}
	return nil
}

// selectorsBefore returns the selectors of the control planes of the namespace that come before this one by name. If several read an object, the first
// one sets its status.
func (r *run) selectorsBefore(ctx context.Context) (all []labels.Selector, err error) {
	var planes v1alpha1.ControlPlaneList
	if err := r.Client.List(ctx, &planes, client.InNamespace(r.plane.Namespace)); err != nil {
		return nil, err
	}
	for _, p := range planes.Items {
		source := p.Spec.Source.Objects
		if p.Name >= r.plane.Name || source == nil || p.Spec.Suspend || !p.DeletionTimestamp.IsZero() {
			continue
		}
		selector := labels.Everything()
		if source.Selector != nil {
			if selector, err = metav1.LabelSelectorAsSelector(source.Selector); err != nil {
				continue // it reads nothing
			}
		}
		all = append(all, selector)
	}
	return all, nil
}

// writeDocumentStatus sets the condition Ready of a document, unless it is so already, and records an event if it changes to or from false.
func (r *run) writeDocumentStatus(ctx context.Context, d documentStatus, problems []fleet.Problem) (wrote bool, err error) {
	ready := readiness(problems)
	ready.ObservedGeneration = d.object.GetGeneration()
	was := meta.FindStatusCondition(d.status.Conditions, v1alpha1.ConditionReady).DeepCopy()
	changed := meta.SetStatusCondition(&d.status.Conditions, ready)
	if !changed && d.status.ObservedGeneration == ready.ObservedGeneration {
		return false, nil
	}
	d.status.ObservedGeneration = ready.ObservedGeneration
	// The UID refuses an object that has replaced this one.
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": d.object.GetUID()}, "status": d.status})
	if err != nil {
		return false, err
	}
	err = r.Client.Status().Patch(ctx, d.object.DeepCopy(), client.RawPatch(types.MergePatchType, patch))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return false, nil // deleted or replaced since it was read
	}
	if err != nil {
		return false, err
	}
	switch {
	case ready.Status == metav1.ConditionFalse && (was == nil || was.Message != ready.Message):
		r.Events.Eventf(d.object, nil, corev1.EventTypeWarning, ready.Reason, "Validate", "%s", ready.Message)
	case ready.Status == metav1.ConditionTrue && was != nil && was.Status == metav1.ConditionFalse:
		r.Events.Eventf(d.object, nil, corev1.EventTypeNormal, ready.Reason, "Validate", "%s", ready.Message)
	}
	return true, nil
}

// readiness returns the condition Ready of a document with problems.
func readiness(problems []fleet.Problem) metav1.Condition {
	c := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: ReasonAccepted, Message: "no problems"}
	var texts []string
	for _, p := range problems {
		if p.Severity != fleet.SeverityError && p.Severity != fleet.SeverityWarning {
			continue
		}
		if p.Severity == fleet.SeverityError {
			c.Status, c.Reason = metav1.ConditionFalse, ReasonInvalid
		}
		if len(texts) < maxProblems {
			p.Position = fleet.Position{} // it is the object
			texts = append(texts, problemText(p))
		}
	}
	if len(texts) > 0 {
		slices.Sort(texts) // errors come first
		c.Message = message(strings.Join(slices.Compact(texts), "\n"))
	}
	return c
}
