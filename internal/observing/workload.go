package observing

import (
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Workload is a workload at a glance.
type Workload struct {
	Name      string `json:"name"`
	Workspace string `json:"workspace,omitempty"`
	// Environments are those in which it has targets or runs, by name.
	Environments []WorkloadEnvironment `json:"environments"`
}

// WorkloadEnvironment is a workload in one environment.
type WorkloadEnvironment struct {
	Environment string `json:"environment"`
	// Targets is how many it has there, and ClusterTypes on how many cluster types they are.
	Targets      int `json:"targets"`
	ClusterTypes int `json:"clusterTypes"`
	// Held is how many of its assignments keep the files they have because of a problem.
	Held int `json:"held"`
	// Wanted are the versions that should run, sorted.
	Wanted []string `json:"wanted"`
	// Running are the versions that do, by version and state.
	Running []VersionCount `json:"running"`
}

// VersionCount is how many reconcilers have a version, in one state.
type VersionCount struct {
	// Version is empty when no deployment descriptor says it; then Revision is the commit of the GitOps branch.
	Version     string       `json:"version,omitempty"`
	Revision    string       `json:"revision,omitempty"`
	State       ledger.State `json:"state"`
	Reconcilers int          `json:"reconcilers"`
	// Since is when the first of them observed it.
	Since time.Time `json:"since,omitzero"`
}

// WorkloadDetail is everything about one workload that fits on a page.
type WorkloadDetail struct {
	Workload
	// Targets are those of all environments, by environment and name.
	Targets []Target `json:"targets"`
	// History is what happened last, the newest first, at most 20 events.
	History []Event `json:"history"`
}

// WorkloadsQuery says which workloads are wanted. Empty fields do not restrict.
type WorkloadsQuery struct {
	Environment string
	Workspace   string
	Paging
}
