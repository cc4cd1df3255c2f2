package ledger

import (
	"context"
	"time"
)

// Silence is a time in which a cluster was not heard for longer than it should be. It is a fact: it is stored when the cluster is heard
// again, and never changed. Times are those of the server.
type Silence struct {
	Cluster string `json:"cluster"`
	// From is when the cluster was last heard before, To when it was heard again.
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

const (
	// DefaultSilence is the shortest silence that is stored unless a subject needs shorter ones: see [Silences.KeepSilences].
	DefaultSilence = 2 * time.Minute
	// MinSilence is the least that [Silences.KeepSilences] can set. Clusters may report every few seconds.
	MinSilence = 10 * time.Second
)

// Silences stores gaps between the heartbeats of clusters.
//
//	heartbeats    a   b               c   d
//	silences          └──────────────┘        if it is long enough; none before a, and none after d: LastHeard says that
//
// A heartbeat that arrives late, which is one between b and c after c, neither makes a silence nor removes or divides one: what is known
// of that time is known from its observations. The first heartbeat of a cluster makes none. One after [Clusters.Reset] makes one from the
// last heartbeat before, because what is behind the name may be another cluster. A report that was observed and received at the same
// time makes none either: the cluster sent it to a service, which says nothing about it while nothing changes.
// Several servers that share a ledger store each silence once.
type Silences interface {
	// KeepSilences sets how short the silences are that a subject of promotion needs, for all servers and for heartbeats from now on. What
	// is stored is as short as the subject with the shortest needs, from [MinSilence] to [DefaultSilence].
	KeepSilences(ctx context.Context, subject string, atLeast time.Duration) error
	// Silences returns silences by cluster and time. They do not overlap.
	Silences(ctx context.Context, q SilenceQuery) ([]Silence, error)
}

// SilenceQuery selects silences that have a part in the time from From, inclusive, to To, exclusive. Empty fields match all.
type SilenceQuery struct {
	Cluster  string
	Clusters []string // nil matches all
	// Environment selects the clusters that were its members at any time from From to To.
	Environment string
	From, To    time.Time
}
