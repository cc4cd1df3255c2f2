package observing

import (
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/plan"
)

// Assignment is a target on a cluster type.
type Assignment struct {
	Environment string `json:"environment"`
	ClusterType string `json:"clusterType"`
	Target      string `json:"target"`
	Workload    string `json:"workload,omitempty"`
	Workspace   string `json:"workspace,omitempty"`
	// Policies are those that select the pair; empty where only the ledger is asked.
	Policies []string `json:"policies,omitempty"`
	// Held is why its files stay as they are; absent when they do not.
	Held *fleet.Problem `json:"held,omitempty"`
	// Pending is what the open change does to it: added, changed or removed. One that is only added runs nowhere yet.
	Pending plan.Op `json:"pending,omitempty"`
	// States is how the clusters of the type are doing with it.
	States StateCounts `json:"states"`
}

// StateCounts are numbers of reconcilers by state.
type StateCounts struct {
	// Expected is how many clusters there are that should run it.
	Expected    int `json:"expected"`
	Ready       int `json:"ready"`
	Progressing int `json:"progressing"`
	Suspended   int `json:"suspended"`
	Failed      int `json:"failed"`
	// Missing is how many clusters report nothing about it; 0 where nobody knows what they would have to follow.
	Missing int `json:"missing"`
}

// AssignmentsQuery says which assignments are wanted. Other empty fields do not restrict.
type AssignmentsQuery struct {
	Environment string // required
	// ControlPlane tells environments of one name apart.
	ControlPlane string
	ClusterType  string
	Target       string
	Workload     string
	Workspace    string
	// AsOf is the time of which they are wanted; zero means now. Of the past it is known what was assigned, and how many clusters
	// there were, but not how they were doing with it: of the states, only Expected is set.
	AsOf time.Time
	Paging
}

// Matrix is one page of the targets of an environment with all its cluster types.
type Matrix struct {
	Environment string `json:"environment"`
	// Columns are the cluster types, by name.
	Columns []Column `json:"columns"`
	// Rows are targets, by name.
	Rows []Row `json:"rows"`
	// Next is Paging.After of the next page; empty on the last one.
	Next string `json:"next,omitempty"`
}

// Column is a cluster type of a matrix.
type Column struct {
	ClusterType string `json:"clusterType"`
	Clusters    int    `json:"clusters"`
}

// Row is a target of a matrix.
type Row struct {
	Target    string `json:"target"`
	Workload  string `json:"workload,omitempty"`
	Workspace string `json:"workspace,omitempty"`
	// Wanted is the version that should run; empty when that is not known.
	Wanted string `json:"wanted,omitempty"`
	// Running are the versions that do.
	Running []VersionCount `json:"running"`
	// Cells are the cluster types that it is assigned to, in the order of the columns.
	Cells []Cell `json:"cells"`
}

// Cell is an assignment in a matrix.
type Cell struct {
	ClusterType string      `json:"clusterType"`
	Held        bool        `json:"held,omitempty"`
	Pending     plan.Op     `json:"pending,omitempty"`
	States      StateCounts `json:"states"`
}
