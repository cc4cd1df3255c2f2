package ledger

import "time"

// BranchKind says which team's GitOps repository a branch is of.
type BranchKind string

// The kinds of branches.
const (
	BranchPlatform    BranchKind = "platform"    // wants assignments
	BranchApplication BranchKind = "application" // wants versions
)

// Commit is a commit of a GitOps repository and what it wants.
type Commit struct {
	Repository string     `json:"repository"`
	Branch     string     `json:"branch"`
	SHA        string     `json:"sha"`
	Kind       BranchKind `json:"kind"`
	// Environment is the one that the branch is of; empty when several share it, or it is unknown.
	Environment string `json:"environment"`
	// SourceCommit is the promoted commit that this one was made from; empty when unknown.
	SourceCommit string    `json:"sourceCommit,omitempty"`
	Committed    time.Time `json:"committed"`
	Recorded     time.Time `json:"recorded"`
	// Assignments are those of the inventories of a platform branch, by cluster type and target.
	Assignments []Assignment `json:"assignments,omitempty"`
	// Versions are those of the deployment descriptors of an application branch, by workload and target.
	Versions []Version `json:"versions,omitempty"`
}

// Assignment is a deployment target that a platform branch wants on the clusters of a type.
type Assignment struct {
	ClusterType string `json:"clusterType"`
	Target      string `json:"target"`
	Workload    string `json:"workload,omitempty"`
	Workspace   string `json:"workspace,omitempty"`
	// Environment is set on a branch that several environments share; otherwise it is empty, and that of the branch counts.
	Environment string `json:"environment,omitempty"`
}

// Version is a version of a workload in a folder of an application branch.
type Version struct {
	Workload    string `json:"workload"`
	Workspace   string `json:"workspace,omitempty"`
	Target      string `json:"target"`
	Environment string `json:"environment"`
	// Path is the folder with the manifests. Reconcilers that follow it run this version.
	Path    string    `json:"path,omitempty"`
	Version string    `json:"version"`
	Build   string    `json:"build,omitempty"`
	Commit  string    `json:"commit,omitempty"` // of the source repository
	Built   time.Time `json:"built,omitzero"`
}

// CommitQuery says which commits are wanted. Empty fields do not restrict.
type CommitQuery struct {
	Repository  string
	Branch      string
	Environment string
	Kind        BranchKind
	Heads       bool      // wants the heads of branches only
	From, To    time.Time // of recording; from, inclusive, to, exclusive
	Limit       int       // 0 means all
}
