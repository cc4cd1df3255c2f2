package ledger

import (
	"context"
	"io"
	"time"
)

// Ledger is the history of a fleet. Its methods are safe for concurrent use. Repositories and subjects may be spelled in any way:
// they are stored and compared as [CleanRepository] and [CleanSubject] return them, except in reports, which the intake cleans.
// Errors are those of this package, of the context, or of the database.
type Ledger interface {
	Intake
	Clusters
	Silences
	Clocks
	Tokens
	Sessions
	Desired
	Promotions
	Changes
	Audits
	Outbox
	States
	Overviews
	Figures
	Archive
	Replicas
	Identified
	io.Closer
}

// Intake stores reports of clusters.
type Intake interface {
	// Report stores reports, all or none, and returns when they are stored. They may be about several clusters, in any order.
	// Paths are stored as [CleanPath] returns them. A report is also a heartbeat of its cluster.
	Report(ctx context.Context, reports ...Report) error
	// Heard stores a heartbeat. One that is older than the last one changes nothing.
	Heard(ctx context.Context, cluster string, at time.Time) error
}

// Clusters stores registrations and lists the clusters that registered or reported.
type Clusters interface {
	// Register stores a registration. It replaces those with an earlier At, from r.At on.
	Register(ctx context.Context, r Registration) error
	// Reset forgets what a cluster reported last: its heartbeat, its clock and the states of its reconcilers, until it reports
	// again. Observations until at stay as history; later ones, of a wrong clock, are deleted. Registrations and silences stay.
	Reset(ctx context.Context, cluster string, at time.Time) error
	// Clusters returns the clusters that match a query, in the order of their names.
	Clusters(ctx context.Context, q ClusterQuery) ([]Cluster, error)
	// ClusterByCredential returns the registered cluster whose credential has this hash.
	// It returns [ErrNotFound] if the registration was revoked or replaced.
	ClusterByCredential(ctx context.Context, hash string) (Cluster, error)
	// Registrations returns all registrations of a cluster, the oldest first.
	Registrations(ctx context.Context, cluster string) ([]Registration, error)
}

// Tokens stores the credentials of users and clients, and join tokens of clusters.
type Tokens interface {
	// PutToken stores a token. It replaces the token with the same ID.
	PutToken(ctx context.Context, t Token) error
	// PutFirstToken stores a token if the ledger has none, and reports whether it did. Of concurrent calls, one stores its token.
	PutFirstToken(ctx context.Context, t Token) (bool, error)
	// Tokens returns all tokens by ID, including revoked and expired ones.
	Tokens(ctx context.Context) ([]Token, error)
	// TokenByHash returns the token with a hash, or [ErrNotFound]. The caller checks whether it is revoked or expired.
	TokenByHash(ctx context.Context, hash string) (Token, error)
}

// Sessions stores which browser sessions ended before they expired. They are not exported.
type Sessions interface {
	// EndSession ends a session. The entry may be deleted after until, when the session would have expired.
	EndSession(ctx context.Context, name string, until time.Time) error
	// SessionEnded reports whether EndSession was called for a session.
	SessionEnded(ctx context.Context, name string) (bool, error)
}

// Desired stores what should run, by commit of the GitOps repositories.
type Desired interface {
	// RecordCommit records a commit with its content and makes it the head of its branch.
	// A commit that is already recorded keeps its content. Commits of a branch are recorded from old to new.
	RecordCommit(ctx context.Context, c Commit) error
	// Commit returns a recorded commit with its content, or [ErrNotFound]. An empty SHA is the head of the branch.
	Commit(ctx context.Context, repository, branch, sha string) (Commit, error)
	// Commits returns commits without their content, the last recorded first.
	Commits(ctx context.Context, q CommitQuery) ([]Commit, error)
}

// Promotions stores the steps of promotions.
type Promotions interface {
	// RecordStep records a step. Steps with the same promotion, kind and time are recorded once.
	RecordStep(ctx context.Context, s Step) error
	// Steps returns steps, the newest first.
	Steps(ctx context.Context, q StepQuery) ([]Step, error)
	// Promotions returns the last step of each promotion, the newest first.
	Promotions(ctx context.Context, q StepQuery) ([]Step, error)
}

