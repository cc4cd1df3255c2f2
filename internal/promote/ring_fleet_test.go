package promote_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	cmpdiff "github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/sweeptest"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// ringFleet is an environment with rings and clusters that join, leave, fail, lag and go offline, and a promoter that is killed and
// started again. Git is in memory, the ledger is SQLite.
type ringFleet struct {
	testing.TB
	*fakePipeline
	random   *rand.Rand
	now      time.Time
	ledger   *sqlite.Ledger
	promoter *promote.Promoter
	rings    []v1alpha1.Ring
	snapshot fleet.Snapshot
	// stages are those of the GitOps branch, and stageOf that of each cluster there.
	stages  []fleet.Stage
	stageOf map[string]string
	heads   map[string]string // of the branches of rings
	members map[string]*ringMember
	joined  int
	// fails is on how many of a hundred clusters each commit fails.
	fails map[string]int
	// broken is one cluster and the commit that fails on it; optional.
	broken string
	steps  map[string][]ledger.Step // by name of the ring
	// left is how many writes are possible until the promoter is killed.
	left int
	// rounds and spent count the rounds and the time in them.
	rounds int
	spent  time.Duration
}

// ringMember is a cluster.
type ringMember struct {
	name string
	// stage is the one that it follows: it notices late that it is in another one.
	stage   string
	offline bool
	// tried is the commit that it applied last, ran are all that it ran.
	tried string
	ran   []string
}

const never = 1 << 40

func percentOf(n int) *intstr.IntOrString {
	p := intstr.FromString(fmt.Sprintf("%d%%", n))
	return &p
}

// fiveRings are of 1, 5, 25, 60 and 100 % of the clusters.
func fiveRings() []v1alpha1.Ring {
	return []v1alpha1.Ring{
		{Name: "canary", Percent: 1, OnFailure: v1alpha1.FailureRollback, Soak: &metav1.Duration{Duration: 3 * time.Minute}},
		{Name: "early", Percent: 5, MaxUnavailable: percentOf(50), OnFailure: v1alpha1.FailureRollback},
		{Name: "some", Percent: 25, MaxUnavailable: percentOf(40), MaxFailures: percentOf(10)},
		{Name: "most", Percent: 60, MaxUnavailable: percentOf(55), MaxFailures: percentOf(10), OnFailure: v1alpha1.FailureRollback},
		{Name: "others", MaxUnavailable: percentOf(30)},
	}
}

func newRingFleet(t testing.TB, rings []v1alpha1.Ring, clusters int, seed uint64) *ringFleet {
	t.Helper()
	// A gate that counts clusters that are offline never passes here.
	gate := &v1alpha1.Gate{OfflineAfter: &metav1.Duration{Duration: 10000 * time.Hour}}
	f := &ringFleet{
		TB: t, fakePipeline: newFakePipeline(map[string]*v1alpha1.Promotion{"prod": {Rings: rings, Gate: gate}}, "0"), rings: rings,
		random: rand.New(rand.NewPCG(seed, 1)), now: noon, ledger: openLedger(t), heads: map[string]string{}, members: map[string]*ringMember{},
		fails: map[string]int{}, steps: map[string][]ledger.Step{}, left: never, snapshot: fleet.Snapshot{Environment: "prod"},
	}
	for _, r := range rings {
		f.snapshot.Rings = append(f.snapshot.Rings, fleet.Ring{Name: r.Name, Percent: r.Percent, Clusters: r.Clusters, MaxUnavailable: r.MaxUnavailable})
	}
	place := f.place("prod")
	place.Rings = &promote.Rings{Line: []promote.Commit{{SHA: place.Rollout.Commit}}}
	f.join(clusters)
	f.reboot()
	f.calm()
	return f
}

// reboot starts a promoter without caches.
func (f *ringFleet) reboot() {
	f.left = never
	f.promoter = &promote.Promoter{Ledger: ringLedger{f.ledger, f}, Ancestry: &equals{}, Now: func() time.Time { return f.now }}
}

var errKilled = errors.New("killed")

