package relational

import (
	"context"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/text/natural"
)

// naturalNames are the names of all clusters in the order of [natural.Compare], which databases do not have.
type naturalNames struct {
	mu    sync.Mutex
	names []string
}

// all returns the names. It reads them again if there are others: clusters are never deleted.
func (n *naturalNames) all(ctx context.Context, s *Store) ([]string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var count int
	if err := s.Read.QueryRowContext(ctx, queries.Get("countClusters")).Scan(&count); err != nil || count == len(n.names) {
		return n.names, err
	}
	names, err := query(ctx, s.Read, scanText, queries.Get("clusterNames"))
	if err == nil {
		n.names = natural.Sort(names)
	}
	return names, err
}

const (
	// fewMembers is the number of members whose names are read and sorted for a page. With more of them, some are soon found among the
	// names of all clusters.
	fewMembers = 20_000
	// namesTogether is how many names are searched at once.
	namesTogether = 1000
)

// naturalClusters returns a page of clusters in the order of [natural.Compare].
func (s *Store) naturalClusters(ctx context.Context, q ledger.ClusterQuery) ([]ledger.Cluster, error) {
	if q.Name != "" || q.ReportedBy != "" {
		return s.sortedClusters(ctx, q)
	}
	names, err := s.candidates(ctx, q)
	if err != nil {
		return nil, err
	}
	names = names[sort.Search(len(names), func(i int) bool { return q.After == "" || natural.Key(names[i]) > q.After }):]
	var found []ledger.Cluster
	for some := range slices.Chunk(names, namesTogether) {
		all, err := s.namedClusters(ctx, q, some)
		if err != nil {
			return nil, err
		}
		if found = append(found, all...); q.Limit > 0 && len(found) >= q.Limit {
			return found[:q.Limit], nil
		}
	}
	return found, nil
}

// candidates returns the names, in order, among which are all clusters that match a query.
func (s *Store) candidates(ctx context.Context, q ledger.ClusterQuery) ([]string, error) {
	few, err := s.hasFewMembers(ctx, q)
	if err != nil {
		return nil, err
	}
	if !few {
		return s.natural.all(ctx, s)
	}
	w := clusterConditions(q)
	w.members(q)
	names, err := query(ctx, s.Read, scanText, queries.Get("memberNames")+w.String(), w.args...)
	return natural.Sort(names), err
}

// hasFewMembers reports whether a query wants members of an environment or cluster type that has few.
func (s *Store) hasFewMembers(ctx context.Context, q ledger.ClusterQuery) (bool, error) {
	if q.Environment == "" && q.ClusterType == "" {
		return false, nil
	}
	var w where
	w.member(q)
	var count int
	err := s.Read.QueryRowContext(ctx, "SELECT COUNT(*) FROM (SELECT 1 FROM membership"+w.String()+limit(fewMembers)+") few", w.args...).Scan(&count)
	return count < fewMembers, err
}

// sortedClusters reads all clusters that match a query, and returns a page of them.
func (s *Store) sortedClusters(ctx context.Context, q ledger.ClusterQuery) ([]ledger.Cluster, error) {
	after, most := q.After, q.Limit
	q.After, q.Limit = "", 0
	all, err := s.clusters(ctx, q)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, compareClusters)
	all = slices.DeleteFunc(all, func(c ledger.Cluster) bool { return after != "" && natural.Key(c.Name) <= after })
	if most > 0 {
		all = all[:min(most, len(all))]
	}
	return all, nil
}

// namedClusters returns those of some clusters that match a query.
func (s *Store) namedClusters(ctx context.Context, q ledger.ClusterQuery, names []string) ([]ledger.Cluster, error) {
	w := clusterConditions(q)
	places := make([]string, len(names))
	for i, name := range names {
		places[i] = w.arg(name)
	}
	w.conditions = append(w.conditions, "c.name IN ("+strings.Join(places, ", ")+")")
	if q.Environment != "" || q.ClusterType != "" {
		m := where{args: w.args}
		m.member(q)
		w.args = m.args
		w.conditions = append(w.conditions, "EXISTS (SELECT 1 FROM membership m"+m.String()+" AND m.registration_id = g.id)")
	}
	all, err := s.readClusters(ctx, w, 0)
	slices.SortFunc(all, compareClusters)
	return all, err
}

func compareClusters(a, b ledger.Cluster) int { return natural.Compare(a.Name, b.Name) }
