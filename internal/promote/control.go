package promote

import (
	"context"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Control takes the words of people. They are steps in the ledger, and every promoter on it heeds them from its next round on.
// Whether there is such an environment is for the caller to know. Words that lack something, or in which something is not what
// it should be, are [ledger.ErrInvalid].
type Control struct {
	Ledger Recorder // required
	// Branches are asked whether main has a commit that is ordered; nil where that is for the caller to know.
	Branches Branches
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Branches know their commits.
type Branches interface {
	// Contains reports whether a commit lies in the history of a branch; one that nobody has does not.
	Contains(ctx context.Context, branch schedule.Location, commit string) (bool, error)
}

// Recorder takes steps.
type Recorder interface {
	RecordStep(ctx context.Context, s ledger.Step) error
}

// Word is what a person says about an environment.
type Word struct {
	// Subject is what moves, see [Reading.Subject].
	Subject     string // required
	Environment string // required
	// Commit is a full hash; of an abort or an order.
	Commit string
	// By is who says it, Why is the reason.
	By  string // required
	Why string
}

// Pause lets nothing enter an environment until it is resumed. What is rolled out there already goes on.
func (c *Control) Pause(ctx context.Context, w Word) error {
	return c.say(ctx, Paused, w, false)
}

// Resume ends a pause.
func (c *Control) Resume(ctx context.Context, w Word) error {
	return c.say(ctx, Resumed, w, false)
}

// Abort gives a commit up in an environment: it does not enter, nor go on from there. An order for it lifts that.
func (c *Control) Abort(ctx context.Context, w Word) error {
	return c.say(ctx, Aborted, w, true)
}

// Order makes a commit, also an older one, the next to enter an environment. All rules hold for it as well.
// It replaces an earlier order. To order what is there already runs its verifications again.
// A commit that is not on main is refused. While the repository does not answer, the word of the person counts:
// the commit waits until it is found, and stops nobody else.
func (c *Control) Order(ctx context.Context, w Word) error {
	return c.say(ctx, Ordered, w, true)
}

func (c *Control) say(ctx context.Context, kind decide.StepKind, w Word, aboutCommit bool) error {
	if !aboutCommit {
		w.Commit = EveryCommit
	}
	if err := w.check(aboutCommit); err != nil {
		return err
	}
	if kind == Ordered {
		if err := c.onMain(ctx, w); err != nil {
			return err
		}
	}
	now := time.Now
	if c.Now != nil {
		now = c.Now
	}
	return c.Ledger.RecordStep(ctx, ledger.Step{
		PromotionID: ledger.PromotionID{Subject: ledger.CleanSubject(w.Subject), Commit: w.Commit, Environment: w.Environment},
		Kind:        string(kind), By: secret.Scrub(w.By), Reason: secret.Scrub(w.Why), At: now().UTC().Truncate(time.Microsecond),
	})
}

// patience is how long a repository may take to say whether it has a commit.
const patience = 10 * time.Second

// onMain refuses a commit that the repository does not have on main.
func (c *Control) onMain(ctx context.Context, w Word) error {
	if c.Branches == nil {
		return nil
	}
	asked, stop := context.WithTimeout(ctx, patience)
	defer stop()
	main := schedule.Location{Repo: w.Subject, Branch: schedule.DefaultBase}
	on, err := c.Branches.Contains(asked, main, w.Commit)
	if on || err != nil {
		return ctx.Err() // that the repository does not answer is no reason to refuse
	}
	return fmt.Errorf("%w: commit %s is not on branch %q of %s; git log shows those that are",
		ledger.ErrInvalid, w.Commit, main.Branch, secret.Redact(w.Subject))
}

// check says what is wrong with a word.
func (w *Word) check(aboutCommit bool) error {
	w.Commit = strings.ToLower(w.Commit)
	switch {
	case w.Subject == "":
		return fmt.Errorf("%w: name what moves, by the URL of its repository", ledger.ErrInvalid)
	case len(validation.IsDNS1123Label(w.Environment)) > 0:
		return fmt.Errorf("%w: %q is not the name of an environment", ledger.ErrInvalid, secret.Scrub(w.Environment))
	case strings.TrimSpace(w.By) == "":
		return fmt.Errorf("%w: say who it is", ledger.ErrInvalid)
	case aboutCommit && (len(w.Commit) != 40 && len(w.Commit) != 64 || strings.Trim(w.Commit, "0123456789abcdef") != ""):
		return fmt.Errorf("%w: %q is not a full commit hash", ledger.ErrInvalid, secret.Scrub(w.Commit))
	}
	return nil
}
