package promote

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/text/revisions"
)

// registry loads the registered clusters when they are first needed.
type registry struct {
	ledger   Ledger
	clusters []comply.Cluster
	read     bool
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
	}
	r.read = true
	return r.clusters, nil
}

// verdict returns whether the clusters of an environment run the head of its GitOps branch.
func (p *Promoter) verdict(ctx context.Context, r *registry, place EnvironmentState, gate comply.Gate, published, now time.Time) (comply.Verdict, error) {
	if place.Rollout.State != decide.RolloutMerged {
		return comply.Verdict{}, nil
	}
	source := place.GitOps
	source.Repository = ledger.CleanRepository(source.Repository)
	clusters, states, err := p.read(ctx, r, source)
	if err != nil {
		return comply.Verdict{}, err
	}
	history := comply.History(func(hash string) (bool, bool) { return hash == place.Rollout.Commit, true })
	if !place.exact {
		if history, err = p.history(ctx, place, states); err != nil {
			return comply.Verdict{}, err
		}
	}
	return comply.Judge(comply.Question{
		Commit: place.Rollout.Commit, Published: published, Expected: place.expect(clusters, source.Ref),
		Observations: Observations(states), History: history, Gate: gate,
	}, now), nil
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

// history looks up the commits that clusters run in Git, each commit once.
func (p *Promoter) history(ctx context.Context, place EnvironmentState, states []ledger.ReconcilerState) (comply.History, error) {
	commit := place.Rollout.Commit
	known := map[string]bool{commit: true}
	var hashes []string
	lookedUp := map[string]bool{commit: true}
	for _, s := range states {
		if hash := revisions.Parse(s.Revision).Hash; hash != "" && !lookedUp[hash] {
			lookedUp[hash] = true
			hashes = append(hashes, hash)
		}
	}
	if len(hashes) > 0 {
		slices.Sort(hashes)
		reached, err := p.Ancestry.Reaches(ctx, place.GitOps, commit, hashes)
		if err != nil {
			return nil, fmt.Errorf("read the history of the GitOps branch %q: %w", place.GitOps.Ref, err)
		}
		for hash, is := range reached {
			known[hash] = is
		}
	}
	return func(hash string) (reached, found bool) {
		reached, found = known[hash]
		return reached, found
	}, nil
}

// ClusterOf converts a cluster for package comply.
func ClusterOf(c ledger.Cluster) comply.Cluster {
	member := comply.Cluster{Name: c.Name, Heard: c.LastHeard, ReadUntil: c.ReadUntil}
	for _, m := range c.Registration.Memberships {
		member.Memberships = append(member.Memberships, comply.Membership(m))
	}
	return member
}

// Observations converts states for package comply. It leaves out removed reconcilers, which follow nothing.
func Observations(states []ledger.ReconcilerState) []comply.Observation {
	all := make([]comply.Observation, 0, len(states))
	for _, s := range states {
		if s.Source.Repository == "" {
			continue
		}
		observed := s.Confirmed
		if observed.IsZero() {
			observed = s.Since
		}
		all = append(all, comply.Observation{
			Cluster: s.Reconciler.Cluster, Reconciler: ReconcilerName(s.Reconciler),
			Source: s.Source, Revision: revisions.Parse(s.Revision), State: s.State, Message: s.Message,
			Applied: revisions.Parse(s.Applied), Health: s.Health, Unhealthy: unhealthy(s.Unhealthy),
			Observed: observed, Since: s.Since,
		})
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
