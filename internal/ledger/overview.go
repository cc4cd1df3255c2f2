package ledger

import "time"

// NameKind selects what [Overviews.Names] lists.
type NameKind string

// The kinds of names.
const (
	NameEnvironment NameKind = "environment"
	NameWorkload    NameKind = "workload"
	NameCluster     NameKind = "cluster"
)

// WantedQuery selects heads, assignments and versions. Empty fields match all.
type WantedQuery struct {
	Environment string
	Workload    string
	Workspace   string
	// AsOf selects the heads at a time: the commits recorded last until then. Zero means now.
	AsOf time.Time
}

// Wanted is the content of the heads of GitOps branches.
type Wanted struct {
	// Heads have no content. They are sorted by repository and branch, without those of rings; Workload and Workspace do not filter them.
	Heads []Commit
	// Assignments are sorted by environment, cluster type and target, Versions by environment, workload and target.
	Assignments []WantedAssignment
	Versions    []WantedVersion
}

// WantedAssignment is an assignment and its branch.
type WantedAssignment struct {
	Environment string
	Repository  string
	Branch      string
	Assignment
}

// WantedVersion is a version and its branch.
type WantedVersion struct {
	Repository string
	Branch     string
	Version
}

// AppearanceQuery selects appearances. Empty fields match all.
type AppearanceQuery struct {
	Environment string
	Workload    string
	Source      Source
	// Kind selects branches of this kind.
	Kind BranchKind
	// Running selects appearances that a reconciler is at now.
	Running  bool
	From, To time.Time // from, inclusive, to, exclusive
	Limit    int       // 0 means all
}

// Appearance is when a reconciler was first at a revision of a source in a state.
type Appearance struct {
	Environment string
	Outcome
	At time.Time
	// Reconcilers is how many are there now.
	Reconcilers int
	// Workload, Target and Version come from the deployment descriptor in the revision; empty without one.
	Workload, Target, Version string
}

// RegistrationQuery selects registrations. Empty fields match all.
type RegistrationQuery struct {
	Cluster string
	// Environment matches memberships; a revocation has none.
	Environment string
	From, To    time.Time // from, inclusive, to, exclusive
	Limit       int       // 0 means all
}

// MembersQuery selects what [Overviews.Members] counts.
type MembersQuery struct {
	Environment string // required
	// AsOf selects the members at a time; zero means now. With a Source, only now is supported.
	AsOf time.Time
	// Source counts reconcilers that follow it, by state. The zero value counts members.
	Source Source
	// Unready, with a Source, leaves out ready reconcilers. The others are usually few and faster to count.
	Unready bool
	// Silent, without a Source, counts only members that never reported a reconciler.
	Silent bool
}

// MemberCount is a number of members of a cluster type, or of their reconcilers.
type MemberCount struct {
	ClusterType string
	// State is empty if members are counted.
	State State
	Count int
}

// MemberStatesQuery selects the reconcilers that [Overviews.MemberStates] lists.
type MemberStatesQuery struct {
	// Environment selects the branches of an environment, and those that are not recorded. // required
	Environment string
	// Source selects the reconcilers that follow it. The zero value lists those of all sources.
	Source Source
	// Unready leaves out ready reconcilers. The others are usually few and faster to list.
	Unready bool
}

// MemberStates are the clusters with a reconciler of a source in a state.
type MemberStates struct {
	Source Source
	State  State
	// Clusters are their names, in no order. A cluster with several such reconcilers is repeated. They can be clusters that
	// are not members of the environment.
	Clusters []string
}
