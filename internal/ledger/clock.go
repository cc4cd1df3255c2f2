package ledger

import (
	"context"
	"time"
)

// Clock holds how far a cluster's clock is off, from a time on.
type Clock struct {
	Cluster string `json:"cluster"`
	// From is the first time to correct, by the clock of the cluster.
	From time.Time `json:"from"`
	// Correction is added to a time of the cluster to get the server's time; in nanoseconds.
	Correction time.Duration `json:"correction"`
	// Noted is when the server found out.
	Noted time.Time `json:"noted"`
}

// KeptClocks is how many corrections of a cluster are kept, so that a clock that jumps all the time does not fill the ledger.
const KeptClocks = 16

// Clocks stores corrections of the clocks of clusters.
type Clocks interface {
	// NoteClock stores a correction. Corrections with the same cluster and Noted are stored once.
	NoteClock(ctx context.Context, c Clock) error
	// Clocks returns the corrections of a cluster, the last first; none if its clock was never found to be off.
	Clocks(ctx context.Context, cluster string) ([]Clock, error)
}
