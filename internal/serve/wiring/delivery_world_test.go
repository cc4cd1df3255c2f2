package wiring

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/chart/charttest"
	"github.com/kalypso-io/kalypso/internal/chart/remote"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// shop is an application on the local forge: its source, configuration and GitOps repositories, a ledger, and a cluster in
// each environment. Tests advance its clock in minutes.
type shop struct {
	*world
	ledger *sqlite.Ledger
	now    time.Time
	chain  *deliver.Chain
	// silent holds the clusters that do not report, fails the clusters that fail with a message.
	silent map[string]bool
	fails  map[string]string
	// health is the health of clusters that are not healthy.
	health map[string]hub.Health
	// writes interrupts the running process.
	writes *interruption
}

const (
	shopSource  = "platform/shop"
	shopConfigs = "platform/shop-configs"
	shopGitOps  = "platform/shop-gitops"
)

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{world: newEmptyWorld(t), now: fleettest.Time.Add(time.Hour), silent: map[string]bool{}, fails: map[string]string{}, health: map[string]hub.Health{}}
	for _, name := range []string{"shop", "shop-configs", "shop-gitops"} {
		s.Create(name)
	}
	s.Push(shopSource, "main", fleettest.Shop())
	s.Push(shopConfigs, "dev", map[string]string{"values.yaml": "greeting: hi\n", "functional-test/values.yaml": "replicas: 2\n"})
	s.Push(shopConfigs, "stage", map[string]string{"values.yaml": "greeting: good day\n", "uat-test/values.yaml": "replicas: 3\n"})
	s.Push(shopGitOps, "main", map[string]string{"README.md": "the shop\n"})
	var err error
	if s.ledger, err = sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.ledger.Close() })
	s.assign("dev", "functional-test")
	s.assign("stage", "uat-test")
	s.reboot()
	return s
}

// assign records the assignment of a target to a cluster type, and registers a cluster of the type.
func (s *shop) assign(environment, target string) {
	s.Helper()
	err := s.ledger.RecordCommit(s.Context(), ledger.Commit{
		Repository: "https://git.example/platform-gitops", Branch: environment, SHA: strings.Repeat("a", 40), Kind: ledger.BranchPlatform,
		Environment: environment, Committed: fleettest.Time, Recorded: fleettest.Time,
		Assignments: []ledger.Assignment{{ClusterType: "large", Target: fleet.TargetName("shop", target), Workload: "shop"}},
	})
	if err == nil {
		err = s.ledger.Register(s.Context(), ledger.Registration{
			Cluster: environment + "-1", Memberships: []ledger.Membership{{Environment: environment, ClusterType: "large"}}, At: fleettest.Time,
		})
	}
	if err != nil {
		s.Fatal(err)
	}
}

// reboot starts a new process with empty caches.
func (s *shop) reboot() {
	now := func() time.Time { return s.now }
	s.writes = &interruption{}
	promoter := &promote.Promoter{Ledger: interruptedLedger{s.ledger, s.writes}, Ancestry: &repository.Ancestry{Client: s.flows.Client}, Now: now}
	s.Cleanup(promoter.Close)
	s.chain = &deliver.Chain{
		Deliverer: &deliver.Deliverer{
			Drafter:   deliver.Drafter{Renderer: charttest.InProcess{}, Loader: s.loader(), Memory: &deliver.Memory{}},
			Committer: interruptedCommitter{s.flows.Commits, s.writes}, Forges: interruptedForges{s.flows.Forges, s.writes},
		},
		Promoter: promoter, Lines: repository.Lines{Client: s.flows.Client}, Ledger: s.ledger, Branches: s.flows.connected("").Promotion.Rings, Now: now,
	}
}

func (s *shop) loader() *deliver.Loader {
	return &deliver.Loader{
		Repositories: repository.NewDeliveryReader(s.flows.Client), Charts: repository.Charts{Client: &remote.Client{}}, Cache: &fleet.Cache{},
	}
}

func (s *shop) request() deliver.Request { return deliver.Request{Source: s.URL + "/" + shopSource} }