// write kills the promoter when it has written enough: the last write is done, and its answer is lost.
func (f *ringFleet) write(do func() error) error {
	if f.left <= 0 {
		return errKilled
	}
	f.left--
	if err := do(); err != nil || f.left > 0 {
		return err
	}
	return errKilled
}

// ringLedger is a ledger whose writes are counted.
type ringLedger struct {
	*sqlite.Ledger
	f *ringFleet
}

func (l ringLedger) RecordStep(ctx context.Context, s ledger.Step) error {
	return l.f.write(func() error {
		l.f.steps[s.Environment] = append(l.f.steps[s.Environment], s)
		return l.Ledger.RecordStep(ctx, s)
	})
}

// Read returns the state of Git.
func (f *ringFleet) Read(ctx context.Context) (*promote.State, error) {
	rings := f.place("prod").Rings
	rings.Stages, rings.Former = nil, nil
	for _, s := range f.stages {
		rings.Stages = append(rings.Stages, f.state(s))
	}
	for _, name := range slices.Sorted(maps.Keys(f.heads)) {
		if !slices.ContainsFunc(f.stages, func(s fleet.Stage) bool { return s.Name == name }) {
			rings.Former = append(rings.Former, f.state(fleet.Stage{Name: name, Ring: fleet.RingOfStage(name)}))
		}
	}
	return f.fakePipeline.Read(ctx)
}

func (f *ringFleet) state(s fleet.Stage) promote.RingState {
	return promote.RingState{Stage: s, Branch: fleet.RingBranch("prod", s.Name), Head: f.heads[s.Name], Commit: f.heads[s.Name]}
}

// Move moves the branch of a ring.
func (f *ringFleet) Move(ctx context.Context, m promote.Move) (promote.MoveResult, error) {
	_, stage := decide.SplitRing(m.Environment)
	if stage == "" {
		return f.fakePipeline.Move(ctx, m)
	}
	var result promote.MoveResult
	err := f.write(func() error {
		if f.heads[stage] != m.From {
			return nil
		}
		if m.From != "" && f.position(m.Commit) > f.position(m.From) && slices.ContainsFunc(f.stages, func(s fleet.Stage) bool { return s.Name == stage }) {
			f.checkMove(stage, m.Commit)
		}
		f.heads[stage] = m.Commit
		f.moves = append(f.moves, m.Environment)
		result.Did, result.Revision = m.Environment+" goes to "+m.Commit, m.Commit
		return nil
	})
	return result, err
}

// SetStatus counts as a write.
func (f *ringFleet) SetStatus(ctx context.Context, s decide.SetStatus) error {
	return f.write(func() error { return f.fakePipeline.SetStatus(ctx, s) })
}

func (f *ringFleet) line() []promote.Commit { return f.place("prod").Rings.Line }

func (f *ringFleet) position(commit string) int {
	return slices.IndexFunc(f.line(), func(c promote.Commit) bool { return c.SHA == commit })
}

// checkMove wants a commit to have run in every batch of every earlier ring, and to have failed in none since.
func (f *ringFleet) checkMove(stage, commit string) {
	f.Helper()
	for _, s := range f.stages {
		if s.Name == stage {
			return
		}
		if s.Hold != nil || fleet.RingOfStage(stage) == s.Ring && isOwn(s) {
			continue // it is changed later
		}
		last := ""
		for _, step := range f.steps[decide.RingName("prod", s.Name)] {
			if step.Commit == commit && (step.Kind == string(decide.StepDeployed) || step.Kind == string(decide.StepFailed)) {
				last = step.Kind
			}
		}
		if last != string(decide.StepDeployed) {
			f.Fatalf("%s gets commit %d, and in %s it %s", stage, f.position(commit), s.Name, cmp.Or(last, "never arrived"))
		}
	}
}

func isOwn(s fleet.Stage) bool {
	_, own := s.Own()
	return own
}

// join adds clusters.
func (f *ringFleet) join(n int) {
	f.Helper()
	for range n {
		name := fmt.Sprintf("c%05d", f.joined)
		f.joined++
		f.members[name] = &ringMember{name: name}
		f.snapshot.Clusters = append(f.snapshot.Clusters, &fleet.Cluster{Name: name})
		join(f, f.ledger, name, "prod")
	}
	f.publishStages()
}

