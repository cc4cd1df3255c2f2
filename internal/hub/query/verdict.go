package query

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
)

// worstCount limits the causes and the reconcilers in a gate.
const worstCount = 5

// gateOf converts a verdict; nil if it has no commit.
func gateOf(v comply.Verdict) *Gate {
	if v.Commit == "" {
		return nil
	}
	causes := v.Causes()
	return &Gate{
		Commit: v.Commit, Result: v.Result, Reason: v.Reason, Counts: v.Counts, Causes: causes[:min(len(causes), worstCount)],
		Worst: worst(v.Reconcilers, worstCount), Since: utc(v.Since), Next: utc(v.Next),
	}
}

// urgency orders states by urgency.
var urgency = map[comply.State]int{comply.Broken: 1, comply.Offline: 2, comply.Missing: 3, comply.Behind: 4}

func worst(all []comply.Reconciler, most int) []comply.Reconciler {
	var bad []comply.Reconciler
	for i := range all {
		if all[i].State != comply.Reached {
			bad = append(bad, all[i])
		}
	}
	slices.SortStableFunc(bad, func(a, b comply.Reconciler) int {
		return cmp.Or(cmp.Compare(urgency[a.State], urgency[b.State]), a.Since.Compare(b.Since))
	})
	return bad[:min(most, len(bad))]
}

// verdicts computes and caches verdicts for one query.
type verdicts struct {
	*Observer
	asOf         time.Time
	environments map[string]*judged
}

// judged is the input for verdicts on an environment.
type judged struct {
	// known is the verdict of the last round; nil if only the ledger is known.
	known *comply.Verdict
	// head is the commit of the platform branch that clusters should run; nil if there is none.
	head    *ledger.Commit
	history comply.History
	// ringRefs are the recorded branches of rings that clusters may follow instead, sorted.
	ringRefs []string
	// scheduled is the last scheduling round; nil if there is none.
	scheduled *Scheduled
	// rings are the rings of the environment, according to the last round.
	rings []promote.RingStanding
	// unpublished means that head has no assignments of Kalypso yet.
	unpublished bool
}

func (o *Observer) verdicts(asOf time.Time) *verdicts {
	return &verdicts{Observer: o, asOf: asOf, environments: map[string]*judged{}}
}

// of returns the input for an environment.
func (v *verdicts) of(ctx context.Context, environment string) (*judged, error) {
	if j := v.environments[environment]; j != nil {
		return j, nil
	}
	j := &judged{}
	if v.asOf.IsZero() {
		for _, s := range v.standings() {
			if s.name == environment && s.scheduled != nil {
				j.scheduled = s.scheduled
			}
			if s.name == environment && s.promotion != nil && s.promotion.Verdict.Commit != "" {
				j.known, j.rings = &s.promotion.Verdict, s.promotion.Rings
			}
		}
	}
	if j.known == nil {
		if err := v.fromLedger(ctx, environment, j); err != nil {
			return nil, err
		}
	}
	v.environments[environment] = j
	return j, nil
}

// fromLedger reads the head of the platform branch at the time, and its history.
func (v *verdicts) fromLedger(ctx context.Context, environment string, j *judged) error {
	last, err := v.Ledger.Commits(ctx, ledger.CommitQuery{
		Environment: environment, Kind: ledger.BranchPlatform, Heads: v.asOf.IsZero(), To: until(v.asOf), Limit: 1,
	})
	if err != nil || len(last) == 0 {
		return err
	}
	j.head = &last[0]
	if j.head.SourceCommit == "" {
		content, err := v.Ledger.Commit(ctx, j.head.Repository, j.head.Branch, j.head.SHA)
		if err != nil {
			return err
		}
		j.unpublished = len(content.Assignments) == 0
	}
	hashes, err := v.recorded(ctx, j.head)
	if err != nil {
		return err
	}
	// One query for all rings is faster than one for each.
	rings, err := v.Ledger.Commits(ctx, ledger.CommitQuery{
		Repository: j.head.Repository, Environment: environment, Kind: ledger.BranchRing, To: until(v.asOf), Limit: maxRingCommits,
	})
	for _, c := range rings {
		hashes[c.SHA] = hashes[c.SHA] || c.Origin == j.head.SHA
		j.ringRefs = append(j.ringRefs, c.Branch)
	}
	slices.Sort(j.ringRefs)
	j.ringRefs, j.history = slices.Compact(j.ringRefs), comply.HistoryOf(hashes)
	return err
}

