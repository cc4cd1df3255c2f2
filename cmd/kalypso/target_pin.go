package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/deliver/tree"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
)

// targetPinCommand is what "kalypso target rollback", "uninstall" and "deploy" have in common.
type targetPinCommand struct {
	t        *terminal.Terminal
	app      appFlags
	platform platformFlags
	output   *cli.Output
	forges   pullRequestFlags
	selector string
	dryRun   bool
}

// The results for a target.
const (
	pinProposed  = "proposed"  // the pull request changes it
	pinUnchanged = "unchanged" // it is as requested already
	pinRefused   = "refused"   // it cannot be as requested
)

// pinnedTarget is the result for a target.
type pinnedTarget struct {
	deliver.PinnedTo
	// Result is proposed, unchanged or refused. Reason says why it is refused.
	Result string `json:"result"`
	Reason string `json:"reason,omitempty"`
}

// targetsPinned is the result of the commands.
type targetsPinned struct {
	Targets []pinnedTarget `json:"targets"`
	// Environments are those whose pull requests change, with what is in them.
	Environments []*appDeployed `json:"environments"`
}

func (c *targetPinCommand) bind(cmd *cobra.Command) {
	c.app.bind(cmd)
	c.app.bindEnvironment(cmd)
	c.app.bindGitOps(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(targetsPinned{})
	bindForges(cmd, &c.forges)
	cmd.Flags().BoolVar(&c.dryRun, "dry-run", false, "show what the pull request would hold, and do nothing")
	c.platform.bind(cmd)
}

func (c *targetPinCommand) bindSelector(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&c.selector, "selector", "l", "", "also the targets whose labels match, as in `region=eu,tier!=test`")
}

// run pins the targets that are named or selected.
func (c *targetPinCommand) run(cmd *cobra.Command, names []string, request deliver.PinRequest) error {
	if len(names) == 0 && c.selector == "" {
		return cli.Usage(cmd, "which targets? name them, or select them with --selector region=eu")
	}
	if err := c.platform.check(cmd); err != nil {
		return err
	}
	selected, err := labels.Parse(c.selector)
	if err != nil {
		return cli.Usage(cmd, "--selector: %v", err)
	}
	ctx := cmd.Context()
	s, err := c.app.open(ctx, c.t)
	if err != nil {
		return err
	}
	defer s.close()
	_, end, err := c.platform.open(ctx, s, c.t)
	if err != nil {
		return err
	}
	defer end()
	a, err := s.drafter.Loader.Application(ctx, s.request, "")
	if err != nil {
		return err
	}
	request.Request = s.request
	requests := c.requests(a, names, selected, request)
	if len(requests) == 0 {
		return cli.Failed(fmt.Errorf("no target of %q matches %q", a.Workload.Name, c.selector), "the labels of targets are in the Workload")
	}
	d, err := s.deliverer(&c.forges, c.t)
	if err != nil {
		return err
	}
	r, err := c.pin(ctx, s, d, requests)
	if err != nil {
		return err
	}
	s.progress.End()
	if err := c.output.Write(c.t.Out, r, func(w io.Writer) error { return c.show(w, r) }); err != nil {
		return err
	}
	return r.answer(c.platform.scan)
}

// requests returns a request for each target that is named or selected.
func (c *targetPinCommand) requests(a *deliver.Application, names []string, selected labels.Selector, like deliver.PinRequest) []deliver.PinRequest {
	var requests []deliver.PinRequest
	add := func(environment, target string) {
		r := like
		if r.Environment, r.Target = environment, target; !slices.ContainsFunc(requests, func(o deliver.PinRequest) bool { return o.Environment == environment && o.Target == target }) {
			requests = append(requests, r)
		}
	}
	for _, name := range names {
		add(c.app.environment, name)
	}
	if c.selector == "" {
		return requests
	}
	for _, t := range a.Workload.Spec.DeploymentTargets {
		if (c.app.environment == "" || c.app.environment == t.Environment) && selected.Matches(labels.Merge(a.Workload.Labels, t.Labels)) {
			add(t.Environment, t.Name)
		}
	}
	return requests
}

// pin proposes the pins of all targets: one pull request for each environment. With a single target, what refuses it is an error.
func (c *targetPinCommand) pin(ctx context.Context, s *appSession, d *deliver.Deliverer, requests []deliver.PinRequest) (*targetsPinned, error) {
	r := &targetsPinned{Targets: []pinnedTarget{}, Environments: []*appDeployed{}}
	past := &deliver.Past{Loader: s.drafter.Loader, Histories: repository.NewDeliveryReader(s.client)}
	pins := map[string]map[string]tree.Pin{}
	var environments []string
	for _, request := range requests {
		to, err := past.Pin(ctx, request)
		if err != nil && len(requests) == 1 {
			return nil, pinHint(err)
		}
		if err != nil {
			r.Targets = append(r.Targets, pinnedTarget{deliver.PinnedTo{Environment: request.Environment, Target: request.Target}, pinRefused, err.Error()})
			continue
		}
		r.Targets = append(r.Targets, pinnedTarget{PinnedTo: to, Result: pinUnchanged})
		if pins[to.Environment] == nil {
			pins[to.Environment] = map[string]tree.Pin{}
			environments = append(environments, to.Environment)
		}
		pins[to.Environment][to.Target] = to.Pin
	}
	for _, environment := range environments {
		o, err := c.round(ctx, s, d, deliver.RoundRequest{Request: s.request, Environment: environment, Pins: pins[environment]})
		if err != nil && len(environments) == 1 {
			return nil, pinHint(err)
		}
		if err == nil && o.Draft == nil {
			err = fmt.Errorf("nothing was ever delivered to %q", environment)
			if o.OffBranch != nil {
				err = o.OffBranch
			}
		}
		r.settle(environment, o, err)
	}
	return r, ctx.Err()
}