// leave removes clusters.
func (f *ringFleet) leave(n int) {
	f.Helper()
	for range min(n, len(f.snapshot.Clusters)-1) {
		i := f.random.IntN(len(f.snapshot.Clusters))
		name := f.snapshot.Clusters[i].Name
		f.snapshot.Clusters = slices.Delete(f.snapshot.Clusters, i, i+1)
		delete(f.members, name)
		if err := f.ledger.Register(f.Context(), ledger.Registration{Cluster: name, Revoked: true, At: f.now}); err != nil {
			f.Fatal(err)
		}
	}
	f.publishStages()
}

func (f *ringFleet) publishStages() {
	f.stages = f.snapshot.Stages(nil)
	f.stageOf = fleet.StageOf(f.stages)
}

// release merges a commit that fails on some of a hundred clusters.
func (f *ringFleet) release(fails int) string {
	letters := fmt.Sprint(len(f.line()))
	f.reading.Line = append(f.reading.Line, promote.Commit{SHA: sha(letters)})
	place := f.place("prod")
	publish(place, sha(letters))
	place.Rings.Line = append(place.Rings.Line, promote.Commit{SHA: place.Rollout.Commit, Time: f.now})
	f.fails[place.Rollout.Commit] = fails
	return place.Rollout.Commit
}

// follow lets the clusters follow their branches, and report.
func (f *ringFleet) follow(late int) {
	f.Helper()
	ready, failed := map[string][]string{}, map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(f.members)) {
		c := f.members[name]
		if c.offline || f.random.IntN(100) < late {
			continue
		}
		stage := cmp.Or(c.stage, f.stageOf[name])
		commit := f.heads[stage]
		moved := stage != f.stageOf[name] && f.heads[f.stageOf[name]] != "" && f.random.IntN(100) >= late
		if moved || c.stage == "" {
			stage = f.stageOf[name]
			commit = f.heads[stage]
		}
		if commit == "" || commit == c.tried && stage == c.stage {
			continue
		}
		if held := func(s fleet.Stage) bool { return s.Name == stage && s.Hold != nil }; c.stage == stage && slices.ContainsFunc(f.stages, held) {
			f.Fatalf("%s is on hold in %s, and goes from %d to %d", name, stage, f.position(c.tried), f.position(commit))
		}
		f.checkMember(c, commit)
		c.tried, c.stage = commit, stage
		key := fleet.RingBranch("prod", stage) + " " + commit
		if f.failsOn(commit, name) {
			failed[key] = append(failed[key], name)
			continue
		}
		if len(c.ran) == 0 || c.ran[len(c.ran)-1] != commit {
			c.ran = append(c.ran, commit)
		}
		ready[key] = append(ready[key], name)
	}
	for key, names := range ready {
		branch, commit, _ := strings.Cut(key, " ")
		reports(f, f.ledger, branch, commit, f.now, names...)
	}
	for key, names := range failed {
		branch, commit, _ := strings.Cut(key, " ")
		fails(f, f.ledger, branch, commit, f.now, names...)
	}
}

func (f *ringFleet) failsOn(commit, cluster string) bool {
	if f.broken == cluster+" "+commit {
		return true
	}
	h := 0
	for _, r := range commit + cluster {
		h = (h*31 + int(r)) % 1_000_003
	}
	return h%100 < f.fails[commit]
}

// checkMember wants a cluster to go forward, and never to the same commit twice, unless what it ran failed or was
// not good yet.
func (f *ringFleet) checkMember(c *ringMember, commit string) {
	f.Helper()
	if c.tried == "" || c.tried == commit {
		return
	}
	from, to := f.position(c.tried), f.position(commit)
	if from > to && f.fails[c.tried] == 0 && !strings.HasSuffix(f.broken, c.tried) && f.wasGood(c.stage, c.tried) {
		f.Fatalf("%s goes from commit %d, which fails nowhere, back to %d; it ran %v, %s is at %s", c.name, from, to, f.positions(c.ran), c.stage, f.describe())
	}
	if from < to && slices.Contains(c.ran, commit) && f.fails[commit] == 0 {
		f.Fatalf("%s gets commit %d, which fails nowhere, twice: %v", c.name, to, f.positions(c.ran))
	}
}

