package web_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/deliver/tree"
	fleetpkg "github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/placement"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/serve/web"
	"github.com/kalypso-io/kalypso/internal/serve/web/setting"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// foreign is in every name and text that the team "shop" must not see: those of the other team, and of the platform about it.
const foreign = "zulu"

// teams is a server with two teams, "shop" and "zulu-team", which share clusters, environments and a control plane.
type teams struct {
	*world
	api *api.Server
	url string
}

func newTeams(t testing.TB) *teams {
	t.Helper()
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	w := &teams{world: &world{t: t, ledger: l}}
	now := func() time.Time { return noon }
	observer := &query.Observer{Ledger: l, Fleet: &w.fleet, Now: now}
	guard := &access.Guard{Store: l, Now: now}
	log := slog.New(slog.NewTextHandler(&w.log, nil))
	w.pages = &web.Pages{
		Observer: observer, Guard: guard, Log: log, URL: "https://kalypso.example.com", Now: now,
		Alerts: func() []web.Alert { return []web.Alert{{What: "the repository zulu-gitops cannot be read"}} },
	}
	w.api = &api.Server{
		Observer: observer, Control: &promote.Control{Ledger: l, Now: now}, Intake: &ingest.Intake{Ledger: l}, Guard: guard, Ledger: l, Events: &api.Events{}, Log: log, Now: now,
		Registrar: &ingest.Registrar{Ledger: l, NewSecret: func(role string) secret.Value { return access.NewToken(access.Role(role)) }},
	}
	w.api.Values = ownValues{t}
	observer.Histories, w.api.Targets = ownHistory{t}, ownTargets{t}
	w.facts()
	mux := http.NewServeMux()
	w.pages.Register(mux)
	h := w.api.Handler()
	mux.Handle("/api/", h)
	(&setting.Handlers{Pages: w.pages, Forms: noSessions{}, API: h, Log: log}).Register(mux)
	mux.Handle(api.AssistantPath, h)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	t.Cleanup(w.api.Events.Close)
	w.url = server.URL
	return w
}

// token stores a token with a role in a workspace; in the whole server without one.
func (w *teams) token(role access.Role, workspace string, environments ...string) string {
	w.t.Helper()
	r := access.TokenRequest{Name: string(role) + workspace + time.Duration(len(environments)).String(), Role: role, Environments: environments}
	if workspace != "" {
		r.Workspaces = []string{workspace}
	}
	value, _, err := access.Tokens{Store: w.ledger, Guard: w.pages.Guard}.Create(w.t.Context(), r, access.Identity{Name: "test", Source: access.ByToken})
	w.must(err)
	return value.Reveal()
}

// send sends a request, and returns the answer with its headers as text.
func (w *teams) send(ctx context.Context, method, path, token string, body io.Reader, headers ...string) (*http.Response, string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, w.url+path, body)
	w.must(err)
	r.Header.Set("Authorization", "Bearer "+token)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	a, err := http.DefaultTransport.RoundTrip(r)
	w.must(err)
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if ctx.Err() == nil {
		w.must(err)
	}
	return a, string(text)
}

const host = "https://git.example.com/"

// shopTarget and zuluTarget are targets of the two teams.
func teamTarget(workspace, workload, environment string) *fleetpkg.Target {
	return &fleetpkg.Target{
		Name: workload + "-main", ShortName: "main", Workload: workload, Workspace: workspace, Labels: map[string]string{"of": workload},
		Manifests: map[string]string{"repo": host + workload + "-gitops", "branch": environment, "path": "main"},
	}
}

