package decide

import (
	"errors"
	"fmt"
	"time"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet/window"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
)

// Rules holds the validated rules of an environment.
type Rules struct {
	// After holds the environments in which a commit must have run first, sorted.
	After    []string
	Approval v1alpha1.Approval
	// Soak is how long a commit must have run there without failure.
	Soak      time.Duration
	Gate      comply.Gate
	Verify    []Check
	OnFailure v1alpha1.FailureAction

	calendar calendar
	// newerWaits means that newer commits wait while only users or others have to act.
	newerWaits bool
	// window is how long after a commit was good here it is returned to without soaks.
	window time.Duration
	// ring marks the rules of a ring: Soak is how long a commit must have run in the ring itself before it enters the next, and a
	// rollback needs no pull request, because every commit of the line was merged.
	ring bool
	// site is set for a stage of rings that has one cluster, which says when it may be changed.
	site *site
	// maxDelay is how long later stages do not wait for such a cluster.
	maxDelay time.Duration
	// manual means that a commit enters the ring only when a user requests it.
	manual bool
}

// byHand reports whether promotions need a merged pull request.
func (r *Rules) byHand() bool { return r.Approval == v1alpha1.ApprovalPullRequest }

// parseRules parses the rules of an environment, except After. state is the default of the gate's.
// If it returns problems, nothing may be promoted with the returned rules.
func parseRules(p *v1alpha1.Promotion, state v1alpha1.GateState) (*Rules, []string) {
	rules := &Rules{Approval: v1alpha1.ApprovalAutomatic, OnFailure: v1alpha1.FailureStop}
	rules.Gate.Healthy = state == v1alpha1.GateHealthy
	rules.Gate.SparesEarlier = state != v1alpha1.GateHealthy
	if p == nil {
		return rules, nil
	}
	var problems []string
	wrong := func(field string, err error) {
		if err != nil {
			problems = append(problems, fmt.Sprintf("spec.promotion.%s: %v", field, err))
		}
	}
	var err error
	rules.Approval, err = choice(p.Approval, v1alpha1.ApprovalAutomatic, v1alpha1.ApprovalPullRequest)
	wrong("approval", err)
	rules.OnFailure, err = choice(p.OnFailure, v1alpha1.FailureStop, v1alpha1.FailureRollback)
	wrong("onFailure", err)
	if p.Soak != nil {
		rules.Soak = p.Soak.Duration
		if rules.Soak < 0 {
			wrong("soak", fmt.Errorf("%s is less than no time", p.Soak.Duration))
		}
	}
	rules.Gate, err = comply.ParseGate(p.Gate)
	wrong("gate", err)
	rules.Gate.SparesEarlier = state != v1alpha1.GateHealthy // an application has to repair what fails
	newer, err := choice(p.Newer, v1alpha1.NewerReplaces, v1alpha1.NewerWaits)
	wrong("newer", err)
	rules.newerWaits = newer == v1alpha1.NewerWaits
	if rules.window = defaultWindow; p.RollbackWindow != nil {
		rules.window = p.RollbackWindow.Duration
	}
	if p.Gate == nil || p.Gate.State == "" {
		rules.Gate.Healthy = state == v1alpha1.GateHealthy
	}
	for i, w := range p.Windows {
		parsed, err := window.Parse(w)
		wrong(fmt.Sprintf("windows[%d]", i), err)
		if err == nil {
			rules.calendar.windows = append(rules.calendar.windows, parsed)
		}
	}
	rules.calendar.freezes = p.Freezes
	for i, f := range p.Freezes {
		if !f.From.Before(&f.To) {
			wrong(fmt.Sprintf("freezes[%d]", i), errors.New("it ends before it begins"))
		}
	}
	var broken []checkProblem
	rules.Verify, broken = parseChecks(p.Verify)
	for _, b := range broken {
		wrong(b.field, b.err)
	}
	return rules, problems
}

// defaultWindow is the default of [v1alpha1.Promotion.RollbackWindow].
const defaultWindow = 72 * time.Hour

// choice validates one of two values. If value is empty, it returns the first.
func choice[T ~string](value, otherwise, other T) (T, error) {
	switch value {
	case "":
		return otherwise, nil
	case otherwise, other:
		return value, nil
	default:
		return otherwise, fmt.Errorf("%q is neither %s nor %s", value, otherwise, other)
	}
}