// wasGood reports whether a commit was deployed for as long as it soaks, in the ring of a stage.
func (f *ringFleet) wasGood(stage, commit string) bool {
	soak := time.Duration(0)
	for _, r := range f.rings {
		if r.Name == fleet.RingOfStage(stage) && r.Soak != nil {
			soak = r.Soak.Duration
		}
	}
	for name, steps := range f.steps {
		if _, other := decide.SplitRing(name); fleet.RingOfStage(other) != fleet.RingOfStage(stage) {
			continue
		}
		var since time.Time
		for _, step := range steps {
			switch kind := decide.StepKind(step.Kind); {
			case kind == decide.StepDeployed && step.Commit == commit:
				since = step.At
			case kind == decide.StepFailed && step.Commit == commit:
				since = time.Time{}
			case kind == decide.StepStarted && step.Commit != commit && !since.IsZero():
				if step.At.Sub(since) >= soak {
					return true
				}
				since = time.Time{}
			}
		}
		if !since.IsZero() && f.now.Sub(since) >= soak {
			return true
		}
	}
	return false
}

func (f *ringFleet) positions(commits []string) []int {
	var all []int
	for _, c := range commits {
		all = append(all, f.position(c))
	}
	return all
}

func (f *ringFleet) describe() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(f.heads)) {
		all = append(all, fmt.Sprintf("%s:%d", name, f.position(f.heads[name])))
	}
	return strings.Join(all, " ")
}

// minute lets a minute pass: clusters follow, and the promoter has a round. It returns the outcome, nil if it was killed.
func (f *ringFleet) minute(late int) *promote.Outcome {
	f.Helper()
	f.now = f.now.Add(time.Minute)
	f.follow(late)
	began := time.Now()
	o, err := f.promoter.Round(f.Context(), f)
	f.spent += time.Since(began)
	f.rounds++
	if errors.Is(err, errKilled) {
		f.reboot()
		return nil
	}
	if err != nil {
		f.Fatal(err)
	}
	return o
}

// calm runs minutes until nothing is left to do.
func (f *ringFleet) calm() *promote.Outcome {
	f.Helper()
	idle := 0
	var o *promote.Outcome
	for range 600 {
		o = f.minute(0)
		if idle++; o == nil || len(o.Did) > 0 || o.Next.Sub(f.now) > 0 && o.Next.Sub(f.now) < time.Hour {
			idle = 0
		}
		if idle == 2 {
			return o
		}
	}
	f.Fatalf("it does not come to rest: %s\n%+v", f.describe(), o)
	return nil
}

// disturb runs minutes in which clusters join, leave and go offline, commits of all kinds are merged, and the promoter is killed.
func (f *ringFleet) disturb(minutes int) {
	f.Helper()
	for range minutes {
		if f.random.IntN(6) == 0 {
			f.release([]int{0, 0, 0, 100, 30, 3}[f.random.IntN(6)])
		}
		switch n := 1 + f.random.IntN(max(len(f.members)/30, 1)); f.random.IntN(8) {
		case 0, 1:
			f.join(n)
		case 2:
			f.leave(n)
		case 3:
			for _, c := range f.members {
				c.offline = false
			}
		case 4:
			for range n {
				f.members[f.snapshot.Clusters[f.random.IntN(len(f.snapshot.Clusters))].Name].offline = true
			}
		case 5:
			f.snapshot.Clusters[f.random.IntN(len(f.snapshot.Clusters))].Hold = &v1alpha1.Hold{Reason: "inventory"}
			f.publishStages()
		case 6:
			f.healHolds(2)
		}
		if f.random.IntN(3) == 0 {
			f.left = 1 + f.random.IntN(30)
		}
		f.minute(20)
	}
}

// healHolds ends the hold of one in n clusters.
func (f *ringFleet) healHolds(n int) {
	for _, c := range f.snapshot.Clusters {
		if f.random.IntN(n) == 0 {
			c.Hold = nil
		}
	}
	f.publishStages()
}

