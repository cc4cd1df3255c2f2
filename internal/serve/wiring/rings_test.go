package wiring

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/agent"
	"github.com/kalypso-io/kalypso/internal/fleet/sweeptest"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/hub/record"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/sample/simulate"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// ringsWorld is an environment, prod, with clusters that follow Git as Flux and Argo CD do, and whose reports go through the intake.
type ringsWorld struct {
	*promotionWorld
	simulation *simulate.Simulation
	intake     *ingest.Intake
	// clusters are those of the environment, and their labels.
	clusters map[string]string
	last     time.Time // of the clusters
	// ran are the values that each cluster ran, in order.
	ran map[string][]string
}

// ringRules are three rings; the second has two batches and goes back.
const ringRules = `
    rings:
    - {name: canary, clusters: [flux-0]}
    - {name: early, selector: {matchLabels: {wave: early}}, maxUnavailable: 1, onFailure: rollback}
    - {name: others}`

// ringClusters are the clusters and their labels. Their types are named for their reconcilers.
var ringClusters = map[string]string{
	"flux-0": "{}", "flux-1": "{wave: early}", "argocd-1": "{wave: early}", "flux-2": "{}", "argocd-2": "{}",
}

const (
	ringsShop = kalypsoAPI + `kind: Workload
metadata: {name: shop}
spec:
  deploymentTargets:
  - {name: live, environment: prod, manifests: {repo: ../shop-gitops, branch: prod, path: ./live}}
`
	ringsPolicy = kalypsoAPI + "kind: SchedulingPolicy\nmetadata: {name: everywhere}\nspec: {deploymentTargetSelector: {}, clusterTypeSelector: {}}\n"
)

