package promote

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Control accepts commands of users. They are recorded as steps in the ledger, and take effect in the next round of
// every promoter that uses the ledger. The caller checks that the environment exists.
// An incomplete or invalid command is an [ledger.ErrInvalid].
type Control struct {
	Ledger Recorder // required
	// Branches checks that a requested commit is on main; optional.
	Branches Branches
	// Now is the clock; defaults to time.Now.
	Now func() time.Time
}

// Branches gives access to the history of branches.
type Branches interface {
	// Contains reports whether a commit is in the history of a branch. It returns false for a commit that does not exist.
	Contains(ctx context.Context, branch schedule.Location, commit string) (bool, error)
}

// Recorder records steps.
type Recorder interface {
	RecordStep(ctx context.Context, s ledger.Step) error
}

// Command is a user's command for an environment.
type Command struct {
	// Subject identifies the pipeline, see [State.Subject].
	Subject     string // required
	Environment string // required
	// Commit is a full hash; required for Abort and Order.
	Commit string
	// By is the user, Why the reason, which is required for Bypass.
	By  string // required
	Why string
	// To is the commit to which a rollback returns, of which Commit is the one that is taken back; the newest good one if it is empty. Fast,
	// Now and All are those of [decide.Rollback].
	To             string
	Fast, Now, All bool
	// BreakGlass means that it overrides rules in an emergency; the records say so with the user's name.
	BreakGlass bool
	// Check is the name of a verification; required for Approve and Bypass. Groups are those of the user that it names.
	Check  string
	Groups []string
}

// Pause stops promotions to an environment until Resume. A rollout that has started continues.
func (c *Control) Pause(ctx context.Context, w Command) error {
	return c.say(ctx, Paused, w, false)
}

// Resume ends a pause.
func (c *Control) Resume(ctx context.Context, w Command) error {
	return c.say(ctx, Resumed, w, false)
}

// Abort gives up a commit in an environment: it is not promoted to the environment or from it. A later Order reverts that.
func (c *Control) Abort(ctx context.Context, w Command) error {
	return c.say(ctx, Aborted, w, true)
}

// Order requests that a commit, even an older one, is promoted to an environment next. All other rules still apply.
// It replaces an earlier request. A request for the environment's current commit runs its verifications again.
// A commit that is not on main is refused. If the repository does not respond, the request is accepted:
// the commit waits until it is found, and does not block others.
func (c *Control) Order(ctx context.Context, w Command) error {
	return c.say(ctx, Requested, w, true)
}

// RollBack takes a commit back: the environment or ring returns to an earlier one, and neither the commit nor those that were merged on top
// of it by then return there, or enter later environments and rings, until one is requested or a newer one is merged. The caller checks
// that the user may set Now.
func (c *Control) RollBack(ctx context.Context, w Command) error {
	if w.To == w.Commit {
		return fmt.Errorf("%w: %s is the present commit", ledger.ErrInvalid, secret.Scrub(w.To))
	}
	return c.say(ctx, RolledBack, w, true)
}

// Skip lets a commit pass a ring: later rings do not wait until it has run there. It needs a reason.
func (c *Control) Skip(ctx context.Context, w Command) error {
	if _, ring := decide.SplitRing(w.Environment); ring == "" {
		return fmt.Errorf("%w: %q is not a ring; name ENVIRONMENT/RING", ledger.ErrInvalid, secret.Scrub(w.Environment))
	}
	if strings.TrimSpace(w.Why) == "" {
		return fmt.Errorf("%w: a skipped ring needs a reason", ledger.ErrInvalid)
	}
	return c.say(ctx, Skipped, w, true)
}

// Approve approves a commit in an environment, for a verification that waits for it. The caller checks that the user may:
// an approval of a user who may not is recorded, and does not count.
func (c *Control) Approve(ctx context.Context, w Command) error {
	return c.aboutCheck(ctx, Approved, w)
}

