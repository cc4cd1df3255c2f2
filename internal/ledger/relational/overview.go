package relational

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// Names implements [ledger.Overviews].
func (s *Store) Names(ctx context.Context, kind ledger.NameKind) ([]string, error) {
	text, ok := queries[string(kind)+"Names"]
	if !ok {
		return nil, fmt.Errorf("read names: %w: unknown kind %q", ledger.ErrInvalid, kind)
	}
	return read(ctx, s, "names", scanText, text)
}

const (
	headNow  = `b.head`
	headThen = `COALESCE((SELECT MAX(n.number) FROM gitops_commit n WHERE n.branch_id = b.id AND n.recorded <= $1), 0)`

	wantedHeads = `
SELECT h.id, h.number, h.repository, h.ref, h.kind, h.environment, g.sha, g.source_commit, g.origin, g.committed, g.recorded
FROM head h JOIN gitops_commit g ON g.branch_id = h.id AND g.number = h.number`
	wantedAssignments = `
SELECT COALESCE(NULLIF(a.environment, ''), h.environment), h.repository, h.ref, a.cluster_type, a.target, a.workload, a.workspace
FROM head h JOIN assignment a ON a.branch_id = h.id AND a.opened <= h.number AND a.closed > h.number`
	wantedVersions = `
SELECT h.repository, h.ref, v.workload, v.workspace, v.target, v.environment, v.path, v.version, v.build, v.commit_sha, v.built
FROM head h JOIN version v ON v.branch_id = h.id AND v.opened <= h.number AND v.closed > h.number`
)

// wanting returns the arguments of a query and a WITH clause that defines the heads.
func wanting(q ledger.WantedQuery) (where, string) {
	var w where
	number := headNow
	if !q.AsOf.IsZero() {
		number = headThen
		w.arg(micros(q.AsOf)) // $1
	}
	return w, `WITH head (id, environment, repository, ref, kind, number) AS (
    SELECT b.id, b.environment, b.repository, b.ref, b.kind, ` + number + ` FROM branch b WHERE b.kind <> 'ring')`
}

// Wanted implements [ledger.Overviews].
func (s *Store) Wanted(ctx context.Context, q ledger.WantedQuery) (wanted ledger.Wanted, err error) {
	if wanted.Heads, err = s.wantedHeads(ctx, q); err != nil {
		return wanted, fmt.Errorf("read heads: %w", err)
	}
	w, heads := wanting(q)
	w.text("COALESCE(NULLIF(a.environment, ''), h.environment) = ?", q.Environment)
	w.text("a.workload = ?", q.Workload)
	w.text("a.workspace = ?", q.Workspace)
	wanted.Assignments, err = query(ctx, s.Read, scanWantedAssignment,
		heads+wantedAssignments+w.String()+" ORDER BY 1, a.cluster_type, a.target, h.id", w.args...)
	if err != nil {
		return wanted, fmt.Errorf("read wanted assignments: %w", err)
	}
	w, heads = wanting(q)
	w.workload("v.", q.Environment, q.Workload, q.Workspace)
	wanted.Versions, err = query(ctx, s.Read, scanWantedVersion,
		heads+wantedVersions+w.String()+" ORDER BY v.environment, v.workload, v.target, v.path, v.version, h.id", w.args...)
	if err != nil {
		return wanted, fmt.Errorf("read wanted versions: %w", err)
	}
	return wanted, nil
}

func (s *Store) wantedHeads(ctx context.Context, q ledger.WantedQuery) ([]ledger.Commit, error) {
	w, heads := wanting(q)
	w.text(ofEnvironment("h"), q.Environment)
	rows, err := query(ctx, s.Read, scanCommit, heads+wantedHeads+w.String()+" ORDER BY h.repository, h.ref", w.args...)
	var all []ledger.Commit
	for _, row := range rows {
		all = append(all, row.Commit)
	}
	return all, err
}

