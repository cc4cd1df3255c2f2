package wiring

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/local"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// promotionWorld is a small control plane on the local forge, a ledger, and clusters that follow their GitOps branches
// and report. Tests advance its clock in minutes.
type promotionWorld struct {
	*world
	ledger   *sqlite.Ledger
	promoter *promote.Promoter
	now      time.Time
	clusters []*simulated
	// follow lets clusters follow Git and report. Default: report.
	follow   func()
	outcomes outcomes
	// writes interrupts the running process.
	writes *interruption
	// scheduled holds the inputs of each environment's last scheduling round, which is repeated only after a change.
	scheduled map[string]string
}

// outcomes holds the results of the last scheduling rounds.
type outcomes map[string]*schedule.Outcome

// Rollout returns the last result of an environment.
func (o outcomes) Rollout(_ context.Context, environment string) (*schedule.Outcome, error) {
	return o[environment], nil
}

// simulated is a cluster that runs the head of its branch, unless it is cut off or fails.
type simulated struct {
	name, environment string
	branch            string // of the GitOps repository; defaults to the environment's name
	silent            bool
	fails             string // the message of its failure
}

// chainOfThree holds the environments and their rules.
var chainOfThree = map[string]string{"dev": "{}", "stage": "{after: [dev]}", "prod": "{after: [stage], approval: pullRequest}"}

func newPromotionWorld(t *testing.T, rules map[string]string) *promotionWorld {
	t.Helper()
	w := newChainWorld(t, rules)
	for _, name := range sortedKeys(rules) {
		w.join(name+"-1", name)
		w.join(name+"-2", name)
	}
	return w
}

// newChainWorld returns a world without clusters.
func newChainWorld(t testing.TB, rules map[string]string) *promotionWorld {
	t.Helper()
	w := &promotionWorld{world: newEmptyWorld(t), now: time.Now().Truncate(time.Second), outcomes: outcomes{}, scheduled: map[string]string{}}
	w.Create("control-plane")
	w.Create("gitops")
	w.Push(fleettest.ControlPlane, "main", map[string]string{"README.md": "the fleet\n"})
	first := w.Head(fleettest.ControlPlane, "main")
	main := map[string]string{"templates/readme.md": "nothing\n"}
	for _, name := range sortedKeys(rules) {
		main[".environments/"+name+".yaml"] = environmentFile(name, rules[name])
		w.Push(fleettest.ControlPlane, name, map[string]string{
			"base-repo.yaml":    strings.ReplaceAll(baseRepoFile, "COMMIT", first),
			"gitops-repo.yaml":  strings.ReplaceAll(gitOpsRepoFile, "NAME", name),
			"cluster-type.yaml": clusterTypeFile,
		})
	}
	w.Push(fleettest.ControlPlane, "main", main)
	var err error
	if w.ledger, err = sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.ledger.Close() })
	w.follow = w.report
	w.reboot()
	return w
}

const (
	kalypsoAPI   = "apiVersion: scheduler.kalypso.io/v1alpha1\n"
	baseRepoFile = "# What is promoted.\n" + kalypsoAPI + "kind: BaseRepo\nmetadata:\n  name: main\nspec:\n  repo: . # here\n  branch: main\n  commit: COMMIT # by promotion\n"

	gitOpsRepoFile  = kalypsoAPI + "kind: GitOpsRepo\nmetadata:\n  name: NAME\nspec:\n  repo: ../gitops\n  branch: NAME\n  autoMerge: true\n"
	clusterTypeFile = kalypsoAPI + "kind: ClusterType\nmetadata:\n  name: large\nspec:\n  reconciler: flux\n  namespaceService: default\n"
)

func environmentFile(name, rules string) string {
	return kalypsoAPI + "kind: Environment\nmetadata:\n  name: " + name + "\nspec:\n  controlPlane: {repo: ., branch: " + name + "}\n  promotion: " + rules + "\n"
}

