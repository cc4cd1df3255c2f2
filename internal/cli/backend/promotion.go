package backend

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/hub/client"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/open"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// The actions that a user can request; the API has the same names.
const (
	Promote  = "promote"
	Pause    = "pause"
	Resume   = "resume"
	Abort    = "abort"
	Rollback = "rollback"
	Approve  = "approve"
	Bypass   = "bypass"
	Skip     = "skip"
)

// Command is what a user requests of an environment's promotion.
type Command struct {
	Action string
	// Environment is the name of an environment, or ENVIRONMENT/RING. Commits of a ring are those of the GitOps branch; a promoted commit
	// stands for the newest one with its manifests.
	Environment string
	// Commit is the commit to promote, abort or roll back to: its hash, or at least seven digits of it.
	// A rollback without one goes back to the last commit that ran well.
	Commit, Why string
	// Fast, Now and All are those of a rollback, see [api.RollbackCommand].
	Fast, Now, All bool
	// DryRun means that the answer says what the command would do, and that nothing is done. It needs a server.
	DryRun bool
	// BreakGlass overrides rules in an emergency, see [api.RollbackCommand].
	BreakGlass bool
	// present is the commit that a rollback takes back.
	present string
	// Check is the verification to approve or bypass. Application is set if the environment is that of an application.
	Check, Application string
	// ControlPlane is only needed if several control planes have an environment of this name.
	ControlPlane string
}

// body returns the command as the API wants it.
func (c *Command) body() any {
	plain := api.Command{Why: c.Why, DryRun: c.DryRun}
	about := api.CommitCommand{Commit: c.Commit, Command: plain}
	switch c.Action {
	case Promote, Abort:
		return about
	case Approve, Bypass:
		return api.CheckCommand{Check: c.Check, BreakGlass: c.BreakGlass, CommitCommand: about}
	case Rollback:
		return api.RollbackCommand{Commit: c.Commit, Fast: c.Fast, Now: c.Now, BreakGlass: c.BreakGlass, All: c.All, Command: plain}
	case Skip:
		return api.SkipCommand{Commit: c.Commit, Why: c.Why, DryRun: c.DryRun}
	default: // pause and resume
		return plain
	}
}

// Controller accepts commands: [promote.Control] on a ledger, or a server.
type Controller interface {
	Do(ctx context.Context, c Command) (api.Accepted, error)
}

// WithController calls do with the controller of the server or ledger that the flags choose.
func (f *Flags) WithController(cmd *cobra.Command, t *terminal.Terminal, do func(Controller) error) error {
	at, err := f.Resolve(cmd, t)
	if err != nil {
		return err
	}
	if at.Server != nil {
		return Hint(do(serverController{at.Server}))
	}
	return WithLedger(cmd.Context(), open.Existing, at.Ledger, func(l ledger.Ledger) error { return do(&localController{l, t}) })
}

// localController writes commands to a ledger, in the name of the local user. The next round on the ledger carries them out.
type localController struct {
	ledger ledger.Ledger
	t      *terminal.Terminal
}

func (l *localController) Do(ctx context.Context, c Command) (api.Accepted, error) {
	switch {
	case c.Application != "":
		return api.Accepted{}, cli.Failed(errors.New("applications are known to servers only"), "name a server with --server")
	case c.DryRun:
		return api.Accepted{}, cli.Failed(errors.New("a ledger alone does not know what a command would do: rounds decide that"), "name a server with --server")
	}
	if err := l.complete(ctx, &c); err != nil {
		return api.Accepted{}, err
	}
	if err := record(ctx, l.t, l.ledger, c.Action, c.Environment, strings.Join(strings.Fields(c.Check+" "+c.Commit+" "+c.Why), " ")); err != nil {
		return api.Accepted{}, err
	}
	w := promote.Command{Subject: c.ControlPlane, Environment: c.Environment, Commit: c.Commit, Check: c.Check, By: localUser(l.t).String(), Why: c.Why}
	control := promote.Control{Ledger: l.ledger, Now: l.t.Now}
	action := control.Order
	switch c.Action {
	case Pause:
		action = control.Pause
	case Resume:
		action = control.Resume
	case Abort:
		action = control.Abort
	case Approve:
		action = control.Approve
	case Bypass:
		action = control.Bypass
	case Skip:
		action = control.Skip
	case Rollback:
		if c.present == "" || c.present == c.Commit {
			break
		}
		action = control.RollBack
		w.Commit, w.To, w.Fast, w.Now, w.All = c.present, c.Commit, c.Fast, c.Now, c.All
	}
	environment, ring := decide.SplitRing(w.Environment)
	accepted := api.Accepted{ControlPlane: w.Subject, Environment: environment, Ring: ring, Commit: c.Commit, Check: w.Check, By: w.By, Why: w.Why}
	return accepted, action(ctx, w)
}

