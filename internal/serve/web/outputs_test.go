package web_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/cli/output"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/fleet/sweeptest"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/comply"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// tally is what is true of an environment.
type tally struct {
	gate comply.Counts
	// failing, silent and offline are clusters: those on which a workload fails, those that report themselves and
	// not all workloads, while none fails, and those that are not heard of.
	failing, silent, offline []string
	// workloads has the clusters on which each target fails, and lastFailed also counts those that are offline, by their last report.
	workloads  map[string][]string
	lastFailed map[string]int
	// rejected are the clusters that fail to apply the commit.
	rejected []string
}

// outputFleet is a random fleet of two environments, and what is true of it.
type outputFleet struct {
	*world
	random *rand.Rand
	truth  map[string]*tally
}

var outputEnvironments = []string{"dev", "stage"}

// outputTargets has the targets that are assigned to cluster types.
var outputTargets = map[string][]string{"large": {"hello", "shop"}, "small": {"shop"}, "bare": nil}

// newOutputFleet makes a fleet in which each cluster and each workload on it is in a random state.
func newOutputFleet(t *testing.T, seed uint64) *outputFleet {
	t.Helper()
	f := &outputFleet{newWorld(t), rand.New(rand.NewPCG(seed, 7)), map[string]*tally{}}
	for _, environment := range outputEnvironments {
		f.truth[environment] = &tally{workloads: map[string][]string{}, lastFailed: map[string]int{}}
		f.publish(environment)
	}
	for i := range 1 + f.random.IntN(9) {
		f.cluster(fmt.Sprintf("c%d", i), seed%3 == 0)
	}
	f.fleet = fleet{f.rounds()}
	return f
}

// publish records what an environment should run.
func (f *outputFleet) publish(environment string) {
	at := noon.Add(-50 * time.Minute)
	c := ledger.Commit{
		Repository: gitOps, Branch: environment, SHA: dev1, Kind: ledger.BranchPlatform, Environment: environment, SourceCommit: promoted, Committed: at, Recorded: at,
	}
	for clusterType, targets := range outputTargets {
		for _, name := range targets {
			c.Assignments = append(c.Assignments, ledger.Assignment{ClusterType: clusterType, Target: name + "-test", Workload: name, Workspace: "team-a"})
		}
	}
	f.must(f.ledger.RecordCommit(f.t.Context(), c))
	for _, name := range outputTargets["large"] {
		f.must(f.ledger.RecordCommit(f.t.Context(), ledger.Commit{
			Repository: application + name, Branch: environment, SHA: app1, Kind: ledger.BranchApplication, Environment: environment, Committed: at, Recorded: at,
			Versions: []ledger.Version{{Workload: name, Workspace: "team-a", Target: "test", Environment: environment, Path: "test", Version: "1.4.2"}},
		}))
	}
}

// cluster adds a cluster to one environment or both. broken means that no workload of the fleet runs.
func (f *outputFleet) cluster(name string, broken bool) {
	types := []string{"large", "small", "bare"}
	var memberships []ledger.Membership
	for i, environment := range outputEnvironments {
		if i == 0 || f.random.IntN(2) == 0 {
			memberships = append(memberships, ledger.Membership{Environment: environment, ClusterType: types[f.random.IntN(len(types))]})
		}
	}
	f.register(name, memberships...)
	offline := f.random.IntN(4) == 0
	for _, m := range memberships {
		f.member(name, m, offline, broken)
	}
	heard := noon.Add(-time.Minute)
	if offline {
		heard = noon.Add(-40 * time.Minute)
	}
	f.must(f.ledger.Heard(f.t.Context(), name, heard))
}

// member lets a cluster report about an environment, and notes what is true.
func (f *outputFleet) member(name string, m ledger.Membership, offline, broken bool) {
	is := f.truth[m.Environment]
	is.gate.Expected++
	itself := []ledger.State{ledger.StateReady, ledger.StateReady, ledger.StateFailed, ledger.StateProgressing, ""}[f.random.IntN(5)]
	f.state(name, "platform-"+m.Environment, ledger.Source{Repository: gitOps, Ref: m.Environment, Path: m.ClusterType}, dev1, itself)
	switch {
	case offline:
		is.gate.Offline++
		is.offline = append(is.offline, name)
	case itself == "":
		is.gate.Missing++
	case itself == ledger.StateFailed:
		is.gate.Failed++
		is.rejected = append(is.rejected, name)
	case itself == ledger.StateProgressing:
		is.gate.Behind++
	default:
		is.gate.Reached++
	}
	fails, missing := false, false
	for _, target := range outputTargets[m.ClusterType] {
		state := []ledger.State{ledger.StateReady, ledger.StateReady, ledger.StateFailed, ledger.StateProgressing, ""}[f.random.IntN(5)]
		if broken {
			state = ledger.StateFailed
		}
		f.state(name, target+"-"+m.Environment, ledger.Source{Repository: application + target, Ref: m.Environment, Path: "test"}, app1, state)
		if state == ledger.StateFailed {
			is.lastFailed[target]++
		}
		if offline {
			continue
		}
		fails, missing = fails || state == ledger.StateFailed, missing || state == ""
		if state == ledger.StateFailed {
			is.workloads[target] = append(is.workloads[target], name)
		}
	}
	switch {
	case fails:
		is.failing = append(is.failing, name)
	case missing && itself != "":
		is.silent = append(is.silent, name)
	}
}

