package deliver

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kalypso-io/kalypso/internal/deliver/tree"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// PinTargetsRequest says what some targets of an application should have.
type PinTargetsRequest struct {
	// Like is what each of them should have, without Target. Its Environment limits them to one environment; it is required for names that
	// several environments use. // required
	Like PinRequest
	// Targets are the names of targets, and Selector selects others by their labels; nil for none.
	Targets  []string
	Selector labels.Selector
	// Most limits how many targets there may be. Default: no limit.
	Most int
	// Preview only finds out what the pull requests would hold.
	Preview bool
	// Asked says who asks, and when.
	Asked tree.Request
	// Again returns a loader that reads everything again. // required without Preview
	Again func() *Loader
}

// PinResult is what became of the request for a target.
type PinResult string

// The results.
const (
	PinProposed  PinResult = "proposed"  // the pull request changes it
	PinUnchanged PinResult = "unchanged" // it is as requested already
	PinWithdrawn PinResult = "withdrawn" // it is as requested already, and the pull request does not change it any more
	PinRefused   PinResult = "refused"   // it cannot be as requested
)

// RequestedPin is the result for a target.
type RequestedPin struct {
	PinnedTo
	// Result is proposed, unchanged, withdrawn or refused. Reason says why it is refused.
	Result PinResult `json:"result"`
	Reason string    `json:"reason,omitempty"`
	// Replaces is the request that the pull request had for the target before; absent if there was none, or the same.
	Replaces *PinnedTarget `json:"replaces,omitempty"`
}

// RequestedPins are the results for all targets of a request.
type RequestedPins struct {
	Targets []RequestedPin
	// Environments are those whose rounds did not fail, in the order of the targets, and Outcomes their rounds.
	Environments []string
	Outcomes     map[string]*Outcome
}

// PinTargets proposes what targets should have: in one pull request for each environment, which is that of its rounds, and which is never
// merged automatically. The same request again finds the same pull request. Each target has a result of its own; with a single target, what
// refuses it is the error.
func (d *Deliverer) PinTargets(ctx context.Context, past *Past, r PinTargetsRequest) (*RequestedPins, error) {
	a, err := past.application(ctx, PastRequest{Request: r.Like.Request})
	if err != nil {
		return nil, err
	}
	requests := r.each(a)
	switch {
	case len(requests) == 0:
		return nil, fmt.Errorf("no target of %q matches", a.Workload.Name)
	case r.Most > 0 && len(requests) > r.Most:
		return nil, fmt.Errorf("%d targets are selected, and at most %d are changed at once; select fewer", len(requests), r.Most)
	}
	found := &RequestedPins{Targets: []RequestedPin{}, Outcomes: map[string]*Outcome{}}
	pins := map[string]map[string]tree.Pin{}
	var environments []string
	for _, request := range requests {
		to, err := past.Pin(ctx, request)
		if err != nil && len(requests) == 1 {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err != nil {
			found.Targets = append(found.Targets, RequestedPin{
				PinnedTo: PinnedTo{Environment: request.Environment, Target: request.Target}, Result: PinRefused, Reason: err.Error(),
			})
			continue
		}
		found.Targets = append(found.Targets, RequestedPin{PinnedTo: to, Result: PinUnchanged})
		if pins[to.Environment] == nil {
			pins[to.Environment] = map[string]tree.Pin{}
			environments = append(environments, to.Environment)
		}
		pins[to.Environment][to.Target] = to.Pin
	}
	for _, environment := range environments {
		o, err := d.pinIn(ctx, RoundRequest{Request: r.Like.Request, Environment: environment, Pins: pins[environment], Asked: r.Asked}, r)
		if err != nil && len(environments) == 1 {
			return nil, err
		}
		found.settle(environment, o, err)
	}
	return found, ctx.Err()
}

// each returns a request for each target that is named or selected.
func (r PinTargetsRequest) each(a *Application) []PinRequest {
	var requests []PinRequest
	add := func(environment, target string) {
		one := r.Like
		one.Environment, one.Target = environment, target
		if !slices.ContainsFunc(requests, func(o PinRequest) bool { return o.Environment == environment && o.Target == target }) {
			requests = append(requests, one)
		}
	}
	for _, name := range r.Targets {
		if in, target, err := a.findTarget(r.Like.Environment, name); err == nil {
			add(in, target)
		} else {
			add(r.Like.Environment, name) // its result says why
		}
	}
	for _, t := range a.Workload.Spec.DeploymentTargets {
		if r.Selector != nil && (r.Like.Environment == "" || r.Like.Environment == t.Environment) && r.Selector.Matches(labels.Merge(a.Workload.Labels, t.Labels)) {
			add(t.Environment, t.Name)
		}
	}
	return requests
}

// pinIn updates the pull request of an environment, or only finds out what it would hold.
func (d *Deliverer) pinIn(ctx context.Context, round RoundRequest, r PinTargetsRequest) (o *Outcome, err error) {
	if r.Preview {
		o, err = d.Plan(ctx, round)
	} else {
		o, err = d.Persist(ctx, round, r.Again)
	}
	switch {
	case err != nil:
		return o, err
	case o.Draft == nil && o.OffBranch != nil:
		return o, o.OffBranch
	case o.Draft == nil:
		return o, fmt.Errorf("nothing was ever delivered to %q", round.Environment)
	}
	return o, nil
}

// settle adds the result of an environment's round to its targets.
func (r *RequestedPins) settle(environment string, o *Outcome, err error) {
	for i := range r.Targets {
		t := &r.Targets[i]
		if t.Environment != environment || t.Result == PinRefused {
			continue
		}
		if err != nil {
			t.Result, t.Reason = PinRefused, err.Error()
			continue
		}
		t.settle(o)
	}
	if err == nil {
		r.Environments = append(r.Environments, environment)
		r.Outcomes[environment] = o
	}
}

// settle adds what the round of its environment did with the target.
func (t *RequestedPin) settle(o *Outcome) {
	if replaced, ok := o.Replaced[t.Target]; ok {
		t.Replaces = &replaced
	}
	if o.GitOps.Published.Pins()[t.Target] == t.Pin {
		if t.Replaces != nil {
			t.Result = PinWithdrawn
		}
		return
	}
	t.Result = PinProposed // also if the files are the same, and it is pinned to them
	for _, change := range o.Draft.Plan.Targets {
		if change.Name == t.Target && change.Op == plan.Held {
			t.Result, t.Reason = PinRefused, change.Reason.Message
		}
	}
}
