package operator

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule"
)

type outcome = schedule.Outcome

// maxProblems is how many problems an environment's status has.
const maxProblems = 5

// movedMessage is that of Reconciling after a branch moved during a round.
const movedMessage = "a branch moved during the round, which is run again"

// started sets the conditions of a round that begins.
func (r *run) started() {
	if meta.FindStatusCondition(r.plane.Status.Conditions, v1alpha1.ConditionReady) == nil {
		r.condition(v1alpha1.ConditionReady, metav1.ConditionUnknown, ReasonProgressing, "the first round is running")
	}
	meta.RemoveStatusCondition(&r.plane.Status.Conditions, v1alpha1.ConditionStalled)
	r.condition(v1alpha1.ConditionReconciling, metav1.ConditionTrue, ReasonProgressing, "a round is running")
}

// summarize sets the conditions and the line about all environments. It is the only place that decides on Ready.
func (r *run) summarize(err error) {
	status := &r.plane.Status
	was := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady).DeepCopy()
	status.LastHandledReconcileAt = r.plane.Annotations[v1alpha1.AnnotationRequestedAt]
	status.Summary = summaryOf(status.Environments)
	meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionStalled)
	meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionReconciling)
	var stall *stalled
	switch {
	case err == nil && r.moved:
		r.condition(v1alpha1.ConditionReconciling, metav1.ConditionTrue, ReasonProgressing, movedMessage)
	case err == nil:
		r.condition(v1alpha1.ConditionReady, metav1.ConditionTrue, ReasonSucceeded, status.Summary)
	case errors.As(err, &stall):
		r.condition(v1alpha1.ConditionReady, metav1.ConditionFalse, stall.reason, message(err.Error()))
		r.condition(v1alpha1.ConditionStalled, metav1.ConditionTrue, stall.reason, message(err.Error()))
	default:
		r.condition(v1alpha1.ConditionReady, metav1.ConditionFalse, reasonOf(err), message(err.Error()))
		r.condition(v1alpha1.ConditionReconciling, metav1.ConditionTrue, ReasonProgressing, "the round is run again")
	}
	status.ObservedGeneration = r.plane.Generation
	r.announce(was)
}

// announce records an event if Ready has become false for another reason, or true again.
func (r *run) announce(was *metav1.Condition) {
	is := meta.FindStatusCondition(r.plane.Status.Conditions, v1alpha1.ConditionReady)
	if is == nil || was != nil && was.Status == is.Status && (was.Message == is.Message || is.Status == metav1.ConditionTrue) {
		return
	}
	kind := corev1.EventTypeNormal
	if is.Status == metav1.ConditionFalse {
		kind = corev1.EventTypeWarning
	}
	r.Events.Eventf(r.plane, nil, kind, is.Reason, "Round", "%s", is.Message)
}

func (r *run) condition(kind string, is metav1.ConditionStatus, reason, text string) {
	meta.SetStatusCondition(&r.plane.Status.Conditions, metav1.Condition{
		Type: kind, Status: is, Reason: reason, Message: text, ObservedGeneration: r.plane.Generation,
	})
}

// setEnvironment sets the status of an environment after a round. After an error, it keeps the result of the last successful round.
func (r *run) setEnvironment(name string, o *outcome, err error) {
	status := &r.plane.Status
	i, found := slices.BinarySearchFunc(status.Environments, name, func(e v1alpha1.EnvironmentStatus, name string) int {
		return strings.Compare(e.Name, name)
	})
	if !found {
		status.Environments = slices.Insert(status.Environments, i, v1alpha1.EnvironmentStatus{Name: name})
	}
	if err != nil {
		status.Environments[i].Error = message(err.Error())
		return
	}
	e := environmentStatus(name, o)
	e.Promotion = status.Environments[i].Promotion
	status.Environments[i] = e
}

func environmentStatus(name string, o *outcome) v1alpha1.EnvironmentStatus {
	e := v1alpha1.EnvironmentStatus{Name: name, Inputs: o.Inputs.String(), Commit: o.Head, Waits: message(o.Waits)}
	if o.PullRequest != nil && !isMerged(o.PullRequest) {
		e.PullRequest = o.PullRequest.URL
	}
	counts := &v1alpha1.EnvironmentCounts{Files: int32(o.Files)} //nolint:gosec // bounded by the size of a tree
	if o.Plan != nil {
		counts.Assignments, counts.Held = int32(o.Plan.Counts.Left()), int32(o.Plan.Counts.Held) //nolint:gosec // bounded by the size of a tree
		for _, p := range o.Plan.Problems {
			switch p.Severity {
			case fleet.SeverityError:
				counts.Errors++
			case fleet.SeverityWarning:
				counts.Warnings++
			default:
				continue
			}
			if len(e.Problems) < maxProblems {
				e.Problems = append(e.Problems, problemText(p))
			}
		}
	}
	e.Counts = counts
	return e
}

// problemText returns a problem in one line: "dev SchedulingPolicy dev/all: error: ...; what to do".
func problemText(p fleet.Problem) string {
	text := string(p.Severity) + ": " + p.Message
	if at := strings.TrimSpace(p.Position.Source + " " + p.Position.String()); at != "" {
		text = at + ": " + text
	}
	if p.Hint != "" {
		text += "; " + p.Hint
	}
	return message(text)
}

// summaryOf returns one line about all environments: "2 environments, 12 assignments, 1 held, 1 error, 1 open pull request; promotion: 2 deployed".
func summaryOf(environments []v1alpha1.EnvironmentStatus) string {
	var sum v1alpha1.EnvironmentCounts
	var open, failed int32
	for _, e := range environments {
		if c := e.Counts; c != nil {
			sum.Assignments += c.Assignments
			sum.Held += c.Held
			sum.Errors += c.Errors
		}
		if e.PullRequest != "" {
			open++
		}
		if e.Error != "" {
			failed++
		}
	}
	parts := []string{count(int32(len(environments)), "environment"), count(sum.Assignments, "assignment")} //nolint:gosec // at most 64
	if sum.Held > 0 {
		parts = append(parts, fmt.Sprintf("%d held", sum.Held))
	}
	if sum.Errors > 0 {
		parts = append(parts, count(sum.Errors, "error"))
	}
	if open > 0 {
		parts = append(parts, count(open, "open pull request"))
	}
	if failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", failed))
	}
	summary := strings.Join(parts, ", ")
	if phases := promotionSummary(environments); phases != "" {
		summary += "; promotion: " + phases
	}
	return summary
}

func count(n int32, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