// built records the build of the head of main.
func (s *shop) built(version string) string {
	s.Helper()
	commit := s.Head(shopSource, "main")
	err := deliver.RecordBuild(s.Context(), s.ledger, deliver.SubjectOf(s.URL+"/"+shopSource, "shop"),
		deliver.Build{Commit: commit, Version: version, Image: version}, "ci", s.now)
	if err != nil {
		s.Fatal(err)
	}
	return commit
}

// report makes all clusters apply their branches and report.
func (s *shop) report() {
	s.Helper()
	for environment, target := range map[string]string{"dev": "functional-test", "stage": "uat-test"} {
		cluster, revision := environment+"-1", s.Head(shopGitOps, environment)
		if s.silent[cluster] || revision == "" {
			continue
		}
		r := ledger.Report{
			Reconciler: ledger.ReconcilerID{Cluster: cluster, Kind: "Kustomization", Namespace: "flux-system", Name: "shop"},
			Outcome: ledger.Outcome{
				Source:   ledger.Source{Repository: ledger.CleanRepository(s.URL + "/" + shopGitOps), Ref: environment, Path: target},
				Revision: revision, State: ledger.StateReady, Health: hub.HealthHealthy,
			},
			Observed: s.now, Received: s.now,
		}
		if health := s.health[cluster]; health != "" {
			r.State, r.Applied, r.Health = ledger.StateProgressing, revision, health
			if health == hub.HealthDegraded {
				r.State = ledger.StateFailed
			}
			r.Unhealthy = []hub.ObjectHealth{{Kind: "Deployment", Namespace: "shop", Name: "web", Health: health, Message: "container web: CrashLoopBackOff"}}
		}
		if s.fails[cluster] != "" {
			r.State, r.Message = ledger.StateFailed, s.fails[cluster]
		}
		if err := s.ledger.Report(s.Context(), r); err != nil {
			s.Fatal(err)
		}
	}
}

// minute advances the clock by a minute and runs clusters, rounds and promotion.
func (s *shop) minute() (*deliver.Delivered, error) {
	s.Helper()
	s.now = s.now.Add(time.Minute)
	s.report()
	s.chain.Deliverer.Loader = s.loader()
	return s.chain.Round(s.Context(), s.request())
}

// quiet runs minutes until nothing is left to do.
func (s *shop) quiet() *deliver.Delivered {
	s.Helper()
	idle := 0
	for range 40 {
		d, err := s.minute()
		if err != nil {
			s.Fatal(err)
		}
		for name, err := range d.Errors {
			s.Fatalf("%s: %v", name, err)
		}
		if idle++; len(d.Did) > 0 {
			idle = 0
		}
		if idle == 2 {
			return d
		}
	}
	s.Fatal("it does not come to rest")
	return nil
}

// open returns the open pull request of an environment.
func (s *shop) open(environment string) forge.PullRequest {
	s.Helper()
	changes, err := s.Repo(shopGitOps).FindPullRequests(s.Context(), forge.PullRequestFilter{State: forge.Open, Base: environment})
	if err != nil || len(changes) != 1 {
		s.Fatalf("%d changes of %s are open, want one (%v)", len(changes), environment, err)
	}
	return changes[0]
}

func (s *shop) mergeIn(environment string) {
	s.Helper()
	c := s.open(environment)
	if _, err := s.Repo(shopGitOps).MergePullRequest(s.Context(), c.Number, forge.Merge{Head: c.Head.Commit}); err != nil {
		s.Fatal(err)
	}
}

// status returns the status of a commit in a context, such as "success Deployed".
func (s *shop) status(repo, commit, context string) string {
	s.Helper()
	statuses, err := s.Repo(repo).Statuses(s.Context(), commit)
	if err != nil {
		s.Fatal(err)
	}
	i := slices.IndexFunc(statuses, func(st forge.Status) bool { return st.Context == context })
	if i < 0 {
		return ""
	}
	return string(statuses[i].State) + " " + statuses[i].Description
}

// story describes the whole state, for a failing test.
func (s *shop) story(d *deliver.Delivered) string {
	var b strings.Builder
	for _, e := range d.Promotion.Environments {
		fmt.Fprintf(&b, "%s: %s %.7s: %s\n", e.Environment, e.Phase, e.Commit, e.Reason)
	}
	return b.String()
}