// state reports the state of a reconciler; "" is nothing.
func (f *outputFleet) state(cluster, name string, source ledger.Source, revision string, state ledger.State) {
	if state == "" {
		return
	}
	at := noon.Add(-40 * time.Minute)
	f.must(f.ledger.Report(f.t.Context(), ledger.Report{
		Reconciler: ledger.ReconcilerID{Cluster: cluster, Kind: "Kustomization", Namespace: "flux-system", Name: name},
		Outcome:    ledger.Outcome{Source: source, Revision: revision, State: state, Message: "crash loop"}, Observed: at, Received: at,
	}))
}

// rounds returns what the last rounds found.
func (f *outputFleet) rounds() query.ControlPlane {
	all, err := f.ledger.Clusters(f.t.Context(), ledger.ClusterQuery{})
	f.must(err)
	var clusters []comply.Cluster
	for _, c := range all {
		clusters = append(clusters, promote.ClusterOf(c))
	}
	cp := query.ControlPlane{
		URL: controlPlane, Environments: outputEnvironments, Promotion: &promote.Outcome{Subject: controlPlane}, Scheduling: map[string]*query.Scheduled{},
	}
	for _, environment := range outputEnvironments {
		source := hub.Source{Repository: ledger.CleanRepository(gitOps), Ref: environment}
		states, err := f.ledger.States(f.t.Context(), ledger.StateQuery{Repository: source.Repository, Ref: environment})
		f.must(err)
		verdict := comply.Judge(comply.Question{
			Commit: dev1, Published: noon.Add(-50 * time.Minute), Expected: comply.ExpectPlatform(clusters, environment, source, comply.Folders{}),
			Observations: promote.Observations(states.States), History: func(hash string) (bool, bool) { return hash == dev1, true },
		}, noon)
		cp.Promotion.Environments = append(cp.Promotion.Environments, promote.Standing{
			Environment: environment, Phase: decide.Good, Commit: promoted, Reason: "1111111 is deployed", Since: noon.Add(-time.Hour),
			GitOps: promote.GitOps{Repo: gitOps, Branch: environment}, Rollout: decide.Rollout{State: decide.RolloutMerged, Commit: dev1}, Verdict: verdict,
		})
		cp.Scheduling[environment] = &query.Scheduled{At: noon, Outcome: &schedule.Outcome{Plan: &plan.Plan{Environment: environment}}}
	}
	return cp
}

// TestOutputsAgree makes random fleets, in which clusters and workloads fail, are late or say nothing, and wants
// the same numbers and words about them from the API, commands, pages and what needs a user, and of the commit that is
// promoted from statuses, messages and metrics.
func TestOutputsAgree(t *testing.T) {
	for _, seed := range sweeptest.Points(t, 60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			f := newOutputFleet(t, uint64(seed)) //nolint:gosec // small
			server := &api.Server{Observer: f.pages.Observer, Control: &promote.Control{Ledger: f.ledger}, Guard: f.pages.Guard, Ledger: f.ledger, Events: &api.Events{}, Log: f.pages.Log}
			var listed query.Page[query.Environment]
			f.decode(server, "/api/v1/environments", &listed)
			if len(listed.Items) != len(outputEnvironments) {
				t.Fatalf("the API has %d environments", len(listed.Items))
			}
			page := f.see("/")
			for i := range listed.Items {
				f.checkEnvironment(server, &listed.Items[i])
				f.checkBoard(page, &listed.Items[i])
			}
			f.checkNeeds()
			f.compareNumbers(page)
			f.checkPromotion(server)
		})
	}
}

// decode reads an answer of the API.
func (f *outputFleet) decode(server *api.Server, path string, into any) {
	f.t.Helper()
	a := httptest.NewRecorder()
	server.Handler().ServeHTTP(a, httptest.NewRequest("GET", path, nil))
	if a.Code != 200 {
		f.t.Fatalf("%s: %d %s", path, a.Code, a.Body)
	}
	f.must(json.Unmarshal(a.Body.Bytes(), into))
}

