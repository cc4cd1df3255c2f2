package observing

import (
	"context"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Version says where a version of a workload runs: how many reconcilers have it, in one state.
type Version struct {
	ledger.VersionState
	// Wanted says that this is the version that should run there.
	Wanted bool `json:"wanted"`
}

// VersionsQuery says which versions are wanted. Empty fields do not restrict.
type VersionsQuery struct {
	Environment string
	Workload    string
	Workspace   string
	// AsOf is the time of which they are wanted; zero means now.
	AsOf time.Time
	Paging
}

// Versions returns which version of each workload is where, by environment, workload, target, version and state.
func (o *Observer) Versions(ctx context.Context, q VersionsQuery) (Page[Version], error) {
	return Page[Version]{Items: []Version{}}, nil
}
