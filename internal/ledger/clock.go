package ledger

import (
	"context"
	"time"
)

// Clock says how wrong the clock of a cluster is, from a time of it on.
type Clock struct {
	Cluster string `json:"cluster"`
	// From is the first time to be corrected, by the clock of the cluster.
	From time.Time `json:"from"`
	// Correction is what has to be added to a time of the cluster to have ours, in nanoseconds.
	Correction time.Duration `json:"correction"`
	// Noted is when we found out.
	Noted time.Time `json:"noted"`
}

// KeptClocks is how often a cluster's clock may change before the oldest change is forgotten:
// a clock that jumps about all the time does not fill a ledger.
const KeptClocks = 16

// Clocks are the clocks of clusters, as far as they are known to be wrong.
type Clocks interface {
	// NoteClock notes how wrong a clock is. What a cluster has at one time is noted once.
	NoteClock(ctx context.Context, c Clock) error
	// Clocks returns what was noted of a cluster, the last first; nothing means that its clock was never known to be wrong.
	Clocks(ctx context.Context, cluster string) ([]Clock, error)
}