// checkEnvironment compares what is said about an environment with what is true.
func (f *outputFleet) checkEnvironment(server *api.Server, e *query.Environment) {
	t, is := f.t, f.truth[e.Name]
	t.Helper()
	same := func(where string, c comply.Counts) {
		t.Helper()
		got := comply.Counts{Expected: c.Expected, Reached: c.Reached, Failed: c.Failed, Behind: c.Behind, Offline: c.Offline, Missing: c.Missing}
		if got != is.gate {
			t.Errorf("%s: %s has %+v, want %+v", e.Name, where, got, is.gate)
		}
	}
	if is.gate.Expected == 0 {
		return
	}
	same("the list", e.Gate.Counts)
	var one query.EnvironmentDetail
	f.decode(server, "/api/v1/environments/"+e.Name, &one)
	same("the environment", one.Gate.Counts)
	var waits query.Progress
	f.decode(server, "/api/v1/environments/"+e.Name+"/progress?commit="+promoted, &waits)
	same("wait", waits.Gate.Counts)
	var m query.Map
	f.decode(server, "/api/v1/map?environment="+e.Name, &m)
	if m.Counts != e.Health.Clusters || one.Health.Clusters != m.Counts || one.Health.Workloads != e.Health.Workloads {
		t.Errorf("%s: the map has %+v, the list %+v", e.Name, m.Counts, e.Health.Clusters)
	}
	trouble := ""
	switch {
	case len(is.failing) > 0:
		trouble = fmt.Sprintf("workloads failing on %d", len(is.failing))
	case len(is.silent) > 0:
		trouble = fmt.Sprintf("workloads not reported on %d", len(is.silent))
	}
	if got := e.Trouble(); got != trouble {
		t.Errorf("%s: %q, want %q: %+v", e.Name, got, trouble, e.Health)
	}
	f.checkText(e, trouble)
}

// checkText reads the command line and the first page.
func (f *outputFleet) checkText(e *query.Environment, trouble string) {
	t, is := f.t, f.truth[e.Name]
	t.Helper()
	var out bytes.Buffer
	f.must(output.NewPrinter(&terminal.Terminal{Now: func() time.Time { return noon }}).Environments(&out, []query.Environment{*e}))
	row := strings.Fields(strings.Split(out.String(), "\n")[1])
	if want := fmt.Sprintf("%d/%d", is.gate.Reached, is.gate.Expected); !slices.Contains(row, want) {
		t.Errorf("%s: status says %q, want %s", e.Name, row, want)
	}
	if (trouble != "") != strings.Contains(out.String(), "workloads ") || !strings.Contains(out.String(), trouble) {
		t.Errorf("%s: status does not say %q:\n%s", e.Name, trouble, out.String())
	}
}

// checkBoard wants the cell of the first page to say where workloads fail, and to be green only if all is well.
func (f *outputFleet) checkBoard(p *page, e *query.Environment) {
	t, is := f.t, f.truth[e.Name]
	t.Helper()
	cells := p.all("td[data-env=" + e.Name + "]")
	if is.gate.Expected == 0 || len(cells) == 0 {
		return
	}
	shown, tone := text(cells[0]), attribute(cells[0], "class")
	if trouble := e.Trouble(); !strings.Contains(shown, trouble) {
		t.Errorf("%s: the board does not say %q: %s", e.Name, trouble, shown)
	}
	well := is.gate.Reached == is.gate.Expected && len(is.failing)+len(is.silent) == 0
	if other := is.gate.Behind > 0 || len(e.WithoutClusters) > 0; !other && slices.Contains(strings.Fields(tone), "good") != well {
		t.Errorf("%s: the cell is %q, and all is well: %t: %s", e.Name, tone, well, shown)
	}
	if trouble := e.Trouble(); trouble != "" {
		if shown := text(f.see("/environments/" + e.Name).root); !strings.Contains(shown, "run it") || !strings.Contains(shown, "· "+trouble) {
			t.Errorf("%s: its page does not say %q", e.Name, trouble)
		}
	}
	if len(is.failing) > 0 && !slices.Contains(strings.Fields(tone), "bad") {
		t.Errorf("%s: workloads fail, and the cell is %q", e.Name, tone)
	}
}

// checkNeeds wants each offline cluster once, and each workload that fails somewhere with its clusters.
func (f *outputFleet) checkNeeds() {
	f.t.Helper()
	needs, err := f.pages.Observer.Needs(f.t.Context(), query.NeedsQuery{Paging: query.Paging{Limit: query.MaxLimit}})
	f.must(err)
	offline, fails := 0, map[string]int{}
	for _, n := range needs.Items {
		switch {
		case n.State == comply.Offline:
			offline += n.Count
		case n.Kind == query.NeedClusters && strings.Contains(n.Text, "-test fails in "):
			fails[n.Text] = n.Count
		}
	}
	var gone []string
	for _, environment := range outputEnvironments {
		is := f.truth[environment]
		gone = append(gone, is.offline...)
		for name, clusters := range is.workloads {
			if text := fmt.Sprintf("%s-test fails in %s", name, environment); fails[text] != len(clusters) {
				f.t.Errorf("needs has %d clusters of %q, want %d", fails[text], text, len(clusters))
			}
		}
	}
	slices.Sort(gone)
	if want := len(slices.Compact(gone)); offline != want {
		f.t.Errorf("needs counts %d offline clusters, want %d", offline, want)
	}
}