// maxRingCommits is how many commits of rings are read, the newest first. A cluster at an older one is behind in any case.
const maxRingCommits = 20_000

// recorded returns the recorded commits of a branch; only the head counts as reached.
func (v *verdicts) recorded(ctx context.Context, head *ledger.Commit) (map[string]bool, error) {
	commits, err := v.Ledger.Commits(ctx, ledger.CommitQuery{Repository: head.Repository, Branch: head.Branch, To: until(v.asOf)})
	hashes := make(map[string]bool, len(commits))
	for _, c := range commits {
		hashes[c.SHA] = c.SHA == head.SHA
	}
	return hashes, err
}

// commit returns the commit that clusters should run, or "".
func (j *judged) commit() string {
	switch {
	case j.known != nil:
		return j.known.Commit
	case j.head != nil:
		return j.head.SHA
	}
	return ""
}

// verdict returns the verdict on all members: that of the last round, if there is one.
func (v *verdicts) verdict(ctx context.Context, s standing) (comply.Verdict, error) {
	if s.promotion != nil && s.promotion.Verdict.Commit != "" {
		return s.promotion.Verdict, nil
	}
	return v.allMembers(ctx, s.name)
}

// allMembers returns the verdict on all members of an environment.
func (v *verdicts) allMembers(ctx context.Context, environment string) (comply.Verdict, error) {
	j, err := v.of(ctx, environment)
	if err != nil || j.known != nil || j.head == nil {
		return valueOf(j), err
	}
	var clusters []ledger.Cluster
	var states []ledger.ReconcilerState
	group, reads := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		clusters, err = v.Ledger.Clusters(reads, ledger.ClusterQuery{Environment: environment, AsOf: v.asOf})
		return err
	})
	group.Go(func() (err error) {
		states, err = v.followers(reads, j, "")
		return err
	})
	if err := group.Wait(); err != nil {
		return comply.Verdict{}, err
	}
	return v.judge(ctx, environment, j, clusters, states)
}

// followers returns the states of the reconcilers that follow the platform branch, or the branch of a ring; those of one cluster if it
// is not empty.
func (v *verdicts) followers(ctx context.Context, j *judged, cluster string) ([]ledger.ReconcilerState, error) {
	q := ledger.StateQuery{Cluster: cluster, Repository: j.head.Repository, Ref: j.head.Branch, AsOf: v.asOf}
	if len(j.ringRefs) > 0 {
		q.Ref = "" // there may be hundreds
	}
	page, err := v.Ledger.States(ctx, q)
	return slices.DeleteFunc(page.States, func(s ledger.ReconcilerState) bool {
		_, ring := slices.BinarySearch(j.ringRefs, s.Source.Ref)
		return !ring && s.Source.Ref != j.head.Branch
	}), err
}

func valueOf(j *judged) comply.Verdict {
	if j == nil || j.known == nil {
		return comply.Verdict{}
	}
	return *j.known
}

// clusterReconcilers returns the expected reconcilers of one cluster in an environment with their states.
func (v *verdicts) clusterReconcilers(ctx context.Context, environment string, cluster ledger.Cluster) ([]comply.Reconciler, error) {
	j, err := v.of(ctx, environment)
	if err != nil {
		return nil, err
	}
	if j.known != nil {
		return ofCluster(j.known.Reconcilers, cluster.Name), nil
	}
	if j.head == nil {
		return nil, nil
	}
	states, err := v.followers(ctx, j, cluster.Name)
	if err != nil {
		return nil, err
	}
	verdict, err := v.judge(ctx, environment, j, []ledger.Cluster{cluster}, states)
	return verdict.Reconcilers, err
}

// ofCluster returns the reconcilers of a cluster; all are sorted by cluster.
func ofCluster(all []comply.Reconciler, cluster string) []comply.Reconciler {
	i, _ := slices.BinarySearchFunc(all, cluster, func(r comply.Reconciler, name string) int { return strings.Compare(r.Cluster, name) })
	end := i
	for end < len(all) && all[end].Cluster == cluster {
		end++
	}
	return all[i:end]
}

