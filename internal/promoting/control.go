package promoting

import (
	"context"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Control takes the words of people. They are steps in the ledger, and every promoter on it heeds them from its next round on.
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

// Pause lets nothing enter an environment until it is resumed. What is rolled out there already goes on.
func (c *Control) Pause(ctx context.Context, w Word) error { return nil }

// Resume ends a pause.
func (c *Control) Resume(ctx context.Context, w Word) error { return nil }

// Abort gives a commit up in an environment: it does not enter, nor go on from there. An order for it lifts that.
func (c *Control) Abort(ctx context.Context, w Word) error { return nil }

// Order makes a commit, also an older one, the next to enter an environment. All rules hold for it as well.
// It replaces an earlier order. To order what is there already runs its verifications again.
func (c *Control) Order(ctx context.Context, w Word) error { return nil }
