package promote

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// registry loads the registered clusters when they are first needed.
type registry struct {
	ledger   Ledger
	clusters []comply.Cluster
	read     bool
	heard    time.Time // when any of them was heard of last
}

// members returns all clusters that are registered and not revoked.
func (r *registry) members(ctx context.Context) ([]comply.Cluster, error) {
	if r.read {
		return r.clusters, nil
	}
	all, err := r.ledger.Clusters(ctx, ledger.ClusterQuery{})
	if err != nil {
		return nil, fmt.Errorf("read the clusters: %w", err)
	}
	for _, c := range all {
		if !c.Registered || c.Registration.Revoked {
			continue
		}
		r.clusters = append(r.clusters, ClusterOf(c))
		r.heard = later(r.heard, c.LastHeard)
	}
	r.read = true
	return r.clusters, nil
}

// verdict returns whether the clusters of an environment run the head of its GitOps branch, and sets what its gate said about its carriers.
func (r *round) verdict(ctx context.Context, clusters *registry, place EnvironmentState, gate comply.Gate, carriers []decide.Carrier) (comply.Verdict, error) {
	if place.GitOps.Repository == "" || len(carriers) == 0 {
		return comply.Verdict{}, nil
	}
	source := place.GitOps
	source.Repository = ledger.CleanRepository(source.Repository)
	members, states, err := r.read(ctx, clusters, source)
	if err != nil {
		return comply.Verdict{}, err
	}
	if states, err = r.addWholes(ctx, place, source, states); err != nil {
		return comply.Verdict{}, err
	}
	r.notBefore(clusters.heard)
	q := question{place: place, expected: place.expect(members, source.Ref), clusters: members, states: states, gate: gate}
	carriers = carriers[max(len(carriers)-keptCarriers, 0):]
	p, err := r.pastOf(ctx, q, carriers[0].Entered)
	if err != nil {
		return comply.Verdict{}, err
	}
	changed := p.update(q, r.at)
	if place.Rollout.State == decide.RolloutMerged {
		observed := p.observations(states)
		history, err := r.relationsNow(ctx, place, observed)
		if err != nil {
			return comply.Verdict{}, err
		}
		q.verdict = comply.Judge(comply.Question{
			Commit: place.Rollout.Commit, Published: carriers[len(carriers)-1].Entered, Expected: q.expected,
			Observations: observed, History: history, Gate: gate,
		}, r.at)
	}
	return q.verdict, r.judge(ctx, p, changed, q, carriers)
}

// relationsNow looks up which of the revisions that clusters run now contain that of a place.
func (r *round) relationsNow(ctx context.Context, place EnvironmentState, observed []comply.Observation) (comply.History, error) {
	if place.exact {
		return func(hash string) (bool, bool) { return hash == place.Rollout.Commit, true }, nil
	}
	hashes := map[string]bool{}
	for i := range observed {
		hashes[observed[i].Revision.Hash] = true
		hashes[observed[i].BrokeAt.Hash] = true
	}
	return r.history(ctx, place, hashes)
}

// expect returns the reconcilers that should follow a branch.
func (s *EnvironmentState) expect(clusters []comply.Cluster, branch string) []comply.Expected {
	if s.Expect != nil {
		return s.Expect(clusters, branch)
	}
	source := s.GitOps
	source.Repository, source.Ref = ledger.CleanRepository(source.Repository), branch
	return comply.ExpectPlatform(clusters, s.Environment, source, s.Folders)
}

// read loads the clusters and the states of the reconcilers of a GitOps branch, concurrently because both can be large.
func (p *Promoter) read(ctx context.Context, r *registry, source hub.Source) ([]comply.Cluster, []ledger.ReconcilerState, error) {
	var clusters []comply.Cluster
	var unread error
	var wait sync.WaitGroup
	wait.Go(func() { clusters, unread = r.members(ctx) })
	page, err := p.Ledger.States(ctx, ledger.StateQuery{Repository: source.Repository, Ref: source.Ref})
	wait.Wait()
	if err != nil {
		err = fmt.Errorf("read what clusters said: %w", err)
	}
	return clusters, page.States, errors.Join(unread, err)
}

// maxRelations limits the commits of which it is remembered which others contain them.
const maxRelations = 1000

// history looks up which commits contain that of a place in Git, each once.
func (r *round) history(ctx context.Context, place EnvironmentState, reported map[string]bool) (comply.History, error) {
	commit := place.Rollout.Commit
	key := place.GitOps.Repository + " " + commit
	known := r.subject.relations[key]
	if known == nil {
		known = map[string]bool{commit: true}
	}
	var hashes []string
	for hash := range reported {
		if _, asked := known[hash]; hash != "" && !asked {
			hashes = append(hashes, hash)
		}
	}
	if len(hashes) > 0 {
		slices.Sort(hashes)
		reached, err := r.Ancestry.Reaches(ctx, place.GitOps, commit, hashes)
		if err != nil {
			return nil, fmt.Errorf("read the history of the GitOps branch %q: %w", place.GitOps.Ref, err)
		}
		maps.Copy(known, reached)
	}
	if r.subject.relations == nil || len(r.subject.relations) > maxRelations {
		r.subject.relations = map[string]map[string]bool{}
	}
	r.subject.relations[key] = known
	return func(hash string) (reached, found bool) {
		reached, found = known[hash]
		return reached, found
	}, nil
}

// ClusterOf converts a cluster for package comply.
func ClusterOf(c ledger.Cluster) comply.Cluster {
	member := comply.Cluster{Name: c.Name, Heard: c.LastHeard, ReadUntil: c.ReadUntil, Registered: c.Registration.At}
	for _, m := range c.Registration.Memberships {
		member.Memberships = append(member.Memberships, comply.Membership(m))
	}
	return member
}

// Observations converts states for package comply. It leaves out removed reconcilers, which follow nothing.
func Observations(states []ledger.ReconcilerState) []comply.Observation {
	all := make([]comply.Observation, 0, len(states))
	for i := range states {
		if states[i].Source.Repository != "" {
			all = append(all, observationOf(&states[i]))
		}
	}
	return all
}

// unhealthy describes objects that are not healthy: the first, which is the worst, and how many more there are.
func unhealthy(objects []hub.ObjectHealth) string {
	switch len(objects) {
	case 0:
		return ""
	case 1:
		return objects[0].String()
	}
	return fmt.Sprintf("%s (and %d more)", objects[0], len(objects)-1)
}

// ReconcilerName returns, for example, "Kustomization flux-system/apps".
func ReconcilerName(id ledger.ReconcilerID) string {
	if id.Namespace == "" {
		return id.Kind + " " + id.Name
	}
	return id.Kind + " " + id.Namespace + "/" + id.Name
}
