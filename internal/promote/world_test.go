package promote_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

const controlPlane = "https://git.example/platform/control-plane"

// sha returns a full hash that starts with a few letters.
func sha(letters string) string {
	return (fmt.Sprintf("%x", letters) + strings.Repeat("0", 40))[:40]
}

// fakePipeline is a pipeline in memory. A promoted commit is published at once, on a GitOps branch named like the environment.
type fakePipeline struct {
	mu       sync.Mutex
	reading  promote.State
	statuses map[string]decide.Status // by commit and context
	others   []forge.Status           // statuses of others, on every commit
	posted   int                      // number of statuses
	reads    int                      // how often statuses were read
	refusal  error                    // of SetStatus
	// unreadable is the error of ReadStatuses.
	unreadable error
	// pulls are the reviewed pull requests of every rollout, and reviewsErr the error of reading them.
	pulls      []promote.ReviewedPullRequest
	reviewsErr error
	moves      []string
}

var (
	_ promote.Pipeline     = (*fakePipeline)(nil)
	_ promote.StatusReader = (*fakePipeline)(nil)
	_ promote.ReviewReader = (*fakePipeline)(nil)
)

// newFakePipeline returns a pipeline of environments in order, which all have the first commit.
func newFakePipeline(rules map[string]*v1alpha1.Promotion, line ...string) *fakePipeline {
	p := &fakePipeline{statuses: map[string]decide.Status{}}
	p.reading.Subject = controlPlane
	for name, r := range rules {
		p.reading.Stages = append(p.reading.Stages, decide.Stage{Name: name, Promotion: r})
	}
	p.reading.Chain, p.reading.Problems = decide.NewChain(p.reading.Stages, nil)
	for _, letters := range line {
		p.reading.Line = append(p.reading.Line, promote.Commit{SHA: sha(letters)})
	}
	for _, name := range p.reading.Chain.Names() {
		place := promote.EnvironmentState{
			Environment: name, Head: sha("head " + name),
			GitOps: hub.Source{Repository: "https://git.example/platform/gitops", Ref: name},
		}
		publish(&place, sha(line[0]))
		p.reading.Places = append(p.reading.Places, place)
	}
	return p
}

// publish promotes a commit and publishes its manifests.
func publish(place *promote.EnvironmentState, commit string) {
	place.Commit = commit
	place.Rollout = decide.Rollout{State: decide.RolloutMerged, Commit: revision(place.Environment, commit)}
}

// revision returns the commit of a GitOps branch with the manifests of a commit.
func revision(environment, commit string) string {
	return sha(environment)[:12] + commit[:28]
}

func (p *fakePipeline) Read(context.Context) (*promote.State, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.reading
	r.Places, r.Line = slices.Clone(r.Places), slices.Clone(r.Line)
	return &r, nil
}

func (p *fakePipeline) place(environment string) *promote.EnvironmentState {
	i := slices.IndexFunc(p.reading.Places, func(at promote.EnvironmentState) bool { return at.Environment == environment })
	return &p.reading.Places[i]
}

func (p *fakePipeline) Move(_ context.Context, m promote.Move) (promote.MoveResult, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if environment, stage := decide.SplitRing(m.Environment); stage != "" {
		return p.moveRing(environment, stage, m), nil
	}
	at := p.place(m.Environment)
	if at.Commit != m.From {
		return promote.MoveResult{}, nil
	}
	publish(at, m.Commit)
	did := fmt.Sprintf("%s goes from %s to %s", m.Environment, m.From[:6], m.Commit[:6])
	p.moves = append(p.moves, did)
	return promote.MoveResult{Did: did}, nil
}

func (p *fakePipeline) moveRing(environment, stage string, m promote.Move) promote.MoveResult {
	rings := p.place(environment).Rings
	stages := rings.Stages
	if m.Former {
		stages = rings.Former
	}
	i := slices.IndexFunc(stages, func(s promote.RingState) bool { return s.Name == stage })
	if stages[i].Commit != m.From {
		return promote.MoveResult{}
	}
	stages[i].Commit, stages[i].Head = m.Commit, m.Commit
	did := fmt.Sprintf("%s goes to %s", m.Environment, m.Commit)
	p.moves = append(p.moves, did)
	return promote.MoveResult{Did: did, Revision: m.Commit}
}

