package promoting

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promotion"
	"github.com/kalypso-io/kalypso/internal/secret"
)

// Control takes the words of people. They are steps in the ledger, and every promoter on it heeds them from its next round on.
// Whether there is such an environment or commit is for the caller to know.
type Control struct {
	Ledger Recorder // required
	// Now is the clock; nil means time.Now.
	Now func() time.Time
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

// ErrInvalid says that a word lacks something, or that something in it is not what it should be.
var ErrInvalid = errors.New("invalid")

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
func (c *Control) Order(ctx context.Context, w Word) error {
	return c.say(ctx, Ordered, w, true)
}

func (c *Control) say(ctx context.Context, kind promotion.StepKind, w Word, aboutCommit bool) error {
	if !aboutCommit {
		w.Commit = EveryCommit
	}
	if err := w.check(aboutCommit); err != nil {
		return err
	}
	now := time.Now
	if c.Now != nil {
		now = c.Now
	}
	return c.Ledger.RecordStep(ctx, ledger.Step{
		PromotionID: ledger.PromotionID{Subject: ledger.CleanRepository(w.Subject), Commit: w.Commit, Environment: w.Environment},
		Kind:        string(kind), By: secret.Scrub(w.By), Reason: secret.Scrub(w.Why), At: now().UTC().Truncate(time.Microsecond),
	})
}

// check says what is wrong with a word.
func (w *Word) check(aboutCommit bool) error {
	w.Commit = strings.ToLower(w.Commit)
	switch {
	case w.Subject == "":
		return fmt.Errorf("name what moves, by the URL of its repository: %w", ErrInvalid)
	case len(validation.IsDNS1123Label(w.Environment)) > 0:
		return fmt.Errorf("%q is not the name of an environment: %w", secret.Scrub(w.Environment), ErrInvalid)
	case strings.TrimSpace(w.By) == "":
		return fmt.Errorf("say who it is: %w", ErrInvalid)
	case aboutCommit && (len(w.Commit) != 40 && len(w.Commit) != 64 || strings.Trim(w.Commit, "0123456789abcdef") != ""):
		return fmt.Errorf("%q is not a full commit hash: %w", secret.Scrub(w.Commit), ErrInvalid)
	}
	return nil
}
