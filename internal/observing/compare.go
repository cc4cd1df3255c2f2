package observing

import "time"

// Comparison is how two environments differ.
type Comparison struct {
	A Side `json:"a"`
	B Side `json:"b"`
	// SameCommit says that both have the same commit of main.
	SameCommit bool `json:"sameCommit"`
	// Ahead is the one whose commit is newer; empty when the history is not known, or there is nothing between.
	Ahead In `json:"ahead,omitempty"`
	// Commits are those that the one has and the other has not yet, the newest first, at most 50.
	Commits []Commit `json:"commits,omitempty"`
	// Targets are those that differ, by workload and name within it.
	Targets []TargetDifference `json:"targets"`
	// Assignments are those that only one of the two has, by target and cluster type.
	Assignments []AssignmentDifference `json:"assignments"`
	// Same are the targets and assignments that are in both and do not differ.
	Same SameCounts `json:"same"`
}

// Side is one environment of a comparison.
type Side struct {
	Environment string `json:"environment"`
	// Commit is the promoted commit of main, and GitOpsCommit what clusters have to run.
	Commit string `json:"commit,omitempty"`
	// Title is the first line of its message; empty when that is not known.
	Title        string `json:"title,omitempty"`
	GitOpsCommit string `json:"gitOpsCommit,omitempty"`
	// Since is when the phase that the commit is in began.
	Since time.Time `json:"since,omitzero"`
}

// Commit is a commit of main.
type Commit struct {
	SHA   string    `json:"sha"`
	Title string    `json:"title,omitempty"`
	Time  time.Time `json:"time,omitzero"`
}

// In says which of two environments something is in.
type In string

// Where something is.
const (
	InBoth In = "both"
	InA    In = "a"
	InB    In = "b"
)

// TargetDifference is a target whose versions differ, or that only one of two environments has.
type TargetDifference struct {
	Workload string `json:"workload"`
	// Target is the name within the workload, without which targets of two environments can seldom be compared.
	Target string `json:"target"`
	In     In     `json:"in"`
	// A and B are absent where the target is not.
	A *TargetVersions `json:"a,omitempty"`
	B *TargetVersions `json:"b,omitempty"`
}

// TargetVersions are the versions of a target in an environment.
type TargetVersions struct {
	// Wanted is the version that should run; empty when no deployment descriptor says so.
	Wanted  string         `json:"wanted,omitempty"`
	Running []VersionCount `json:"running"`
}

// AssignmentDifference is an assignment that only one of two environments has.
type AssignmentDifference struct {
	ClusterType string `json:"clusterType"`
	Target      string `json:"target"` // the name within the workload
	Workload    string `json:"workload,omitempty"`
	In          In     `json:"in"`
}

// SameCounts are numbers of what does not differ.
type SameCounts struct {
	Targets     int `json:"targets"`
	Assignments int `json:"assignments"`
}

// CompareQuery names two environments.
type CompareQuery struct {
	A, B string // required
	// AsOf is the time of which both are compared; zero means now.
	AsOf time.Time
}