func (p *fakePipeline) Withdraw(context.Context, decide.Withdraw) error { return nil }

func (p *fakePipeline) SetStatus(_ context.Context, s decide.SetStatus) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refusal != nil {
		return p.refusal
	}
	p.statuses[s.Commit+" "+s.Context()] = s.Status
	p.posted++
	return nil
}

func (p *fakePipeline) ReadStatuses(context.Context, string) ([]forge.Status, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reads++
	return slices.Clone(p.others), p.unreadable
}

func (p *fakePipeline) ReadReviews(ctx context.Context, _, _, _ string) ([]promote.ReviewedPullRequest, error) {
	if _, bounded := ctx.Deadline(); !bounded {
		return nil, errors.New("a forge that does not answer would hold the round")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pulls, p.reviewsErr
}

// equals is a history in which no commit contains another.
type equals struct{ asked int }

func (e *equals) Reaches(_ context.Context, _ hub.Source, commit string, hashes []string) (map[string]bool, error) {
	e.asked += len(hashes)
	known := map[string]bool{}
	for _, hash := range hashes {
		known[hash] = hash == commit
	}
	return known, nil
}

func openLedger(t testing.TB) *sqlite.Ledger {
	t.Helper()
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

// join registers a cluster that serves environments.
func join(t testing.TB, l *sqlite.Ledger, name string, environments ...string) {
	t.Helper()
	r := ledger.Registration{Cluster: name, At: noon.Add(-time.Hour)}
	for _, e := range environments {
		r.Memberships = append(r.Memberships, ledger.Membership{Environment: e, ClusterType: "large"})
	}
	if err := l.Register(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// reports records that clusters run a revision.
func reports(t testing.TB, l *sqlite.Ledger, environment, revision string, at time.Time, clusters ...string) {
	t.Helper()
	var all []ledger.Report
	for _, c := range clusters {
		all = append(all, ledger.Report{
			Reconciler: ledger.ReconcilerID{Cluster: c, Kind: "Kustomization", Namespace: "flux-system", Name: "platform-" + environment},
			Outcome: ledger.Outcome{
				Source:   ledger.Source{Repository: "https://git.example/platform/gitops", Ref: environment, Path: "large"},
				Revision: revision, State: ledger.StateReady,
			},
			Observed: at, Received: at,
		})
	}
	if err := l.Report(t.Context(), all...); err != nil {
		t.Fatal(err)
	}
}

// pulls records that clusters in rings run a revision of the objects with which they pull, which are on the
// environment's own branch.
func pulls(t testing.TB, l *sqlite.Ledger, revision string, at time.Time, clusters ...string) {
	t.Helper()
	for _, c := range clusters {
		err := l.Report(t.Context(), ledger.Report{
			Reconciler: ledger.ReconcilerID{Cluster: c, Kind: "Kustomization", Namespace: "flux-system", Name: "pull-prod"},
			Outcome: ledger.Outcome{
				Source:   ledger.Source{Repository: "https://git.example/platform/gitops", Ref: "prod", Path: "rings/" + c},
				Revision: revision, State: ledger.StateReady,
			},
			Observed: at, Received: at,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// fails records that clusters cannot apply a revision.
func fails(t testing.TB, l *sqlite.Ledger, environment, revision string, at time.Time, clusters ...string) {
	t.Helper()
	for _, c := range clusters {
		err := l.Report(t.Context(), ledger.Report{
			Reconciler: ledger.ReconcilerID{Cluster: c, Kind: "Kustomization", Namespace: "flux-system", Name: "platform-" + environment},
			Outcome: ledger.Outcome{
				Source:   ledger.Source{Repository: "https://git.example/platform/gitops", Ref: environment, Path: "large"},
				Revision: revision, State: ledger.StateFailed, Message: "it cannot be applied",
			},
			Observed: at, Received: at,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
