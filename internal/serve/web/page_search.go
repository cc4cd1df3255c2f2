package web

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
)

// searchPage has the results of a search.
type searchPage struct {
	Query string
	Found []hit
	// Similar are clusters with similar names, if nothing matches.
	Similar []hit
	// More reports that not all results are shown.
	More bool
}

// hit is a result of a search.
type hit struct {
	// Kind is environment, workload, target, cluster type, policy, cluster, pull request or commit.
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Address string `json:"address"`
	// About describes it in a few words.
	About string `json:"about,omitempty"`
}

// maxHits limits the results of each kind.
const maxHits = 20

func (s *site) search(q *pageRequest) (*pageResult, error) {
	view := searchPage{Query: q.text("q")}
	if view.Query != "" {
		for _, find := range []func(*pageRequest, *searchPage) error{
			s.findCommit, s.findEnvironments, s.findWorkloads, s.findClusters, s.findScheduled, s.findPullRequests,
		} {
			if err := find(q, &view); err != nil {
				return nil, err
			}
		}
	}
	value := query.Page[hit]{Items: view.Found}
	if value.Items == nil {
		value.Items = []hit{}
	}
	return &pageResult{title: "Search", value: value, view: view}, nil
}

// add adds a result, up to maxHits of its kind.
func (p *searchPage) add(h hit) {
	n := 0
	for _, other := range p.Found {
		if other.Kind == h.Kind {
			n++
		}
	}
	if n >= maxHits {
		p.More = true
		return
	}
	p.Found = append(p.Found, h)
}

func (p *searchPage) matches(name string) bool {
	return strings.Contains(strings.ToLower(name), strings.ToLower(p.Query))
}

func (s *site) findCommit(q *pageRequest, p *searchPage) error {
	text := strings.ToLower(p.Query)
	if !isHash(text) {
		return nil
	}
	d, err := q.observer.Promotion(q.Context(), query.PromotionQuery{Commit: text})
	if errors.Is(err, ledger.ErrNotFound) || errors.Is(err, ledger.ErrInvalid) {
		return nil // it may be a name
	}
	if err == nil {
		p.add(hit{"commit", short(d.Commit), "/promotions/" + d.Commit, line(d.Title)})
	}
	return err
}

func (s *site) findEnvironments(q *pageRequest, p *searchPage) error {
	names, err := s.environmentNames(q)
	for _, name := range names {
		if p.matches(name) {
			p.add(hit{"environment", name, "/environments/" + url.PathEscape(name), ""})
		}
	}
	return err
}

func (s *site) findWorkloads(q *pageRequest, p *searchPage) error {
	page, err := q.observer.Workloads(q.Context(), query.WorkloadsQuery{Paging: query.Paging{Limit: query.MaxLimit}})
	for _, w := range page.Items {
		if p.matches(w.Name) || w.Workspace != "" && p.matches(w.Workspace) {
			p.add(hit{"workload", w.Name, "/workloads/" + url.PathEscape(w.Name), line(w.Workspace)})
		}
	}
	return err
}

func clusterAddress(name string) string { return "/clusters/" + url.PathEscape(name) }

// findClusters finds clusters by name and by prefix. There may be many thousands, and the ledger returns them by name.
func (s *site) findClusters(q *pageRequest, p *searchPage) error {
	one, err := q.observer.Cluster(q.Context(), query.ClusterQuery{Name: p.Query})
	var unknown *query.UnknownError
	switch {
	case err == nil:
		p.add(hit{"cluster", one.Name, clusterAddress(one.Name), ""})
	case errors.As(err, &unknown):
	default:
		return err
	}
	following, err := q.observer.Ledger.Clusters(q.Context(), ledger.ClusterQuery{After: p.Query, Limit: maxHits})
	for _, c := range following {
		if strings.HasPrefix(c.Name, p.Query) {
			p.add(hit{"cluster", c.Name, clusterAddress(c.Name), ""})
		}
	}
	if unknown != nil && len(p.Found) == 0 {
		for _, name := range unknown.Near {
			p.Similar = append(p.Similar, hit{"cluster", name, clusterAddress(name), ""})
		}
	}
	return err
}

// findScheduled finds what the repositories of environments have: targets, cluster types and policies. Users with roles in workspaces
// see only some of them, and have the pages of their environments.
func (s *site) findScheduled(q *pageRequest, p *searchPage) error {
	if q.observer.Scoped() {
		return nil
	}
	for _, standing := range q.observer.Standings() {
		if standing.Scheduling == nil || standing.Scheduling.Snapshot == nil {
			continue
		}
		in, snapshot := standing.Environment, standing.Scheduling.Snapshot
		for _, t := range snapshot.Targets {
			if p.matches(t.Name) {
				p.add(hit{"target", line(t.Name), targetAddress(in, t.Name), in})
			}
		}
		for _, c := range snapshot.ClusterTypes {
			if p.matches(c.Name) {
				p.add(hit{"cluster type", line(c.Name), clustersAddress(in, c.Name, ""), in})
			}
		}
		for _, one := range snapshot.Policies {
			if p.matches(one.Name) {
				p.add(hit{"policy", line(one.Name), "/map?" + url.Values{"environment": {in}, "policy": {one.Name}}.Encode(), in})
			}
		}
	}
	return nil
}

// findPullRequests finds open pull requests by number and title.
func (s *site) findPullRequests(q *pageRequest, p *searchPage) error {
	if q.observer.Scoped() {
		return nil
	}
	for _, list := range s.Open.all() {
		for _, one := range list.Items {
			name := fmt.Sprintf("#%d %s", one.Number, line(one.Title))
			if isLink(one.URL) && p.matches(name) {
				p.add(hit{"pull request", name, one.URL, repositoryName(list.Repository)})
			}
		}
	}
	return nil
}