// Bypass does without a verification of a commit in an environment. The caller checks that the user may. The reason is required:
// it is shown wherever the result of the verification is.
func (c *Control) Bypass(ctx context.Context, w Command) error {
	if strings.TrimSpace(w.Why) == "" {
		return fmt.Errorf("%w: say why the verification is bypassed", ledger.ErrInvalid)
	}
	return c.aboutCheck(ctx, Bypassed, w)
}

func (c *Control) aboutCheck(ctx context.Context, kind decide.StepKind, w Command) error {
	if w.Check == "" {
		return fmt.Errorf("%w: name the verification", ledger.ErrInvalid)
	}
	return c.say(ctx, kind, w, true)
}

func (c *Control) say(ctx context.Context, kind decide.StepKind, w Command, aboutCommit bool) error {
	if !aboutCommit {
		w.Commit = EveryCommit
	}
	if err := w.check(aboutCommit); err != nil {
		return err
	}
	if _, ring := decide.SplitRing(w.Environment); kind == Requested && ring == "" {
		if err := c.onMain(ctx, w); err != nil {
			return err
		}
	}
	now := time.Now
	if c.Now != nil {
		now = c.Now
	}
	if w.BreakGlass {
		w.By += " (break-glass)"
	}
	s := ledger.Step{
		PromotionID: ledger.PromotionID{Subject: ledger.CleanSubject(w.Subject), Commit: w.Commit, Environment: w.Environment},
		Kind:        string(kind), By: secret.Scrub(w.By), Reason: secret.Scrub(w.Why), At: now().UTC().Truncate(time.Microsecond),
	}
	if w.Check != "" || kind == RolledBack {
		detail, err := json.Marshal(Detail{Check: w.Check, Groups: w.Groups, To: w.To, Fast: w.Fast, Now: w.Now, All: w.All})
		if err != nil {
			return err
		}
		s.Detail = detail
	}
	return c.Ledger.RecordStep(ctx, s)
}

// lookupTimeout limits how long Order waits for a repository.
const lookupTimeout = 10 * time.Second

// onMain returns an error if the commit is not on main.
func (c *Control) onMain(ctx context.Context, w Command) error {
	if c.Branches == nil {
		return nil
	}
	lookup, stop := context.WithTimeout(ctx, lookupTimeout)
	defer stop()
	main := schedule.Location{Repo: w.Subject, Branch: schedule.DefaultBase}
	on, err := c.Branches.Contains(lookup, main, w.Commit)
	if on || err != nil {
		return ctx.Err() // a repository that does not respond does not refuse the request
	}
	return fmt.Errorf("%w: commit %s is not on branch %q of %s; git log shows those that are",
		ledger.ErrInvalid, w.Commit, main.Branch, secret.Redact(w.Subject))
}

// check validates a command.
func (w *Command) check(aboutCommit bool) error {
	w.Commit = strings.ToLower(w.Commit)
	switch {
	case w.Subject == "":
		return fmt.Errorf("%w: name what moves, by the URL of its repository", ledger.ErrInvalid)
	case !isPlace(w.Environment):
		return fmt.Errorf("%w: %q is not the name of an environment", ledger.ErrInvalid, secret.Scrub(w.Environment))
	case strings.TrimSpace(w.By) == "":
		return fmt.Errorf("%w: say who it is", ledger.ErrInvalid)
	case aboutCommit && (len(w.Commit) != 40 && len(w.Commit) != 64 || strings.Trim(w.Commit, "0123456789abcdef") != ""):
		return fmt.Errorf("%w: %q is not a full commit hash", ledger.ErrInvalid, secret.Scrub(w.Commit))
	}
	return nil
}

// isPlace reports whether a name can be that of an environment, or of a ring.
func isPlace(name string) bool {
	environment, stage := decide.SplitRing(name)
	return len(validation.IsDNS1123Label(environment)) == 0 && (environment == name || len(validation.IsDNS1123Subdomain(stage)) == 0)
}
