package ledger

import (
	"context"
	"io"
	"time"
)

// Ledger is the memory of a fleet. Its methods may be called concurrently.
// Errors are of one of the kinds of this package, a context's own, or of what stores the ledger.
type Ledger interface {
	Intake
	Clusters
	Clocks
	Tokens
	Sessions
	Desired
	Promotions
	Changes
	Audits
	States
	Overviews
	Figures
	Archive
	io.Closer
}

// Intake takes what clusters say.
type Intake interface {
	// Report takes reports, all or none. Those of one call may be about several clusters, and in any order.
	// It returns when they are stored. Paths are stored as [CleanPath] has them. A report is a heartbeat of its cluster, too.
	Report(ctx context.Context, reports ...Report) error
	// Heard notes that a cluster was alive at a time, which is all that a report without news says.
	Heard(ctx context.Context, cluster string, at time.Time) error
}

// Clusters are the clusters that registered, or were heard of.
type Clusters interface {
	// Register makes a cluster, from r.At on, what the registration says. Later ones replace earlier ones by their time.
	Register(ctx context.Context, r Registration) error
	// Clusters returns the clusters that a query lets through, by name.
	Clusters(ctx context.Context, q ClusterQuery) ([]Cluster, error)
	// ClusterByCredential returns the registered cluster whose credential has this hash,
	// and [ErrNotFound] when there is none, or its registration was revoked or replaced.
	ClusterByCredential(ctx context.Context, hash string) (Cluster, error)
	// Registrations returns all that were ever made for a cluster, the oldest first.
	Registrations(ctx context.Context, cluster string) ([]Registration, error)
}

// Tokens are the credentials that are not a cluster's: those of people and programs, and those that clusters join with.
type Tokens interface {
	// PutToken stores a token by its ID, in place of what was stored under it.
	PutToken(ctx context.Context, t Token) error
	// Tokens returns all, revoked and expired ones as well, by ID.
	Tokens(ctx context.Context) ([]Token, error)
	// TokenByHash returns the token with a hash, or [ErrNotFound]. Whether it is revoked or expired is for the caller to see.
	TokenByHash(ctx context.Context, hash string) (Token, error)
}

// Sessions are those of people with browsers, as far as they ended before their time. They are no facts, and are not exported.
type Sessions interface {
	// EndSession notes that the session of a name is over. When it would have ended by itself, it may be forgotten.
	EndSession(ctx context.Context, name string, until time.Time) error
	// SessionEnded reports whether the session of a name is over, as far as somebody noted it.
	SessionEnded(ctx context.Context, name string) (bool, error)
}

// Desired is what GitOps repositories want, at each of their commits.
type Desired interface {
	// RecordCommit records a commit with everything that it wants, and makes it the head of its branch.
	// A commit that is recorded already keeps its content. Branches are recorded from old to new.
	RecordCommit(ctx context.Context, c Commit) error
	// Commit returns a recorded commit with its content, or [ErrNotFound]. An empty SHA is the head of the branch.
	Commit(ctx context.Context, repository, branch, sha string) (Commit, error)
	// Commits returns commits without their content, the last recorded first.
	Commits(ctx context.Context, q CommitQuery) ([]Commit, error)
}

// Promotions are the ways of commits through the environments.
type Promotions interface {
	// RecordStep records a step. One of the same promotion, kind and time is recorded once.
	RecordStep(ctx context.Context, s Step) error
	// Steps returns steps, the newest first.
	Steps(ctx context.Context, q StepQuery) ([]Step, error)
	// Promotions returns the last step of each promotion, the newest first.
	Promotions(ctx context.Context, q StepQuery) ([]Step, error)
}

// Changes are what happened to pull requests.
type Changes interface {
	// RecordChange records an event. One of the same change, kind and time is recorded once.
	RecordChange(ctx context.Context, e ChangeEvent) error
	// ChangeEvents returns events, the newest first.
	ChangeEvents(ctx context.Context, q ChangeQuery) ([]ChangeEvent, error)
}

// Audits are the writes that people and programs asked for.
type Audits interface {
	// RecordAudit records a write. Equal entries of the same instant are recorded once.
	RecordAudit(ctx context.Context, e AuditEntry) error
	// AuditEntries returns entries, the newest first.
	AuditEntries(ctx context.Context, q AuditQuery) ([]AuditEntry, error)
}

// States are what clusters run, and ran.
type States interface {
	// States returns a page of what reconcilers are, or were at q.AsOf, in an order that lasts.
	States(ctx context.Context, q StateQuery) (StatePage, error)
	// Transitions returns what reconcilers became and when, the newest first.
	Transitions(ctx context.Context, q TransitionQuery) ([]Transition, error)
	// Versions returns which versions of workloads are where, by environment, workload and target.
	Versions(ctx context.Context, q VersionQuery) ([]VersionState, error)
	// Discrepancies returns where clusters differ from the head of the platform branch of an environment,
	// by cluster. That a cluster runs a descendant of the head which is not recorded yet, only Git can tell.
	Discrepancies(ctx context.Context, environment string) ([]Discrepancy, error)
}

// Overviews are lists and counts that would take long to gather from clusters, commits and states.
type Overviews interface {
	// Names returns all names of a kind that were ever recorded, sorted.
	Names(ctx context.Context, kind NameKind) ([]string, error)
	// Wanted returns what the heads of GitOps branches want.
	Wanted(ctx context.Context, q WantedQuery) (Wanted, error)
	// Appearances returns when revisions of sources first appeared in a state, the newest first.
	Appearances(ctx context.Context, q AppearanceQuery) ([]Appearance, error)
	// Registered returns registrations, the newest first.
	Registered(ctx context.Context, q RegistrationQuery) ([]Registration, error)
	// Members counts the members of an environment by cluster type, or what they are at by cluster type and state.
	Members(ctx context.Context, q MembersQuery) ([]MemberCount, error)
}

// Figures are the deployments that were made, and how well they went.
type Figures interface {
	// Deployments returns versions that arrived in environments, the newest first.
	Deployments(ctx context.Context, q DeploymentQuery) ([]Deployment, error)
	// Incidents returns the times in which a reconciler of a workload had failed, the newest first.
	Incidents(ctx context.Context, q DeploymentQuery) ([]Incident, error)
}

// Archive is the ledger as a whole.
type Archive interface {
	// Entries gives everything to yield, in an order in which [Import] can put it into another ledger.
	// It stops at the first error of yield.
	Entries(ctx context.Context, yield func(Entry) error) error
	// Compact forgets confirmations from before a time and keeps transitions: what every reconciler became, and when.
	// With Drop, transitions that ended before it are forgotten as well. It returns how many rows that were.
	Compact(ctx context.Context, c Compaction) (removed int64, err error)
}

// Backuper is a ledger that can copy itself to a file while it is used.
type Backuper interface {
	// Backup writes a ledger of the same kind to a file that does not exist yet. Its folder is made where it is missing.
	Backup(ctx context.Context, file string) error
}