func ringsValue(value string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: greeting, labels: {platform-config: \"true\"}}\ndata: {GREETING: " + value + "}\n"
}

func clusterObject(name, labels, ring string) string {
	text := kalypsoAPI + "kind: Cluster\nmetadata: {name: " + name + "}\nspec:\n  clusterType: " + typeOfCluster(name) + "\n  labels: " + labels + "\n"
	if ring != "" {
		text += "  ring: " + ring + "\n"
	}
	return text
}

func typeOfCluster(name string) string {
	reconciler, _, _ := strings.Cut(name, "-")
	return reconciler
}

// newRingsWorld returns an environment with rules, and clusters that follow its GitOps branch, or the folders of their rings.
func newRingsWorld(t testing.TB, rules string, clusters map[string]string) *ringsWorld {
	t.Helper()
	w := &ringsWorld{promotionWorld: newChainWorld(t, map[string]string{"prod": rules}), clusters: clusters, ran: map[string][]string{}}
	for _, name := range []string{"shop", "shop-gitops"} {
		w.Create(name)
	}
	w.Push("platform/shop", "main", map[string]string{"workload.yaml": ringsShop})
	w.Push("platform/shop-gitops", "prod", map[string]string{
		"live/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {workers: \"4\"}\n",
	})
	head := w.Push(fleettest.ControlPlane, "main", map[string]string{"shop.yaml": strings.ReplaceAll(registrationFile, "NAME", "shop")})
	files := map[string]string{
		"base-repo.yaml": strings.ReplaceAll(baseRepoFile, "COMMIT", head), "cluster-type.yaml": "", "policy.yaml": ringsPolicy, "greeting.yaml": ringsValue("one"),
	}
	for _, reconciler := range []string{"flux", "argocd"} {
		files[reconciler+".yaml"] = kalypsoAPI + "kind: ClusterType\nmetadata: {name: " + reconciler + "}\nspec: {reconciler: " + reconciler + ", namespaceService: default}\n"
	}
	for name, labels := range clusters {
		files["clusters/"+name+".yaml"] = clusterObject(name, labels, "")
	}
	w.Push(fleettest.ControlPlane, "prod", files)
	client := &git.Client{CacheDir: t.TempDir(), Env: func(string) string { return "" }, Map: []git.Mapping{{From: w.URL, To: w.Dir}}}
	t.Cleanup(func() { _ = client.Close() })
	w.simulation = simulate.New(simulate.Config{Sources: &simulate.Sources{Client: client}, Poll: 20 * time.Second})
	w.intake = &ingest.Intake{Ledger: w.ledger}
	w.last, w.follow = w.now, w.step
	for name := range clusters {
		w.register(name)
		w.install(name, strings.Contains(rules, "rings"))
	}
	return w
}

func (w *ringsWorld) register(name string) {
	w.Helper()
	err := w.ledger.Register(w.Context(), ledger.Registration{
		Cluster: name, Memberships: []ledger.Membership{{Environment: "prod", ClusterType: typeOfCluster(name)}}, At: fleettest.Time,
	})
	if err != nil {
		w.Fatal(err)
	}
}

// install starts a cluster with what a platform team installs on it.
func (w *ringsWorld) install(name string, rings bool) {
	w.Helper()
	_ = w.simulation.Remove(name)
	err := w.simulation.Add(simulate.Cluster{
		Name: name, Reconciler: simulate.Reconciler(typeOfCluster(name)),
		Memberships: []simulate.Membership{{
			Environment: "prod", ClusterType: typeOfCluster(name), Rings: rings, GitOps: hub.Repository{Repo: w.URL + "/" + fleettest.GitOps},
		}},
	}, sender{w})
	if err != nil {
		w.Fatal(err)
	}
}

// sender sends the reports of a cluster to the intake.
type sender struct{ w *ringsWorld }

var _ agent.Server = sender{}

func (s sender) Send(ctx context.Context, b hub.ReportBatch) (hub.ReportReceipt, error) {
	return s.w.intake.Take(ctx, b.Cluster, &b, s.w.last)
}

// step lets the clusters catch up with the clock.
func (w *ringsWorld) step() {
	w.Helper()
	for w.last.Before(w.now) {
		w.last = w.last.Add(10 * time.Second)
		w.simulation.Step(w.Context(), w.last)
		for name := range w.clusters {
			if value := w.value(name); value != "" && (len(w.ran[name]) == 0 || w.ran[name][len(w.ran[name])-1] != value) {
				w.ran[name] = append(w.ran[name], value)
			}
		}
	}
}

// value returns the value that a cluster runs.
func (w *ringsWorld) value(name string) string {
	var b strings.Builder
	namespace := "prod-" + typeOfCluster(name) + "-shop-live"
	err := w.simulation.Kubectl(&b, name, []string{"get", "configmaps", "-n", namespace, "-o", "yaml"})
	if err != nil {
		w.Fatal(err)
	}
	_, after, _ := strings.Cut(b.String(), "GREETING: ")
	value, _, _ := strings.Cut(after, "\n")
	return value
}

// values returns what the clusters run, in the order of the rings.
func (w *ringsWorld) values() string {
	var all []string
	for _, name := range []string{"flux-0", "flux-1", "argocd-1", "flux-2", "argocd-2"} {
		all = append(all, w.value(name))
	}
	return strings.Join(all, " ")
}

func (w *ringsWorld) wantValues(want string) {
	w.Helper()
	if got := w.values(); got != want {
		w.Errorf("the clusters run %s, want %s", got, want)
	}
}

// greet changes the value.
func (w *ringsWorld) greet(value string) {
	w.Push(fleettest.ControlPlane, "prod", map[string]string{"greeting.yaml": ringsValue(value)})
}

// set makes a cluster fail, or work again.
func (w *ringsWorld) set(name string, mode simulate.Mode) {
	w.Helper()
	if err := w.simulation.Set(name, simulate.Behaviour{Mode: mode, Only: "platform-prod"}); err != nil {
		w.Fatal(err)
	}
}

// TestRings gives an environment rings, and rolls changes out through them.
func TestRings(t *testing.T) {
	t.Parallel()
	w := newRingsWorld(t, "{}", ringClusters)
	w.want(w.quiet(), "prod", decide.Good, w.Head(fleettest.ControlPlane, "main"))
	w.wantValues("one one one one one")

	// The environment gets rings. Its clusters still follow its branch, which is not what is expected now.
	w.Push(fleettest.ControlPlane, "main", map[string]string{".environments/prod.yaml": environmentFile("prod", ringRules)})
	o := w.quiet()
	if s := standing(o, "prod"); s.Phase == decide.Good || !strings.Contains(s.Reason, "prod/canary") || !strings.Contains(s.Reason, "flux-0") {
		t.Errorf("clusters follow the environment's branch: %s: %s", s.Phase, s.Reason)
	}
	for name := range ringClusters {
		w.install(name, true)
	}
	w.want(w.quiet(), "prod", decide.Good, w.Head(fleettest.ControlPlane, "main"))
	if got, want := w.rings(), "canary early.0 early.1 others"; got != want {
		t.Errorf("the rings are %s, want %s", got, want)
	}

	w.wantValues("one one one one one")

	t.Run("a change goes ring by ring, although the server is restarted after each", func(t *testing.T) {
		w.greet("two")
		w.wantStates(t, w.reboot,
			"one one one one one", "two one one one one", "two two one one one", "two two two one one", "two two two two two")
		w.wantRecorded("5 of 5 clusters reached it")
	})
	r := newReceiver(t)
	told := notifying(t, w.ledger, func() time.Time { return w.now }, r.URL)
	t.Run("a change that fails in a ring stops, and the next one passes", func(t *testing.T) {
		w.set("argocd-2", simulate.Failing)
		w.greet("three")
		w.wantStates(t, nil,
			"two two two two two", "three two two two two", "three three two two two", "three three three two two", "three three three three two")
		o := w.quiet()
		if s := standing(o, "prod"); s.Phase != decide.Failed || !strings.Contains(s.Reason, "prod/others") || !strings.Contains(s.Reason, "argocd-2") {
			t.Errorf("prod: %s: %s", s.Phase, s.Reason)
		}
		w.wantRecorded("argocd-2 fails at")
		told.run()
		// The cluster fails with the commit that it has, and then with the new one. The environment, which fails in its ring, tells nothing.
		if diff := cmp.Diff([]string{"failed prod/others", "failed prod/others"}, r.received()); diff != "" {
			t.Errorf("messages (-want +got):\n%s\n%+v", diff, r.events)
		}
		w.set("argocd-2", simulate.Healthy)
		w.greet("four")
		w.quiet()
		w.wantValues("four four four four four")
	})
	t.Run("a change that fails in a ring that goes back takes the earlier ones with it", func(t *testing.T) {
		w.set("argocd-1", simulate.Failing)
		w.greet("five")
		w.wantStates(t, w.reboot, "four four four four four", "five four four four four", "five five four four four")
		o := w.quiet()
		w.wantValues("four four four four four")
		if s := standing(o, "prod"); s.Phase != decide.Failed || !strings.Contains(s.Reason, "prod/early") {
			t.Errorf("prod: %s: %s", s.Phase, s.Reason)
		}
		w.set("argocd-1", simulate.Healthy)
		w.greet("six")
		w.quiet()
		w.wantValues("six six six six six")
		if slices.Contains(w.ran["flux-2"], "five") {
			t.Errorf("a later ring ran what failed in an earlier one: %v", w.ran["flux-2"])
		}
	})
	t.Run("a cluster moves to another ring, and nothing is rolled out again", func(t *testing.T) {
		before := w.steps("prod/canary")
		w.Push(fleettest.ControlPlane, "prod", map[string]string{"clusters/flux-2.yaml": clusterObject("flux-2", "{}", "canary")})
		w.want(w.quiet(), "prod", decide.Good, w.Head(fleettest.ControlPlane, "main"))
		if after := w.steps("prod/canary"); len(after) != len(before)+3 { // the commit of the move itself is rolled out
			t.Errorf("before: %v, after: %v", before, after)
		}
		w.greet("seven")
		w.wantStates(t, nil,
			"six six six six six", "seven six six seven six", "seven seven six seven six", "seven seven seven seven six", "seven seven seven seven seven")
	})
	t.Run("the rings are removed, and all clusters follow the environment", func(t *testing.T) {
		w.Push(fleettest.ControlPlane, "main", map[string]string{".environments/prod.yaml": environmentFile("prod", "{}")})
		w.want(w.quiet(), "prod", decide.Good, w.Head(fleettest.ControlPlane, "main"))
		w.greet("eight")
		w.quiet()
		w.wantValues("eight eight eight eight eight")
		w.wantRecorded("5 of 5 clusters reached it")
	})
}

// rings returns the stages that have branches.
func (w *ringsWorld) rings() string {
	var all []string
	for _, branch := range w.Branches(fleettest.GitOps) {
		if stage, ok := strings.CutPrefix(branch, "prod-ring-"); ok {
			all = append(all, stage)
		}
	}
	return strings.Join(all, " ")
}

// wantRecorded wants a ledger without rounds to say how far the commit of the environment is.
func (w *ringsWorld) wantRecorded(want string) {
	w.Helper()
	recorder := &record.Recorder{Repositories: repository.GitOpsBranches{Client: w.flows.Client}, Ledger: w.ledger, Now: func() time.Time { return w.now }}
	if _, err := recorder.Branch(w.Context(), record.Branch{
		Repository: w.URL + "/" + fleettest.GitOps, Branch: "prod", Kind: ledger.BranchPlatform, Environment: "prod",
	}); err != nil {
		w.Fatal(err)
	}
	alone := &query.Observer{Ledger: w.ledger, Now: func() time.Time { return w.now }}
	prod, err := alone.Environment(w.Context(), query.EnvironmentQuery{Name: "prod"})
	if err != nil {
		w.Fatal(err)
	}
	if prod.Gate == nil || !strings.HasPrefix(prod.Gate.Reason, want) {
		w.Errorf("the ledger alone says %+v, want %q", prod.Gate, want)
	}
}

// wantStates runs minutes until nothing is left to do, and wants the clusters to run values in an order. between is called when
// the values have changed; optional.
func (w *ringsWorld) wantStates(t *testing.T, between func(), want ...string) {
	t.Helper()
	var states []string
	for idle := 0; idle < 2; idle++ {
		o, err := w.minute()
		if err != nil {
			t.Fatal(err)
		}
		if state := w.values(); !slices.Contains(states, state) {
			states = append(states, state)
			if between != nil {
				between()
			}
		}
		if len(o.Did) > 0 {
			idle = -1
		}
	}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("the clusters ran (-want +got):\n%s", diff)
	}
}

