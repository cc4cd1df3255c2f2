package ledger

import "time"

// BranchKind tells platform and application branches apart.
type BranchKind string

// The kinds of branches.
const (
	BranchPlatform    BranchKind = "platform"    // contains assignments
	BranchApplication BranchKind = "application" // contains versions of workloads
	// BranchRing is the branch that the clusters of a ring follow instead of the platform branch of their environment. Its commits are
	// those of that branch, or derived from them; they have no content of their own.
	BranchRing BranchKind = "ring"
)

// Commit is a commit of a GitOps repository and its content.
type Commit struct {
	Repository string     `json:"repository"`
	Branch     string     `json:"branch"`
	SHA        string     `json:"sha"`
	Kind       BranchKind `json:"kind"`
	// Environment is the environment of the branch; empty if several share it or it is unknown.
	Environment string `json:"environment"`
	// SourceCommit is the promoted commit that this one was rendered from; empty if unknown.
	SourceCommit string `json:"sourceCommit,omitempty"`
	// Origin is the commit of the environment's platform branch that this one of a ring was derived from.
	Origin    string    `json:"origin,omitempty"`
	Committed time.Time `json:"committed"`
	Recorded  time.Time `json:"recorded"`
	// Assignments are those of the inventories of a platform branch, by cluster type and target.
	Assignments []Assignment `json:"assignments,omitempty"`
	// Versions are those of the deployment descriptors of an application branch, by workload and target.
	Versions []Version `json:"versions,omitempty"`
}

// Assignment is a deployment target that should run on the clusters of a type.
type Assignment struct {
	ClusterType string `json:"clusterType"`
	Target      string `json:"target"`
	Workload    string `json:"workload,omitempty"`
	Workspace   string `json:"workspace,omitempty"`
	// Environment is set if several environments share the branch; otherwise the branch's environment counts.
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

// CommitQuery selects commits. Empty fields match all.
type CommitQuery struct {
	Repository  string
	Branch      string
	Environment string
	Kind        BranchKind
	WithoutKind BranchKind
	Heads       bool      // only heads of branches
	From, To    time.Time // of recording; from, inclusive, to, exclusive
	Limit       int       // 0 means all
}