func scanWantedAssignment(row scanner) (a ledger.WantedAssignment, err error) {
	err = row.Scan(&a.Environment, &a.Repository, &a.Branch, &a.ClusterType, &a.Target, &a.Workload, &a.Workspace)
	return a, err
}

func scanWantedVersion(row scanner) (v ledger.WantedVersion, err error) {
	err = row.Scan(append([]any{&v.Repository, &v.Branch}, versionFields(&v.Version)...)...)
	return v, err
}

// Appearances implements [ledger.Overviews].
func (s *Store) Appearances(ctx context.Context, q ledger.AppearanceQuery) ([]ledger.Appearance, error) {
	var w where
	w.text("(v.environment = ? OR COALESCE(v.environment, '') = '' AND "+ofEnvironment("b")+")", q.Environment)
	w.text("v.workload = ?", q.Workload)
	w.text("b.kind = ?", string(q.Kind))
	if q.Source != (ledger.Source{}) {
		w.add("b.repository = ?", ledger.CleanRepository(q.Source.Repository))
		w.add("b.ref = ?", q.Source.Ref)
		w.add("s.path = ?", ledger.CleanPath(q.Source.Path))
	}
	if q.Running {
		w.conditions = append(w.conditions, "o.reconcilers > 0")
	}
	having := where{args: w.args}
	having.span("MIN(o.first_observed)", q.From, q.To)
	text := queries.Get("selectAppearances") + w.String() +
		" GROUP BY b.environment, b.repository, b.ref, s.id, s.path, o.revision, o.state, v.workload, v.target, v.version"
	for i, condition := range having.conditions {
		text += []string{" HAVING ", " AND "}[min(i, 1)] + condition
	}
	text += " ORDER BY MIN(o.first_observed) DESC, s.id, o.revision, o.state, v.workload, v.target, v.version" + limit(q.Limit)
	return read(ctx, s, "appearances", scanAppearance, text, having.args...)
}

func scanAppearance(row scanner) (a ledger.Appearance, err error) {
	var severity int
	err = row.Scan(&a.Environment, &a.Source.Repository, &a.Source.Ref, &a.Source.Path, &a.Revision, &a.Message, &severity,
		(*microTime)(&a.At), &a.Reconcilers, &a.Workload, &a.Target, &a.Version)
	a.State = hub.StateOf(severity)
	return a, err
}

// Registered implements [ledger.Overviews].
func (s *Store) Registered(ctx context.Context, q ledger.RegistrationQuery) ([]ledger.Registration, error) {
	var w where
	w.text("c.name = ?", q.Cluster)
	w.text("EXISTS (SELECT 1 FROM membership m WHERE m.registration_id = g.id AND m.environment = ?)", q.Environment)
	w.span("g.at", q.From, q.To)
	all, err := s.registrationsBy(ctx, w, " ORDER BY g.at DESC, g.cluster_id"+limit(q.Limit))
	if err != nil {
		return nil, fmt.Errorf("read registrations: %w", err)
	}
	return all, nil
}

const (
	areSilent = ` AND NOT EXISTS (SELECT 1 FROM reconciler r WHERE r.cluster_id = g.cluster_id)`
	byType    = ` GROUP BY m.cluster_type`
	// The id of an outcome begins with the severity, and ready is the least severe. The number is a literal
	// so that SQLite can use the partial index.
	areUnready = ` AND x.outcome_id >= 2305843009213693952`
	byState    = ` GROUP BY m.cluster_type, o.state`
)