// complete fills in the control plane and the full commit from the ledger.
func (l *localController) complete(ctx context.Context, c *Command) error {
	c.ControlPlane = ledger.CleanRepository(c.ControlPlane)
	steps, err := l.ledger.Promotions(ctx, ledger.StepQuery{Subject: c.ControlPlane})
	if err != nil {
		return err
	}
	if c.ControlPlane == "" {
		if c.ControlPlane, err = subjectOf(steps, c.Environment); err != nil {
			return err
		}
	}
	if environment, ring := decide.SplitRing(c.Environment); ring != "" {
		return l.completeRing(ctx, c, steps, environment, ring)
	}
	if c.Commit, err = fullCommit(steps, c.ControlPlane, c.Commit); err != nil || c.Action != Rollback {
		return err
	}
	return l.completeRollback(ctx, c)
}

// completeRing fills in the commit of a command for a ring.
func (l *localController) completeRing(ctx context.Context, c *Command, steps []ledger.Step, environment, ring string) (err error) {
	var names, batches []string
	for _, s := range steps {
		if at, stage := decide.SplitRing(s.Environment); at == environment && stage != "" && s.Subject == c.ControlPlane {
			names = append(names, stage, fleet.RingOfStage(stage))
			if stage == ring || fleet.RingOfStage(stage) == ring {
				batches = append(batches, s.Environment)
			}
		}
	}
	if len(batches) == 0 {
		return query.Unknown("ring of "+environment, ring, names)
	}
	if c.Commit != "" {
		commits, err := l.ledger.Commits(ctx, ledger.CommitQuery{Environment: environment, Kind: ledger.BranchPlatform})
		if err != nil {
			return err
		}
		if c.Commit, err = query.RingCommitOf(commits, strings.ToLower(c.Commit)); err != nil {
			return err
		}
	}
	if c.Action != Rollback {
		return nil
	}
	at := *c
	at.Environment = slices.Min(batches) // batches go together
	err = l.completeRollback(ctx, &at)
	c.Commit, c.present = at.Commit, at.present
	return err
}

// completeRollback fills in the commit that a rollback takes back: the one that was published last. Without a commit to go back to, the next
// round chooses it, and this only says whether there is one.
func (l *localController) completeRollback(ctx context.Context, c *Command) error {
	steps, err := l.ledger.Steps(ctx, ledger.StepQuery{Subject: c.ControlPlane, Environment: c.Environment})
	if err != nil {
		return err
	}
	if c.Commit == "" && promote.LastGood(steps, "") == "" {
		return cli.Failed(fmt.Errorf("the ledger has no earlier commit that ran well in %q", c.Environment), "name the commit to roll back to with --commit")
	}
	for _, s := range steps {
		if s.Kind == string(promote.Published) || s.Kind == string(decide.StepStarted) {
			c.present = s.Commit
			return nil
		}
	}
	return nil // nothing is there that could be taken back: the commit is requested
}

// subjectOf returns the only control plane that ever promoted a commit to an environment.
func subjectOf(steps []ledger.Step, environment string) (string, error) {
	subjects := map[string]bool{}
	for _, s := range steps {
		if s.Environment == environment {
			subjects[s.Subject] = true
		}
	}
	switch names := slices.Sorted(maps.Keys(subjects)); len(names) {
	case 1:
		return names[0], nil
	case 0:
		return "", cli.Failed(fmt.Errorf("this ledger has no promotion to environment %q", environment), "name the URL of its control plane with --control-plane")
	default:
		return "", cli.Failed(fmt.Errorf("several control planes have an environment %q", environment), "choose one with --control-plane: "+strings.Join(names, ", "))
	}
}

var (
	fullCommitID = regexp.MustCompile(`^[0-9a-f]{40}$`)
	partCommitID = regexp.MustCompile(`^[0-9a-f]{7,39}$`)
)

// fullCommit completes an abbreviated commit that was promoted to any environment.
func fullCommit(steps []ledger.Step, subject, commit string) (string, error) {
	switch {
	case commit == "" || fullCommitID.MatchString(commit):
		return commit, nil
	case !partCommitID.MatchString(commit):
		return "", &cli.Failure{Code: cli.ExitUsage, Err: fmt.Errorf("%q is not a commit: want its hash, or at least seven digits of it", commit)}
	}
	found := map[string]bool{}
	for _, s := range steps {
		if s.Subject == subject && strings.HasPrefix(s.Commit, commit) {
			found[s.Commit] = true
		}
	}
	switch all := slices.Sorted(maps.Keys(found)); len(all) {
	case 1:
		return all[0], nil
	case 0:
		return "", cli.Failed(fmt.Errorf("no promoted commit begins with %s", commit), "use the full hash: git rev-parse shows it")
	default:
		return "", cli.Failed(fmt.Errorf("several commits begin with %s", commit), "use more digits")
	}
}

// serverController calls a server, which identifies the user by the token.
type serverController struct{ client *client.Client }

func (s serverController) Do(ctx context.Context, c Command) (api.Accepted, error) {
	if c.Application != "" {
		return Applications{s.client}.Do(ctx, c.Application, c)
	}
	environment, ring := decide.SplitRing(c.Environment)
	at := api.RingPath{EnvironmentPath: api.EnvironmentPath{Name: environment, ControlPlane: c.ControlPlane}, Ring: ring}
	return client.Tell[api.Accepted](ctx, s.client, "environments/{name}/"+c.Action, at, c.body())
}
