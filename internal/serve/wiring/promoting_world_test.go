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
// and report. Time passes in minutes, and only here.
type promotionWorld struct {
	*world
	ledger   *sqlite.Ledger
	promoter *promote.Promoter
	now      time.Time
	clusters []*simulated
	outcomes outcomes
	// step is told of every step, as a crash is.
	step func(name string) error
	// scheduled is what each environment was scheduled from, so that this is done again only when something moved.
	scheduled map[string]string
}

// outcomes are the last ones of scheduling.
type outcomes map[string]*schedule.Outcome

// Rollout returns the last one of an environment.
func (o outcomes) Rollout(_ context.Context, environment string) (*schedule.Outcome, error) {
	return o[environment], nil
}

// simulated is a cluster that runs what its branch has, unless it is cut off or cannot.
type simulated struct {
	name, environment string
	branch            string // of the GitOps repository; the environment's name when it is empty
	silent            bool
	fails             string // the message it fails with
}

// chainOfThree are the environments of the world and their rules.
var chainOfThree = map[string]string{"dev": "{}", "stage": "{after: [dev]}", "prod": "{after: [stage], approval: pullRequest}"}

func newPromotionWorld(t *testing.T, rules map[string]string) *promotionWorld {
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
	for _, name := range sortedKeys(rules) {
		w.join(name+"-1", name)
		w.join(name+"-2", name)
	}
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

// reboot starts a new process: nothing is remembered.
func (w *promotionWorld) reboot() {
	w.promoter = w.newPromoter()
	w.outcomes = outcomes{}
}

func (w *promotionWorld) newPromoter() *promote.Promoter {
	p := &promote.Promoter{
		Ledger: w.ledger, Ancestry: &repository.Ancestry{Client: w.flows.Client}, Now: func() time.Time { return w.now },
		Step: func(name string) error { return w.did(name) },
	}
	w.Cleanup(p.Close)
	return p
}

func (w *promotionWorld) did(step string) error {
	if w.step == nil {
		return nil
	}
	return w.step(step)
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

// report lets all clusters apply what their branches have, and say so.
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
	p := w.flows.platform(w.URL+"/"+fleettest.ControlPlane, nil, w.outcomes)
	p.Step, p.Committer = w.did, interruptedCommitter{p.Committer, w.did}
	return p
}

// minute lets a minute pass: scheduling, clusters, promotion.
func (w *promotionWorld) minute() (*promote.Outcome, error) {
	w.Helper()
	return w.minuteThrough(w.Host)
}

// minuteThrough lets a minute pass, in which promotion sees the forge through another one.
func (w *promotionWorld) minuteThrough(host forge.Forge) (*promote.Outcome, error) {
	w.Helper()
	w.now = w.now.Add(time.Minute)
	for _, environment := range w.environments() {
		if from := w.inputs(environment); w.outcomes[environment] == nil || w.scheduled[environment] != from {
			w.outcomes[environment], w.scheduled[environment] = w.round(environment), from
		}
	}
	w.report()
	p := w.pipeline()
	p.Forges = forge.Forges{host}
	if _, ok := host.(*local.Forge); ok {
		p.Forges = interruptedForges{p.Forges, w.did}
	}
	return w.promoter.Round(w.Context(), p)
}

// inputs are the heads of all branches that an environment is scheduled from, and to.
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

// quiet lets minutes pass until nothing is done any more, and returns how things stand then.
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

// stands returns how an environment stands: "deployed 1234567".
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

func (w *promotionWorld) want(o *promote.Outcome, environment string, phase decide.Phase, commit string) {
	w.Helper()
	if got, want := w.stands(o, environment), fmt.Sprintf("%s %s", phase, commit); got != want {
		w.Errorf("%s: got %s, want %s: %s", environment, got, want, standing(o, environment).Reason)
	}
}

// commit makes a new commit on main.
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

// agree merges the one open proposal.
func (w *promotionWorld) agree() {
	w.Helper()
	open := w.proposed()
	if len(open) != 1 {
		w.Fatalf("%d proposals are open, want one", len(open))
	}
	if _, err := w.Repo(fleettest.ControlPlane).MergePullRequest(w.Context(), open[0].Number, forge.Merge{Head: open[0].Head.Commit}); err != nil {
		w.Fatal(err)
	}
}

// shown is the status of a commit in an environment: "success Deployed".
func (w *promotionWorld) shown(commit, environment string) string {
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

// steps are those on record in an environment, from old to new: "entered 1234567". Decisions and statuses are left out.
func (w *promotionWorld) steps(environment string) []string {
	w.Helper()
	all, err := w.ledger.Steps(w.Context(), ledger.StepQuery{Environment: environment})
	if err != nil {
		w.Fatal(err)
	}
	slices.Reverse(all)
	var steps []string
	for _, s := range all {
		if s.Kind != string(promote.Decided) && s.Kind != string(promote.Shown) {
			steps = append(steps, s.Kind+" "+s.Commit[:min(7, len(s.Commit))])
		}
	}
	return steps
}

// story says everything that promotion is responsible for. Commits of main have their names; those that the forge dates are all alike.
func (w *promotionWorld) story() string {
	w.Helper()
	var b strings.Builder
	for _, environment := range w.environments() {
		fmt.Fprintf(&b, "%s at %s: %s\n", environment, w.Head(fleettest.ControlPlane, environment), strings.Join(w.steps(environment), ", "))
		for _, branch := range []string{"main", environment} {
			fmt.Fprintf(&b, "  %s shows %q\n", branch, w.shown(w.Head(fleettest.ControlPlane, branch), environment))
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

// line are the commits of main.
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

// crashed makes the n-th step from now on the last one of its round.
func (w *promotionWorld) crashed(n int) (name *string) {
	name = new(string)
	w.step = func(step string) error {
		if n--; n < 0 {
			*name = step
			return errCrash
		}
		return nil
	}
	return name
}

// close closes a proposal by hand.
func (w *promotionWorld) close(number int) {
	w.Helper()
	closed := forge.Closed
	if err := w.Repo(fleettest.ControlPlane).EditPullRequest(w.Context(), number, forge.PullRequestEdit{State: &closed}); err != nil {
		w.Fatal(err)
	}
}