// facts fills the ledger and the fleet. Environments are dev and stage, which both teams have; prod, which shop has without a role there, so that
// what it has there is called zulu, too; and zulu-env.
func (w *teams) facts() {
	at := noon.Add(-time.Hour)
	for name, members := range map[string][]ledger.Membership{
		"large-01": {{Environment: "dev", ClusterType: "large"}, {Environment: "zulu-env", ClusterType: "zulu-type"}}, "large-02": {{Environment: "dev", ClusterType: "large"}},
		"large-03": {{Environment: "stage", ClusterType: "large"}}, "zulu-01": {{Environment: "dev", ClusterType: "zulu-type"}}, "a-zulu": {{Environment: "zulu-env", ClusterType: "zulu-type"}},
		"large-zulu": {{Environment: "prod", ClusterType: "large"}},
	} {
		w.must(w.ledger.Register(w.t.Context(), ledger.Registration{Cluster: name, Memberships: members, Labels: map[string]string{"region": "eu"}, At: at, By: "zulu-admin"}))
	}
	w.fleet = fleet{{
		URL: controlPlane, Environments: []string{"dev", "prod", "stage", "zulu-env"}, Scheduling: map[string]*query.Scheduled{},
		Promotion: &promote.Outcome{
			Subject: controlPlane, At: noon, Line: []promote.Commit{{SHA: promoted, Subject: "onboard zulu"}, {SHA: older, Subject: "zulu again"}},
			Problems: []fleetpkg.Problem{{Message: "zulu"}},
		},
	}}
	for _, environment := range []string{"dev", "stage", "prod", "zulu-env"} {
		w.environmentFacts(environment, at)
	}
	for _, team := range []struct{ workspace, workload string }{{"shop", "cart"}, {"zulu-team", "zulu"}} {
		w.fleet[0].Applications = append(w.fleet[0].Applications, w.applicationOf(team.workspace, team.workload, at))
	}
	w.must(w.ledger.RecordAudit(w.t.Context(), ledger.AuditEntry{At: at, By: "zulu-admin", Action: "pause", Subject: "dev"}))
}