// round updates the pull request of an environment, or only says what it would hold.
func (c *targetPinCommand) round(ctx context.Context, s *appSession, d *deliver.Deliverer, request deliver.RoundRequest) (*deliver.Outcome, error) {
	if c.dryRun {
		return d.Plan(ctx, request)
	}
	return d.Persist(ctx, request, s.again)
}

// settle adds the result of an environment's round to its targets.
func (r *targetsPinned) settle(environment string, o *deliver.Outcome, err error) {
	for i := range r.Targets {
		t := &r.Targets[i]
		if t.Environment != environment || t.Result == pinRefused {
			continue
		}
		if err != nil {
			t.Result, t.Reason = pinRefused, err.Error()
			continue
		}
		for _, change := range o.Draft.Plan.Targets {
			switch {
			case change.Name != t.Target:
			case change.Op == plan.Held:
				t.Result, t.Reason = pinRefused, change.Reason.Message
			default:
				t.Result = pinProposed
			}
		}
		if t.Result == pinUnchanged && o.GitOps.Published.Pins()[t.Target] != t.Pin {
			t.Result = pinProposed // the files are the same, and it is pinned to them
		}
	}
	if err == nil {
		r.Environments = append(r.Environments, deployedOf(environment, o))
	}
}

// pinHint adds what to do next.
func pinHint(err error) error {
	var other *deliver.OtherChangesError
	switch {
	case errors.As(err, &other):
		return cli.Failed(err, other.Hint())
	case errors.Is(err, deliver.ErrCurrent):
		return cli.Failed(err, "kalypso target revisions lists the others")
	}
	return err
}

// answer is no when a target is refused, or the checks refuse something.
func (r *targetsPinned) answer(scanned bool) error {
	if slices.ContainsFunc(r.Targets, func(t pinnedTarget) bool { return t.Result == pinRefused }) {
		return cli.AnswerNo()
	}
	for _, e := range r.Environments {
		if err := e.answer(scanned); err != nil {
			return err
		}
	}
	return nil
}

func (c *targetPinCommand) show(w io.Writer, r *targetsPinned) error {
	for _, e := range r.Environments {
		if err := (output.ApplicationPlan{Plan: e.Plan, Findings: e.Findings, Style: c.t.OutStyle}).Write(w); err != nil {
			return err
		}
		writeScans(w, c.t.OutStyle, e.Scans)
		fmt.Fprintln(w)
	}
	var t terminal.Table
	t.Row(c.t.OutStyle.Heads("ENVIRONMENT", "TARGET", "WANTED", "RESULT", "")...)
	for _, p := range r.Targets {
		paint := c.t.OutStyle.Green
		if p.Result == pinRefused {
			paint = c.t.OutStyle.Red
		}
		t.Row(terminal.Plain(p.Environment), terminal.Plain(p.Target), terminal.Plain(wantedText(p.PinnedTo)), terminal.Painted(paint, p.Result), terminal.Plain(p.Reason))
	}
	if err := t.Write(w); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, e := range r.Environments {
		c.outcome(w, e)
	}
	return nil
}

// outcome says what was done in an environment.
func (c *targetPinCommand) outcome(w io.Writer, e *appDeployed) {
	for _, line := range e.Done {
		fmt.Fprintln(w, terminal.Printable(line))
	}
	if e.Waits != "" {
		fmt.Fprintln(w, "waits: "+terminal.Printable(e.Waits))
	}
	if check.Worst(e.Findings) == check.Refuse {
		fmt.Fprintln(w, "the checks refuse it: merge it only if the findings are accepted")
	}
	switch {
	case c.dryRun:
		fmt.Fprintln(w, "nothing was done: --dry-run")
	case e.PullRequest == nil && e.Waits == "":
		fmt.Fprintln(w, "no pull request: "+terminal.Printable(e.Environment)+" is as requested")
	case e.PullRequest != nil && len(e.Done) == 0:
		fmt.Fprintln(w, "up to date: "+terminal.Printable(e.PullRequest.URL))
	case e.PullRequest != nil:
		fmt.Fprintln(w, terminal.Printable(e.PullRequest.URL))
	}
}

// wantedText says what a target should have.
func wantedText(to deliver.PinnedTo) string {
	switch {
	case to.Pin.Uninstalled:
		return to.Pin.String()
	case to.Pin.IsZero():
		return "follows " + to.Environment
	}
	text := to.Pin.String()
	if name := to.Build.Name(); name != "" {
		text += " (" + name + ")"
	}
	return text
}