// judge returns the verdict of the zero gate, with the present time after which a cluster is offline. The ledger
// does not have the rings of clusters: a cluster is in the ring whose branch it follows.
func (v *verdicts) judge(ctx context.Context, environment string, j *judged, clusters []ledger.Cluster, states []ledger.ReconcilerState) (comply.Verdict, error) {
	members, err := v.membersOf(ctx, clusters)
	if err != nil {
		return comply.Verdict{}, err
	}
	expected := comply.ExpectPlatform(members, environment, hub.Source{Repository: j.head.Repository, Ref: j.head.Branch}, comply.Folders{Unknown: true})
	follows := followedRefs(j.head.Branch, states)
	for i := range expected {
		e := &expected[i]
		e.AnyParent = true // the ledger does not have the path of the GitOps branch, nor the folders of clusters
		e.Source.Ref = cmp.Or(follows[e.Cluster], e.Source.Ref)
	}
	return v.judgeStates(comply.Question{
		Commit: j.head.SHA, Unpublished: j.unpublished, History: j.history, Expected: expected, Gate: v.gate(environment),
	}, states), nil
}

// gate returns the zero gate with the time after which a cluster of an environment is offline by its present rules.
// Earlier rules are not known.
func (v *verdicts) gate(environment string) comply.Gate {
	for _, s := range v.standings() {
		if p := s.promotion; s.name == environment && p != nil && p.Rules != nil {
			rules, _ := comply.ParseGate(p.Rules.Gate) // the round says what is invalid
			return comply.Gate{OfflineAfter: rules.OfflineAfter}
		}
	}
	return comply.Gate{}
}

// followedRefs returns the branch with the manifests that each cluster follows: that of a ring, or else the platform branch, from which
// a cluster in a ring learns its ring. Of several rings, it is the one with the latest change.
func followedRefs(platform string, states []ledger.ReconcilerState) map[string]string {
	refs, since := make(map[string]string, len(states)), map[string]time.Time{}
	for i := range states {
		s := &states[i]
		at := s.Reconciler.Cluster
		known, ring := refs[at], s.Source.Ref != platform
		if known == "" || known == platform || ring && s.Since.After(since[at]) {
			refs[at] = s.Source.Ref
			if ring {
				since[at] = s.Since
			}
		}
	}
	return refs
}

// membersOf converts clusters for package comply. For the past, they were heard at that time, unless the ledger
// knows that they were silent: it keeps silences once they are over, and when a cluster was heard last.
func (v *verdicts) membersOf(ctx context.Context, clusters []ledger.Cluster) ([]comply.Cluster, error) {
	silent, err := v.silentSince(ctx, clusters)
	if err != nil {
		return nil, err
	}
	members := make([]comply.Cluster, len(clusters))
	for i, c := range clusters {
		members[i] = promote.ClusterOf(c)
		if v.asOf.IsZero() {
			continue
		}
		members[i].ReadUntil = time.Time{}
		if c.LastHeard.IsZero() || c.LastHeard.After(v.asOf) {
			members[i].Heard = v.asOf
		}
		if since, was := silent[c.Name]; was {
			members[i].Heard = since
		}
	}
	return members, nil
}

// silentSince returns since when clusters were silent at the time; nil for now.
func (v *verdicts) silentSince(ctx context.Context, clusters []ledger.Cluster) (map[string]time.Time, error) {
	if v.asOf.IsZero() {
		return nil, nil
	}
	q := ledger.SilenceQuery{From: v.asOf, To: until(v.asOf)}
	if len(clusters) == 1 {
		q.Cluster = clusters[0].Name
	}
	silences, err := v.Ledger.Silences(ctx, q)
	since := make(map[string]time.Time, len(silences))
	for _, s := range silences {
		since[s.Cluster] = s.From
	}
	return since, err
}

// judgeStates judges states.
func (v *verdicts) judgeStates(q comply.Question, states []ledger.ReconcilerState) comply.Verdict {
	q.Observations = promote.Observations(states)
	verdict := comply.Judge(q, v.at(v.asOf))
	if !v.asOf.IsZero() {
		verdict.Next = time.Time{} // the past does not change
	}
	return verdict
}

// utc returns a time in UTC; zero stays zero.
func utc(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC()
}