func (w *teams) environmentFacts(environment string, at time.Time) {
	ctx := w.t.Context()
	s := &fleetpkg.Snapshot{Environment: environment, GitOps: &fleetpkg.GitOpsRepo{Repo: gitOps, Branch: environment}}
	s.ClusterTypes = []*fleetpkg.ClusterType{{Name: "large", Labels: map[string]string{"size": "large"}}, {Name: "zulu-type", Labels: map[string]string{"for": "zulu"}}}
	s.Clusters = []*fleetpkg.Cluster{{Name: "zulu-01", Type: "zulu-type"}}
	s.Problems = []fleetpkg.Problem{{Message: "zulu is wrong"}}
	zulu := teamTarget("zulu-team", "zulu", environment)
	s.Targets = append(s.Targets, zulu)
	only := func(selector string) labels.Selector {
		parsed, err := labels.Parse(selector)
		w.must(err)
		return parsed
	}
	s.Policies = []*fleetpkg.Policy{{Name: "all-large", Targets: labels.Everything(), ClusterTypes: only("size=large")}, {Name: "zulu-policy", Targets: only("of=zulu"), ClusterTypes: labels.Everything()}}
	workloads := []string{"zulu"}
	if environment != "zulu-env" {
		cart := teamTarget("shop", "cart", environment)
		s.Targets = append(s.Targets, cart)
		workloads = append(workloads, "cart")
		if environment == "dev" { // it names the platform's branch as its own, to read what the platform's reconcilers report
			s.Targets = append(s.Targets, &fleetpkg.Target{
				Name: "cart-side", ShortName: "side", Workload: "cart", Workspace: "shop", Labels: cart.Labels,
				Manifests: map[string]string{"repo": gitOps, "branch": environment, "path": "large"},
			})
		}
	}
	p := &plan.Plan{
		Environment: environment, Counts: plan.Counts{Added: 7}, Problems: s.Problems, Refusals: []plan.Refusal{{}}, Drift: nil,
		Assignments: []plan.Change{
			{Op: plan.Held, ClusterType: "large", Target: "cart-main", Title: "cart/main", Reason: &fleetpkg.Problem{Kind: "held", Message: "zulu-main is in the way", Hint: "ask zulu"}},
			{Op: plan.Added, ClusterType: "zulu-type", Target: "zulu-main", Title: "zulu/main"},
		},
	}
	w.fleet[0].Scheduling[environment] = &query.Scheduled{At: noon, Snapshot: s, Decisions: placement.Decide(s, placement.Options{}), Outcome: &schedule.Outcome{
		Plan: p, Waits: "for zulu", PullRequest: &forge.PullRequest{Number: 7, Title: environment + ": add zulu", URL: gitOps + "/pulls/7", CreatedAt: at},
	}}
	platform := "d" + promoted[:35] + "0000"
	reconciler := func(cluster, clusterType string, state comply.State) comply.Reconciler {
		return comply.Reconciler{Cluster: cluster, ClusterType: clusterType, Name: "Kustomization flux-system/zulu", State: state, Reason: "zulu-main fails", Since: at}
	}
	w.fleet[0].Promotion.Environments = append(w.fleet[0].Promotion.Environments, promote.Standing{
		Environment: environment, Phase: decide.Failed, Commit: promoted, Candidate: older, Reason: "zulu fails", Since: at, After: []string{"zulu-env"},
		GitOps: promote.GitOps{Repo: gitOps, Branch: environment}, Rollout: decide.Rollout{State: decide.RolloutMerged, Commit: platform, Reason: "zulu", URL: "https://zulu"},
		Verdict: comply.Verdict{Commit: platform, Result: comply.Failed, Reason: "zulu-01 fails", Counts: comply.Counts{Expected: 4, Counted: 4, Required: 4, Failed: 4}, Reconcilers: []comply.Reconciler{
			reconciler("a-zulu", "zulu-type", comply.Broken), reconciler("large-01", "large", comply.Reached), reconciler("large-02", "large", comply.Broken), reconciler("zulu-01", "zulu-type", comply.Broken),
		}},
		Pause: &decide.Pause{By: "zulu-admin", Why: "zulu", At: at}, Request: &decide.Request{Commit: older, By: "zulu-admin"}, Aborts: []decide.Abort{{Commit: older, By: "zulu-admin"}},
		Proposals: []promote.Proposal{{Proposal: decide.Proposal{Commit: older, URL: "https://zulu"}}},
		Rings:     []promote.RingStanding{{Name: "zulu-ring", Ring: "zulu-ring", Branch: "zulu", Reason: "zulu"}}, Actions: []string{"zulu"},
	})
	assignments := []ledger.Assignment{{ClusterType: "zulu-type", Target: "zulu-main", Workload: "zulu", Workspace: "zulu-team"}}
	if len(workloads) > 1 {
		assignments = append(assignments, ledger.Assignment{ClusterType: "large", Target: "cart-main", Workload: "cart", Workspace: "shop"})
	}
	w.must(w.ledger.RecordCommit(ctx, ledger.Commit{
		Repository: gitOps, Branch: environment, SHA: platform, Kind: ledger.BranchPlatform, Environment: environment, SourceCommit: promoted, Committed: at, Recorded: at, Assignments: assignments,
	}))
	for _, step := range []string{"started", "published", "stateChanged", "paused"} {
		w.must(w.ledger.RecordStep(ctx, ledger.Step{
			PromotionID: ledger.PromotionID{Subject: controlPlane, Commit: promoted, Environment: environment}, Kind: step, Reason: "zulu", By: "zulu-admin", At: at, Detail: json.RawMessage(`{"on":"zulu"}`),
		}))
	}
	for _, workload := range workloads {
		w.workloadFacts(environment, workload, at)
	}
}