// Members implements [ledger.Overviews].
func (s *Store) Members(ctx context.Context, q ledger.MembersQuery) ([]ledger.MemberCount, error) {
	text, args := membersText(q), []any{q.Environment, inForce(q.AsOf)}
	if q.Source != (ledger.Source{}) {
		if !q.AsOf.IsZero() {
			return nil, fmt.Errorf("count members of %q: %w: reconcilers of the past cannot be counted", q.Environment, ledger.ErrInvalid)
		}
		args = []any{q.Environment, ledger.CleanRepository(q.Source.Repository), q.Source.Ref, ledger.CleanPath(q.Source.Path)}
	}
	read := func() ([]ledger.MemberCount, error) { return query(ctx, s.Read, scanMemberCount, text, args...) }
	if q == (ledger.MembersQuery{Environment: q.Environment}) {
		uncached := read
		read = func() ([]ledger.MemberCount, error) { return s.members.of(ctx, s, q.Environment, uncached) }
	}
	all, err := read()
	if err != nil {
		return nil, fmt.Errorf("count members of %q: %w", q.Environment, err)
	}
	slices.SortFunc(all, func(a, b ledger.MemberCount) int {
		return cmp.Or(cmp.Compare(a.ClusterType, b.ClusterType), cmp.Compare(a.State.Severity(), b.State.Severity()))
	})
	return all, nil
}

// memberCounts are the numbers of members of environments. Many pages need them, and they only change with a registration.
type memberCounts struct {
	mu            sync.Mutex
	registrations int
	counts        map[string][]ledger.MemberCount
}

// of returns the counts of an environment. It reads them again if there are more registrations: none is ever deleted, and each changes
// with a new one only.
func (m *memberCounts) of(ctx context.Context, s *Store, environment string, read func() ([]ledger.MemberCount, error)) ([]ledger.MemberCount, error) {
	var registrations int
	if err := s.Read.QueryRowContext(ctx, queries.Get("countRegistrations")).Scan(&registrations); err != nil {
		return nil, err
	}
	m.mu.Lock()
	counts, ok := m.counts[environment]
	ok = ok && m.registrations == registrations
	m.mu.Unlock()
	if ok {
		return slices.Clone(counts), nil
	}
	counts, err := read()
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.counts == nil || m.registrations != registrations {
		m.registrations, m.counts = registrations, map[string][]ledger.MemberCount{}
	}
	m.counts[environment] = slices.Clone(counts)
	return counts, nil
}

func membersText(q ledger.MembersQuery) string {
	switch {
	case q.Source != (ledger.Source{}) && q.Unready:
		return queries.Get("countMemberStates") + areUnready + byState
	case q.Source != (ledger.Source{}):
		return queries.Get("countMemberStates") + byState
	case q.Silent:
		return queries.Get("countMembers") + areSilent + byType
	}
	return queries.Get("countMembers") + byType
}

func scanMemberCount(row scanner) (c ledger.MemberCount, err error) {
	var severity int
	err = row.Scan(&c.ClusterType, &severity, &c.Count)
	c.State = hub.StateOf(severity)
	return c, err
}

// MemberStates implements [ledger.Overviews].
func (s *Store) MemberStates(ctx context.Context, q ledger.MemberStatesQuery) ([]ledger.MemberStates, error) {
	var w where
	text := queries.Get("listMemberStates")
	w.add("(b.environment = '' OR "+ofEnvironment("b")+")", q.Environment)
	if q.Source != (ledger.Source{}) {
		w.add("b.repository = ?", ledger.CleanRepository(q.Source.Repository))
		w.add("b.ref = ?", q.Source.Ref)
		w.add("s.path = ?", ledger.CleanPath(q.Source.Path))
	}
	for _, condition := range w.conditions {
		text += " AND " + condition
	}
	if q.Unready {
		text += areUnready
	}
	text += " GROUP BY b.repository, b.ref, s.path, o.state ORDER BY b.repository, b.ref, s.path, o.state"
	return read(ctx, s, fmt.Sprintf("states of the members of %q", q.Environment), scanMemberStates, text, w.args...)
}

func scanMemberStates(row scanner) (m ledger.MemberStates, err error) {
	var severity int
	var names string
	err = row.Scan(&m.Source.Repository, &m.Source.Ref, &m.Source.Path, &severity, &names)
	m.State, m.Clusters = hub.StateOf(severity), strings.Fields(names)
	return m, err
}