// Changes stores what happened to pull requests.
type Changes interface {
	// RecordChange records an event. Events with the same pull request, kind and time are recorded once.
	RecordChange(ctx context.Context, e ChangeEvent) error
	// ChangeEvents returns events, the newest first.
	ChangeEvents(ctx context.Context, q ChangeQuery) ([]ChangeEvent, error)
}

// Audits stores the writes that users and clients requested.
type Audits interface {
	// RecordAudit records a write. Equal entries are recorded once.
	RecordAudit(ctx context.Context, e AuditEntry) error
	// AuditEntries returns entries, the newest first.
	AuditEntries(ctx context.Context, q AuditQuery) ([]AuditEntry, error)
}

// States answers what clusters run, and ran.
type States interface {
	// States returns a page of the states of reconcilers, now or at q.AsOf, in a stable order.
	States(ctx context.Context, q StateQuery) (StatePage, error)
	// Transitions returns the changes of reconcilers, the newest first.
	Transitions(ctx context.Context, q TransitionQuery) ([]Transition, error)
	// StateHistory returns every outcome of reconcilers that was in force in a time while they followed a branch or tag, by reconciler and
	// time. It has those that follow another source since, until they did, and those of clusters that were reset, until then.
	StateHistory(ctx context.Context, q StateHistoryQuery) ([]Transition, error)
	// Versions returns which versions of workloads run, by environment, workload and target.
	Versions(ctx context.Context, q VersionQuery) ([]VersionState, error)
	// Discrepancies returns the clusters that differ from the head of the branch that they follow, by cluster: the platform branch of the
	// environment, or one of its rings. A cluster that follows none is missing. One at a descendant of the head that is not recorded yet
	// is behind.
	Discrepancies(ctx context.Context, environment string) ([]Discrepancy, error)
}

// Overviews answers lists and counts that would be slow to compute from clusters, commits and states.
type Overviews interface {
	// Names returns all recorded names of a kind, sorted.
	Names(ctx context.Context, kind NameKind) ([]string, error)
	// Wanted returns the assignments and versions at the heads of GitOps branches.
	Wanted(ctx context.Context, q WantedQuery) (Wanted, error)
	// Appearances returns when revisions of sources first appeared in a state, the newest first.
	Appearances(ctx context.Context, q AppearanceQuery) ([]Appearance, error)
	// Registered returns registrations, the newest first. Those with the same time are always in the same order.
	Registered(ctx context.Context, q RegistrationQuery) ([]Registration, error)
	// Members counts the members of an environment by cluster type, or their reconcilers by cluster type and state.
	Members(ctx context.Context, q MembersQuery) ([]MemberCount, error)
	// MemberStates lists clusters by the states of their reconcilers, sorted by source and state.
	MemberStates(ctx context.Context, q MemberStatesQuery) ([]MemberStates, error)
}

// Figures answers which deployments and incidents there were.
type Figures interface {
	// Deployments returns versions that were deployed to environments, the newest first.
	Deployments(ctx context.Context, q DeploymentQuery) ([]Deployment, error)
	// Incidents returns the failures of reconcilers of workloads, the newest first.
	Incidents(ctx context.Context, q DeploymentQuery) ([]Incident, error)
}

// Restorer stores what another ledger has.
type Restorer interface {
	// Restore stores reports and heartbeats like [Intake], and silences. Between these heartbeats there were others, which only the
	// other ledger knew: they make no silences. A silence that overlaps a stored one is left out.
	Restore(ctx context.Context, r Restored) error
}

// Restored holds facts of another ledger.
type Restored struct {
	Reports    []Report
	Heartbeats []Heartbeat
	Silences   []Silence
}

// Archive exports, restores and compacts a ledger.
type Archive interface {
	Restorer
	// Entries passes everything to yield, in an order that [Import] accepts. It stops at the first error of yield.
	Entries(ctx context.Context, yield func(Entry) error) error
	// Compact deletes old observations and returns how many rows it deleted, also with an error. Reports are stored meanwhile.
	Compact(ctx context.Context, c Compaction) (removed int64, err error)
}

// Backuper is a ledger that can copy itself to a file while it is in use.
type Backuper interface {
	// Backup writes a ledger of the same kind to a file. It creates the folder. It is an error if the file exists.
	Backup(ctx context.Context, file string) error
}

// Pinger is a ledger whose database can be away while the program runs.
type Pinger interface {
	// Ping returns an error if the database does not answer.
	Ping(ctx context.Context) error
}