// workloadFacts records what a workload wants and runs in an environment.
func (w *teams) workloadFacts(environment, workload string, at time.Time) {
	ctx := w.t.Context()
	workspace, version, said := "shop", "1.4.2", "applied"
	if workload == "zulu" || environment == "prod" {
		said, version = "zulu says no", "9.9-zulu"
	}
	if workload == "zulu" {
		workspace = "zulu-team"
	}
	sha := map[string]string{"zulu": "e", "cart": "a"}[workload] + map[string]string{"dev": "1", "stage": "2", "prod": "3", "zulu-env": "4"}[environment] + app1[2:]
	w.must(w.ledger.RecordCommit(ctx, ledger.Commit{
		Repository: host + workload + "-gitops", Branch: environment, SHA: sha, Kind: ledger.BranchApplication, Environment: environment, Committed: at, Recorded: at,
		Versions: []ledger.Version{{Workload: workload, Workspace: workspace, Target: "main", Environment: environment, Path: "main", Version: version, Built: at.Add(-time.Hour)}},
	}))
	clusters := map[string][]string{"dev": {"large-01", "large-02", "zulu-01"}, "stage": {"large-03"}, "prod": {"large-zulu"}, "zulu-env": {"a-zulu", "large-01"}}[environment]
	for i, cluster := range clusters {
		if workload == "cart" && cluster == "zulu-01" {
			continue
		}
		o := ledger.Outcome{Source: ledger.Source{Repository: host + workload + "-gitops", Ref: environment, Path: "main"}, Revision: sha, State: ledger.StateReady, Message: said}
		if i == 1 {
			o.State = ledger.StateFailed
		}
		w.reportOutcome(cluster, workload+"-"+environment, o, 40)
		w.reportOutcome(cluster, "zulu-platform-"+environment, ledger.Outcome{
			Source: ledger.Source{Repository: gitOps, Ref: environment, Path: "large"}, Revision: sha, State: ledger.StateFailed, Message: "zulu",
		}, 41)
	}
	w.must(w.ledger.RecordChange(ctx, ledger.ChangeEvent{
		Repository: host + workload + "-gitops", Branch: environment, Number: 3, Kind: "merged", Title: said, URL: host + workload + "-gitops/3", At: at,
	}))
}

// applicationOf returns an application after a round, with steps in the ledger.
func (w *teams) applicationOf(workspace, workload string, at time.Time) *query.Application {
	source := host + workload
	commit := map[string]string{"cart": "c", "zulu": "f"}[workload] + promoted[1:]
	outcome, published := &promote.Outcome{}, map[string]*deliver.Outcome{}
	for i, environment := range []string{"dev", "stage", "prod"} {
		reason, after := "deployed by "+workload, []string{"dev", "zulu-env"}
		if environment == "prod" {
			reason = "zulu"
		}
		outcome.Environments = append(outcome.Environments, promote.Standing{Environment: environment, Phase: decide.Good, Commit: commit, Reason: reason, After: after[:min(i, 2)]})
		published[environment] = &deliver.Outcome{GitOps: &deliver.GitOps{
			GitOpsBranch: schedule.GitOpsBranch{Location: schedule.Location{Repo: source + "-gitops", Branch: environment}, Head: schedule.Head{Commit: commit}},
			Published:    &tree.Published{Targets: []tree.PublishedTarget{{Name: "main", Pin: tree.Pin{Revision: commit}}}},
		}}
		w.must(w.ledger.RecordStep(w.t.Context(), ledger.Step{
			PromotionID: ledger.PromotionID{Subject: deliver.SubjectOf(source, workload), Commit: commit, Environment: environment}, Kind: "deployed", Reason: reason, At: at,
		}))
	}
	return query.Delivered(query.Round{
		ControlPlane: controlPlane, Request: deliver.Request{Source: source, Branch: "main", Workload: workload, Workspace: workspace}, At: noon,
		Found: &deliver.Delivered{
			App:       &deliver.Application{Source: schedule.Input{Commit: commit}},
			Commits:   []promote.Commit{{SHA: commit, Subject: "work on " + workload}},
			Builds:    map[string]deliver.Build{commit: {Commit: commit, Version: "1.4.2"}},
			Promotion: outcome, Environments: published,
		},
	}, nil)
}
