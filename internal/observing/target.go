package observing

import (
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Target is a deployment target of an environment.
type Target struct {
	Environment string `json:"environment"`
	// Name is unique in the environment; ShortName is the name within the workload.
	Name      string            `json:"name"`
	ShortName string            `json:"shortName,omitempty"`
	Workload  string            `json:"workload,omitempty"`
	Workspace string            `json:"workspace,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	// Source is where the application's manifests are, as reconcilers follow it; absent when that is not known.
	Source *ledger.Source `json:"source,omitempty"`
	// ClusterTypes are those it is assigned to, sorted.
	ClusterTypes []string `json:"clusterTypes"`
	// Configuration are the folders of its assignments in the platform's GitOps repository,
	// with the platform configuration that it gets on each cluster type.
	Configuration []Folder `json:"configuration,omitempty"`
	// Wanted is the version that should run; absent when no deployment descriptor says so.
	Wanted *ledger.Version `json:"wanted,omitempty"`
	// Running are the versions that do, by version and state.
	Running []VersionCount `json:"running"`
	// Held are the cluster types on which its files stay as they are because of a problem.
	Held []HeldAssignment `json:"held,omitempty"`
}

// Folder is a folder of a branch.
type Folder struct {
	ClusterType string `json:"clusterType"`
	Repository  string `json:"repository"`
	Branch      string `json:"branch"`
	Path        string `json:"path"`
}

// TargetsQuery says which targets are wanted. Empty fields do not restrict.
type TargetsQuery struct {
	Environment string
	Workload    string
	Workspace   string
	ClusterType string
	Paging
}