// end heals everything, and wants a good commit to reach all clusters.
func (f *ringFleet) end() {
	f.Helper()
	f.left = never
	f.healHolds(1)
	for _, c := range f.members {
		c.offline = false
	}
	commit := f.release(0)
	o := f.calm()
	if s := o.Environments[0]; s.Phase != decide.Good || s.Rollout.Commit != commit {
		f.Fatalf("%s: %s\n%s", s.Phase, s.Reason, f.describe())
	}
	for _, c := range f.members {
		if c.tried != commit {
			f.Fatalf("%s in %s runs %d; %s", c.name, c.stage, f.position(c.tried), f.describe())
		}
	}
}

// TestRingsOfAFleet runs a fleet with five rings through failures, churn and kills. No cluster gets a commit that failed in an earlier ring,
// or a good commit twice; a cluster that joins or leaves takes no other one back; and a good commit reaches all in the end.
func TestRingsOfAFleet(t *testing.T) {
	if testing.Short() {
		t.Skip("it simulates for long, and nothing in it happens at the same time")
	}
	for _, seed := range []uint64{0, 2, 5} {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			f := newRingFleet(t, fiveRings(), 80, seed)
			for range 2 {
				f.disturb(30)
				f.end()
			}
		})
	}
}

// TestRingsGoOnWhereverThePromoterIsKilled kills the promoter after each of its writes, while one commit passes all rings and another goes
// back, and wants the same moves, once each, as without the kill. It tries a sample of the writes; see
// [sweeptest.Points].
func TestRingsGoOnWhereverThePromoterIsKilled(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it simulates for long, and nothing in it happens at the same time")
	}
	rings := []v1alpha1.Ring{{Name: "canary", Clusters: []string{"c00000"}}, {Name: "early", Clusters: []string{"c00001"}, OnFailure: v1alpha1.FailureRollback}, {Name: "others"}}
	live := func(t *testing.T, writes int) (story string, done int) {
		f := newRingFleet(t, rings, 3, 0)
		f.moves, f.left = nil, writes
		f.release(0)
		f.calm()
		bad := f.release(0)
		f.broken = "c00001 " + bad
		f.calm()
		var steps []string
		for _, name := range slices.Sorted(maps.Keys(f.steps)) {
			kinds := map[string]bool{}
			for _, s := range f.steps[name] {
				kinds[fmt.Sprintf("%s %s %d", name, s.Kind, f.position(s.Commit))] = true
			}
			steps = append(steps, slices.Sorted(maps.Keys(kinds))...)
		}
		return f.describe() + "\n" + strings.Join(f.moves, "\n") + "\n" + strings.Join(steps, "\n"), writes - f.left
	}
	want, writes := live(t, never)
	if !strings.Contains(want, "canary:1 early:1 others:1") || writes < 40 {
		t.Fatalf("%d writes\n%s", writes, want)
	}
	for _, before := range sweeptest.Points(t, writes) {
		n := before + 1
		if got, _ := live(t, n); got != want {
			t.Fatalf("killed after write %d of %d (-want +got):\n%s", n, writes, cmpdiff.Diff(want, got))
		}
	}
}

// BenchmarkRingsOfAFleet is the simulation of [TestRingsOfAFleet] with 10,000 clusters; RINGS_CLUSTERS is another number. It measures rounds, and one
// after a restart.
func BenchmarkRingsOfAFleet(b *testing.B) {
	if testing.Short() {
		b.Skip("it simulates many clusters")
	}
	count := 10_000
	if n, err := strconv.Atoi(os.Getenv("RINGS_CLUSTERS")); err == nil {
		count = n
	}
	f := newRingFleet(b, fiveRings(), count, 1)
	f.rounds, f.spent, f.moves = 0, 0, nil
	for b.Loop() {
		f.disturb(30)
		f.end()
	}
	b.ReportMetric(float64(f.rounds), "rounds")
	b.ReportMetric(float64(len(f.moves)), "moves")
	b.ReportMetric(f.spent.Seconds()*1000/float64(f.rounds), "ms/round")
	f.reboot()
	began := time.Now()
	f.minute(0)
	b.ReportMetric(time.Since(began).Seconds(), "restart-s")
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys-m.HeapReleased)/1e6, "MB-of-the-system")
}