// TestRingsEndTheSameWhereverTheyWereInterrupted kills the process after each kind of write, and after each push of a ring's branch.
func TestRingsEndTheSameWhereverTheyWereInterrupted(t *testing.T) {
	t.Parallel()
	live := func(t *testing.T, interrupt func(w *ringsWorld), calm func(w *ringsWorld)) *ringsWorld {
		w := newRingsWorld(t, ringRules, ringClusters)
		w.quiet()
		interrupt(w)
		w.greet("two")
		calm(w)
		w.set("argocd-1", simulate.Failing)
		w.greet("three")
		calm(w)
		return w
	}
	var writes []string
	whole := live(t, func(w *ringsWorld) {
		w.writes.after = func(name string) error { writes = append(writes, name); return nil }
	}, func(w *ringsWorld) { w.quiet() })
	want := whole.ringStory()
	if !strings.Contains(want, "two three two") || !slices.Contains(writes, "pushed prod-ring-early.1") {
		t.Fatalf("%v\n%s", writes, want)
	}
	var sweep []int // each push, and the first of the other writes; internal/promote has a test with all
	for n := range writes {
		if strings.HasPrefix(writes[n], "pushed") || !slices.Contains(writes[:n], writes[n]) {
			sweep = append(sweep, n)
		}
	}
	for _, i := range sweeptest.Points(t, len(sweep)) {
		n := sweep[i]
		t.Run(fmt.Sprintf("%d %s", n, writes[n]), func(t *testing.T) {
			t.Parallel()
			var killed *string
			w := live(t, func(w *ringsWorld) { killed = w.crashed(n) }, func(w *ringsWorld) {
				for killed != nil && *killed == "" {
					o, err := w.minute()
					if err != nil && !errors.Is(err, errCrash) {
						t.Fatal(err)
					}
					if err == nil && len(o.Did) == 0 {
						break
					}
				}
				if killed != nil && *killed != "" {
					w.reboot()
				}
				w.quiet()
			})
			if *killed == "" {
				t.Fatal("it was not interrupted")
			}
			if diff := cmp.Diff(want, w.ringStory()); diff != "" {
				t.Errorf("another end than without interruption (-want +got):\n%s", diff)
			}
		})
	}
}

// ringStory describes what the rings and the clusters did. Commits are numbered by their position on the GitOps branch.
func (w *ringsWorld) ringStory() string {
	w.Helper()
	line, err := repository.Lines{Client: w.flows.Client}.Line(w.Context(), schedule.Location{Repo: w.URL + "/" + fleettest.GitOps, Branch: "prod"}, 100)
	if err != nil {
		w.Fatal(err)
	}
	var b strings.Builder
	for _, stage := range strings.Fields(w.rings()) {
		fmt.Fprintf(&b, "%s at %s: %s\n", stage, w.Head(fleettest.GitOps, "prod-ring-"+stage)[:7], strings.Join(w.steps("prod/"+stage), ", "))
	}
	for _, name := range sortedKeys(ringClusters) {
		fmt.Fprintf(&b, "%s ran %s\n", name, strings.Join(w.ran[name], " "))
	}
	return anyCommit.ReplaceAllStringFunc(b.String(), func(id string) string {
		return fmt.Sprint(slices.IndexFunc(line, func(c promote.Commit) bool { return strings.HasPrefix(c.SHA, id) }))
	})
}
