package ledger

import "time"

// NameKind is a kind of names.
type NameKind string

// The kinds of names that a ledger lists.
const (
	NameEnvironment NameKind = "environment"
	NameWorkload    NameKind = "workload"
	NameCluster     NameKind = "cluster"
)

// WantedQuery says of which branches it is wanted what they want. Empty fields do not restrict.
type WantedQuery struct {
	Environment string
	Workload    string
	Workspace   string
	// AsOf is the time whose heads count: the commits that were recorded last until then. Zero means now.
	AsOf time.Time
}

// Wanted is what the heads of GitOps branches want.
type Wanted struct {
	// Heads are the heads without their content, by repository and branch. Workload and Workspace do not restrict them.
	Heads []Commit
	// Assignments are sorted by environment, cluster type and target, Versions by environment, workload and target.
	Assignments []WantedAssignment
	Versions    []WantedVersion
}

// WantedAssignment is an assignment, and the branch that wants it.
type WantedAssignment struct {
	Environment string
	Repository  string
	Branch      string
	Assignment
}

// WantedVersion is a version, and the branch that wants it.
type WantedVersion struct {
	Repository string
	Branch     string
	Version
}

// AppearanceQuery says which appearances are wanted. Empty fields do not restrict.
type AppearanceQuery struct {
	Environment string
	Workload    string
	// Source wants those of one source; the zero value does not restrict.
	Source Source
	// Running wants those that some reconciler has now.
	Running  bool
	From, To time.Time // from, inclusive, to, exclusive
	Limit    int       // 0 means all
}

// Appearance is the first time that any reconciler was at a revision of a source, in a state.
type Appearance struct {
	Environment string
	Outcome
	At time.Time
	// Reconcilers is how many are there now.
	Reconcilers int
	// Workload, Target and Version are what the revision holds; empty when no deployment descriptor says so.
	Workload, Target, Version string
}

// RegistrationQuery says which registrations are wanted. Empty fields do not restrict.
type RegistrationQuery struct {
	Cluster string
	// Environment wants those with a membership in it; a revocation has none.
	Environment string
	From, To    time.Time // from, inclusive, to, exclusive
	Limit       int       // 0 means all
}

// MembersQuery says which members are counted.
type MembersQuery struct {
	Environment string // required
	// AsOf is the time whose members are counted; zero means now. What their reconcilers were at is not counted of the past.
	AsOf time.Time
	// Source counts their reconcilers that follow it, by state. The zero value counts the members themselves.
	Source Source
	// Unready leaves out, of those that follow a source, what is ready: mostly they are few, and quicker to count.
	Unready bool
	// Silent counts, without a Source, only members none of whose reconcilers was ever reported.
	Silent bool
}

// MemberCount is a number of members of a cluster type, or of their reconcilers.
type MemberCount struct {
	ClusterType string
	// State is empty when members are counted.
	State State
	Count int
}