func sortedKeys[V any](m map[string]V) []string {
	var all []string
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

// reboot starts a new process with empty caches.
func (w *promotionWorld) reboot() {
	w.writes = &interruption{}
	w.promoter = w.newPromoter()
	w.outcomes = outcomes{}
}

func (w *promotionWorld) newPromoter() *promote.Promoter {
	p := &promote.Promoter{
		Ledger: interruptedLedger{w.ledger, w.writes}, Ancestry: &repository.Ancestry{Client: w.flows.Client}, Now: func() time.Time { return w.now },
	}
	w.Cleanup(p.Close)
	return p
}

// join registers a cluster.
func (w *promotionWorld) join(name, environment string) *simulated {
	w.Helper()
	err := w.ledger.Register(w.Context(), ledger.Registration{
		Cluster: name, Memberships: []ledger.Membership{{Environment: environment, ClusterType: "large"}}, At: fleettest.Time,
	})
	if err != nil {
		w.Fatal(err)
	}
	c := &simulated{name: name, environment: environment}
	w.clusters = append(w.clusters, c)
	return c
}

func (w *promotionWorld) cluster(name string) *simulated {
	i := slices.IndexFunc(w.clusters, func(c *simulated) bool { return c.name == name })
	return w.clusters[i]
}

// report makes all clusters apply their branches and report.
func (w *promotionWorld) report() {
	w.Helper()
	for _, c := range w.clusters {
		branch := cmp.Or(c.branch, c.environment)
		revision := w.Head(fleettest.GitOps, branch)
		if c.silent || revision == "" {
			continue
		}
		r := ledger.Report{
			Reconciler: ledger.ReconcilerID{Cluster: c.name, Kind: "Kustomization", Namespace: "flux-system", Name: "platform"},
			Outcome: ledger.Outcome{
				Source:   ledger.Source{Repository: ledger.CleanRepository(w.URL + "/" + fleettest.GitOps), Ref: branch, Path: "large"},
				Revision: revision, State: ledger.StateReady,
			},
			Observed: w.now, Received: w.now,
		}
		if c.fails != "" {
			r.State, r.Message = ledger.StateFailed, c.fails
		}
		if err := w.ledger.Report(w.Context(), r); err != nil {
			w.Fatal(err)
		}
	}
}

func (w *promotionWorld) environments() []string {
	w.Helper()
	names, err := w.flows.Environments(w.Context(), w.URL+"/"+fleettest.ControlPlane)
	if err != nil {
		w.Fatal(err)
	}
	return names
}

func (w *promotionWorld) pipeline() *promote.Platform {
	p := w.flows.connected(w.URL + "/" + fleettest.ControlPlane).Platform(w.outcomes)
	p.Committer = interruptedCommitter{p.Committer, w.writes}
	return p
}

// minute advances the clock by a minute and runs scheduling, clusters and promotion.
func (w *promotionWorld) minute() (*promote.Outcome, error) {
	w.Helper()
	return w.minuteThrough(w.Host)
}

// minuteThrough is like minute, but promotion uses another forge.
func (w *promotionWorld) minuteThrough(host forge.Forge) (*promote.Outcome, error) {
	w.Helper()
	w.now = w.now.Add(time.Minute)
	for _, environment := range w.environments() {
		if from := w.inputs(environment); w.outcomes[environment] == nil || w.scheduled[environment] != from {
			w.outcomes[environment], w.scheduled[environment] = w.round(environment), from
		}
	}
	w.follow()
	p := w.pipeline()
	p.Forges = forge.Forges{host}
	if _, ok := host.(*local.Forge); ok {
		p.Forges = interruptedForges{p.Forges, w.writes}
	}
	return w.promoter.Round(w.Context(), p)
}

// inputs returns the heads of all branches that an environment's scheduling reads or writes.
func (w *promotionWorld) inputs(environment string) string {
	w.Helper()
	heads := environment
	for _, repo := range []string{fleettest.ControlPlane, fleettest.GitOps} {
		for _, branch := range w.Branches(repo) {
			heads += " " + w.Head(repo, branch)
		}
	}
	return heads
}

// quiet runs minutes until nothing is left to do, and returns the last outcome.
func (w *promotionWorld) quiet() *promote.Outcome {
	w.Helper()
	idle := 0
	for range 40 {
		o, err := w.minute()
		if err != nil {
			w.Fatal(err)
		}
		if idle++; len(o.Did) > 0 {
			idle = 0
		}
		if idle == 2 {
			return o
		}
	}
	w.Fatal("it does not come to rest")
	return nil
}

// stands returns the state of an environment, such as "deployed 1234567".
func (w *promotionWorld) stands(o *promote.Outcome, environment string) string {
	w.Helper()
	s := standing(o, environment)
	return fmt.Sprintf("%s %s", s.Phase, s.Commit)
}

func standing(o *promote.Outcome, environment string) promote.Standing {
	for _, s := range o.Environments {
		if s.Environment == environment {
			return s
		}
	}
	return promote.Standing{}
}

func (w *promotionWorld) want(o *promote.Outcome, environment string, phase decide.State, commit string) {
	w.Helper()
	if got, want := w.stands(o, environment), fmt.Sprintf("%s %s", phase, commit); got != want {
		w.Errorf("%s: got %s, want %s: %s", environment, got, want, standing(o, environment).Reason)
	}
}

// commit adds a commit to main.
func (w *promotionWorld) commit(what string) string {
	w.Helper()
	return w.Push(fleettest.ControlPlane, "main", map[string]string{"notes.md": what + "\n"})
}

// proposed returns the open proposals of the control plane.
func (w *promotionWorld) proposed() []forge.PullRequest {
	w.Helper()
	open, err := w.Repo(fleettest.ControlPlane).FindPullRequests(w.Context(), forge.PullRequestFilter{State: forge.Open})
	if err != nil {
		w.Fatal(err)
	}
	return open
}

// approve merges the only open proposal.
func (w *promotionWorld) approve() {
	w.Helper()
	open := w.proposed()
	if len(open) != 1 {
		w.Fatalf("%d proposals are open, want one", len(open))
	}
	if _, err := w.Repo(fleettest.ControlPlane).MergePullRequest(w.Context(), open[0].Number, forge.Merge{Head: open[0].Head.Commit}); err != nil {
		w.Fatal(err)
	}
}

// status returns the status of a commit in an environment, such as "success Deployed".
func (w *promotionWorld) status(commit, environment string) string {
	w.Helper()
	statuses, err := w.Repo(fleettest.ControlPlane).Statuses(w.Context(), commit)
	if err != nil {
		w.Fatal(err)
	}
	for _, s := range statuses {
		if s.Context == environment {
			return string(s.State) + " " + s.Description
		}
	}
	return ""
}

// steps returns the recorded steps of an environment, oldest first, such as "started 1234567", without decisions and statuses.
func (w *promotionWorld) steps(environment string) []string {
	w.Helper()
	all, err := w.ledger.Steps(w.Context(), ledger.StepQuery{Environment: environment})
	if err != nil {
		w.Fatal(err)
	}
	slices.Reverse(all)
	var steps []string
	for _, s := range all {
		if s.Kind != string(promote.StateChanged) && s.Kind != string(promote.StatusPosted) {
			steps = append(steps, s.Kind+" "+s.Commit[:min(7, len(s.Commit))])
		}
	}
	return steps
}

// story describes the whole state that promotion writes. Commits of main have names; commits that the forge dates look the same.
func (w *promotionWorld) story() string {
	w.Helper()
	var b strings.Builder
	for _, environment := range w.environments() {
		fmt.Fprintf(&b, "%s at %s: %s\n", environment, w.Head(fleettest.ControlPlane, environment), strings.Join(w.steps(environment), ", "))
		for _, branch := range []string{"main", environment} {
			fmt.Fprintf(&b, "  %s shows %q\n", branch, w.status(w.Head(fleettest.ControlPlane, branch), environment))
		}
	}
	changes, err := w.Repo(fleettest.ControlPlane).FindPullRequests(w.Context(), forge.PullRequestFilter{})
	if err != nil {
		w.Fatal(err)
	}
	for _, c := range changes {
		fmt.Fprintf(&b, "change %d %s %q head %s\n%s\n", c.Number, c.State, c.Title, c.Head.Commit, c.Body)
	}
	line := w.line()
	return anyCommit.ReplaceAllStringFunc(strings.ReplaceAll(b.String(), w.URL, "URL"), func(id string) string {
		if i := slices.IndexFunc(line, func(sha string) bool { return strings.HasPrefix(sha, id) }); i >= 0 {
			return fmt.Sprintf("main-%d", i)
		}
		return "commit"
	})
}

var anyCommit = regexp.MustCompile(`\b([0-9a-f]{40}|[0-9a-f]{7})\b`)

// line returns the commits of main.
func (w *promotionWorld) line() []string {
	w.Helper()
	line, err := repository.Lines{Client: w.flows.Client}.Line(w.Context(), schedule.Location{Repo: w.URL + "/" + fleettest.ControlPlane, Branch: "main"}, 100)
	if err != nil {
		w.Fatal(err)
	}
	var all []string
	for _, c := range line {
		all = append(all, c.SHA)
	}
	return all
}

// crashed kills the process after n more writes, and returns a pointer to the name of the last one.
func (w *promotionWorld) crashed(n int) (name *string) {
	name = new(string)
	w.writes.after = func(write string) error {
		if n--; n < 0 {
			*name = write
			return errCrash
		}
		return nil
	}
	return name
}

// close closes a proposal manually.
func (w *promotionWorld) close(number int) {
	w.Helper()
	closed := forge.Closed
	if err := w.Repo(fleettest.ControlPlane).EditPullRequest(w.Context(), number, forge.PullRequestEdit{State: &closed}); err != nil {
		w.Fatal(err)
	}
}
