package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/deliver/tree"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// targetPinCommand is what "kalypso target rollback", "uninstall" and "deploy" have in common.
type targetPinCommand struct {
	t        *terminal.Terminal
	app      appFlags
	platform platformFlags
	output   *cli.Output
	forges   pullRequestFlags
	place    backend.Flags
	selector string
	dryRun   bool
}

// targetsPinned is the result of the commands.
type targetsPinned struct {
	Targets []deliver.RequestedPin `json:"targets"`
	// Environments are those whose pull requests change, with what is in them.
	Environments []api.ProposedEnvironment `json:"environments"`
}

func (c *targetPinCommand) bind(cmd *cobra.Command) {
	c.app.bind(cmd)
	c.app.bindEnvironment(cmd)
	c.app.bindGitOps(cmd)
	c.output = cli.OutputFlag(cmd, cli.FormatText, cli.FormatJSON, cli.FormatYAML).Of(targetsPinned{})
	bindForges(cmd, &c.forges)
	cmd.Flags().BoolVar(&c.dryRun, "dry-run", false, "show what the pull request would contain, and do nothing")
	c.place.BindServer(cmd, "let the server at a `URL`, which delivers the application, open the pull request in your name")
	c.platform.bind(cmd)
	cmd.ValidArgsFunction = c.app.completeTargets(&c.place, c.t)
}

func (c *targetPinCommand) bindSelector(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&c.selector, "selector", "l", "", "also the targets whose labels match, as in `region=eu,tier!=test`")
}

// run pins the targets that are named or selected.
func (c *targetPinCommand) run(cmd *cobra.Command, names []string, request deliver.PinRequest) error {
	if len(names) == 0 && c.selector == "" {
		return cli.Usage(cmd, "which targets? name them, or select them with --selector region=eu")
	}
	server, err := c.place.ClientUnless(cmd, c.t, nil, pinnedHere...)
	if err != nil {
		return err
	}
	if server != nil {
		return c.ask(cmd, server, names, request)
	}
	if err := c.platform.check(cmd); err != nil {
		return err
	}
	var selected labels.Selector
	if c.selector != "" {
		if selected, err = labels.Parse(c.selector); err != nil {
			return cli.Usage(cmd, "--selector: %v", err)
		}
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
	d, err := s.deliverer(&c.forges, c.t)
	if err != nil {
		return err
	}
	request.Request, request.Environment = s.request, c.app.environment
	past := &deliver.Past{Loader: s.drafter.Loader, Histories: repository.NewDeliveryReader(s.client)}
	found, err := d.PinTargets(ctx, past, deliver.PinTargetsRequest{
		Like: request, Targets: names, Selector: selected, Preview: c.dryRun, Again: s.again,
		Asked: tree.Request{By: repository.Author(c.t.Env).Name, At: c.t.Now().UTC().Truncate(time.Second)},
	})
	if err != nil {
		return pinHint(err)
	}
	s.progress.End()
	r := &targetsPinned{Targets: found.Targets, Environments: []api.ProposedEnvironment{}}
	for _, environment := range found.Environments {
		r.Environments = append(r.Environments, *api.ProposedIn(environment, found.Outcomes[environment]))
	}
	if err := c.output.Write(c.t.Out, r, func(w io.Writer) error { return c.show(w, r) }); err != nil {
		return err
	}
	return r.answer(c.platform.scan)
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
	if slices.ContainsFunc(r.Targets, func(t deliver.RequestedPin) bool { return t.Result == deliver.PinRefused }) {
		return cli.AnswerNo()
	}
	for i := range r.Environments {
		if err := answerOf(&r.Environments[i], scanned); err != nil {
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
		if p.Result == deliver.PinRefused {
			paint = c.t.OutStyle.Red
		}
		t.Row(terminal.Plain(p.Environment), terminal.Plain(p.Target), terminal.Plain(wantedText(p.PinnedTo)), terminal.Painted(paint, string(p.Result)), terminal.Plain(noteOn(p)))
	}
	if err := t.Write(w); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for i := range r.Environments {
		c.outcome(w, &r.Environments[i])
	}
	return nil
}

// outcome says what was done in an environment.
func (c *targetPinCommand) outcome(w io.Writer, e *api.ProposedEnvironment) {
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
	case c.dryRun && e.Closes && e.PullRequest != nil:
		fmt.Fprintf(w, "nothing was done: --dry-run; without it, pull request %d is closed, because nothing is left in it: %s\n", e.PullRequest.Number, terminal.Printable(e.PullRequest.URL))
	case c.dryRun:
		fmt.Fprintln(w, "nothing was done: --dry-run")
	case e.Closes && e.PullRequest != nil:
		fmt.Fprintln(w, "closed, nothing is left in it: "+terminal.Printable(e.PullRequest.URL))
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

// noteOn says why a target is refused, or which request of another user is replaced.
func noteOn(p deliver.RequestedPin) string {
	if p.Reason == "" && p.Replaces != nil {
		return "replaces a request in the open pull request: " + p.Replaces.What(p.Environment)
	}
	return p.Reason
}
