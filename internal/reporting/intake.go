package reporting

import (
	"context"
	"io"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Store is what the intake needs of the ledger.
type Store interface {
	ledger.Intake
	States(ctx context.Context, q ledger.StateQuery) (ledger.StatePage, error)
}

// Intake takes what clusters say, and stores it in the ledger. It remembers nothing: any number of them may work on one ledger.
type Intake struct {
	Ledger Store // required
}

// Take takes a batch of the cluster whose credential came with it; now is when it arrived. It returns once everything is stored.
// The same batch may come again, late and in any order. Errors are of the kinds of this package, or the ledger's:
// then nothing was stored, and it may be sent again.
func (i *Intake) Take(ctx context.Context, cluster string, batch *hub.ReportBatch, now time.Time) (hub.ReportReceipt, error) {
	return hub.ReportReceipt{}, ctx.Err()
}

// TakeFlux takes an event of Flux's notification controller in a cluster; now is when it arrived.
// Events that say nothing about a reconciler only show that the cluster is alive.
func (i *Intake) TakeFlux(ctx context.Context, cluster string, event *FluxEvent, now time.Time) error {
	return ctx.Err()
}

// TakeArgo takes a notification of Argo CD in a cluster; now is when it arrived.
func (i *Intake) TakeArgo(ctx context.Context, cluster string, n *ArgoNotification, now time.Time) error {
	return ctx.Err()
}

// Imported says what was in a file.
type Imported struct {
	Batches int
	Reports int
	// Clusters are those that it is from, sorted.
	Clusters []string
}

// TakeFile takes a file that was carried by hand, line by line: each is a batch that was signed with the key of a registered cluster.
// It stops at the first line that is not, and says which; the lines before it are taken, and may be taken again.
func (i *Intake) TakeFile(ctx context.Context, clusters ledger.Clusters, file io.Reader, now time.Time) (Imported, error) {
	return Imported{}, ctx.Err()
}
