package serve

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve/replica"
)

// twoReplicas gives each of two keepers the environments in its list, and the chain to the one that has dev. Notes are passed on at once.
type twoReplicas struct {
	mine  []string
	other *Keeper
	mu    sync.Mutex
	// lost ends the lease of the next work.
	lost bool
}

func (r *twoReplicas) Mine(unit string) bool {
	return slices.ContainsFunc(r.mine, func(name string) bool { return strings.Contains(unit, name) })
}

func (r *twoReplicas) Begin(ctx context.Context, unit string) (context.Context, func(), error) {
	if !r.Mine(unit) {
		return nil, nil, replica.ErrElsewhere
	}
	under, cancel := context.WithCancelCause(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lost {
		r.lost = false
		cancel(replica.ErrLost)
	}
	return under, func() { cancel(nil) }, nil
}

func (r *twoReplicas) Post(text string) { r.other.HandleNote(text) }

// fakeViews records what is viewed.
type fakeViews struct{ *fakeFlows }

func (v fakeViews) Round(_ context.Context, url, environment string) (*schedule.Outcome, error) {
	v.note("view " + environment)
	return &schedule.Outcome{Read: []schedule.Location{{Repo: url, Branch: environment}}}, nil
}

func (v fakeViews) Promotion(context.Context, string) (*Promoted, error) {
	v.note("view chain")
	return nil, nil
}

func (v fakeViews) Delivery(_ context.Context, _, application string) (*Delivered, error) {
	v.note("view " + application)
	return nil, nil
}

// changes returns what was called, each once, and without what polls do.
func changes(f *fakeFlows) []string {
	calls := slices.DeleteFunc(slices.Compact(f.taken()), func(call string) bool { return call == "environments" })
	if len(calls) == 0 {
		return nil
	}
	return calls
}

// keepTwo runs two keepers: a works on dev and the chain, b on stage.
func keepTwo(t *testing.T, test func(a, b *Keeper, doneA, doneB func() []string)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		keeper := func(mine ...string) (*Keeper, *fakeFlows, *twoReplicas) {
			f := &fakeFlows{registry: prometheus.NewRegistry()}
			r := &twoReplicas{mine: mine}
			return &Keeper{
				Flows: f, Chains: &fakeChains{flows: f}, ControlPlanes: []string{controlPlane}, Poll: time.Hour, Replicas: r, Views: fakeViews{f},
				Log: slog.New(slog.NewTextHandler(io.Discard, nil)), Metrics: NewMetrics(f.registry),
			}, f, r
		}
		a, flowsA, replicasA := keeper(" dev ", "chain of", "pull requests")
		b, flowsB, replicasB := keeper(" stage ")
		replicasA.other, replicasB.other = b, a
		ctx, cancel := context.WithCancel(t.Context())
		var wait sync.WaitGroup
		wait.Go(func() { a.Run(ctx) })
		wait.Go(func() { b.Run(ctx) })
		time.Sleep(time.Minute)
		synctest.Wait()

		test(a, b, func() []string { return changes(flowsA) }, func() []string { return changes(flowsB) })
		cancel()
		wait.Wait()
	})
}

// Each replica works on its units, and views those of the other.
func TestReplicasWorkOnTheirUnits(t *testing.T) {
	keepTwo(t, func(a, b *Keeper, doneA, doneB func() []string) {
		gotA, gotB := doneA(), doneB()
		for _, want := range []string{"round dev", "view stage", "record dev", "promote"} {
			if !slices.Contains(gotA, want) {
				t.Errorf("a did %q, want %q, too", gotA, want)
			}
		}
		for _, want := range []string{"round stage", "view dev", "record stage"} {
			if !slices.Contains(gotB, want) {
				t.Errorf("b did %q, want %q, too", gotB, want)
			}
		}
		for _, not := range []string{"round stage", "record stage", "view dev"} {
			if slices.Contains(gotA, not) {
				t.Errorf("a did %q", not)
			}
		}
		for _, not := range []string{"round dev", "record dev", "promote"} {
			if slices.Contains(gotB, not) {
				t.Errorf("b did %q", not)
			}
		}
		if !a.Ready() || !b.Ready() {
			t.Error("not ready")
		}
	})
}

// An event, a report or a command that reaches one replica wakes the one that has the unit.
func TestReplicasWakeEachOther(t *testing.T) {
	keepTwo(t, func(a, b *Keeper, doneA, doneB func() []string) {
		for _, test := range []struct {
			what  string
			wake  func()
			wantA []string
			wantB []string
		}{
			{
				"push", func() {
					b.HandleEvent(forge.Event{Kind: forge.EventPush, Repository: "platform/control-plane", Branch: "dev"})
				},
				[]string{"promote", "record dev", "round dev"},
				[]string{"view dev"},
			},
			{"report", func() { b.HandleReports([]ledger.Report{{}}) }, []string{"promote"}, nil},
			{"command", func() { b.RunChain(controlPlane) }, []string{"promote"}, nil},
			{"result", func() { a.Stored(controlPlane, "dev", "") }, nil, []string{"view dev"}},
			{"result of the chain", func() { a.Stored(controlPlane, "", "") }, nil, []string{"view chain"}},
		} {
			doneA()
			doneB()
			test.wake()
			time.Sleep(10 * time.Second)
			synctest.Wait()
			if diff := cmp.Diff(test.wantA, doneA()); diff != "" {
				t.Errorf("%s: a (-want +got):\n%s", test.what, diff)
			}
			if diff := cmp.Diff(test.wantB, doneB()); diff != "" {
				t.Errorf("%s: b (-want +got):\n%s", test.what, diff)
			}
		}
	})
}

// Work whose lease was lost is tried again, by whichever replica has the unit then.
func TestLostWorkIsTriedAgain(t *testing.T) {
	keepTwo(t, func(a, _ *Keeper, doneA, _ func() []string) {
		doneA()
		r, ok := a.Replicas.(*twoReplicas)
		if !ok {
			t.Fatal("no replicas")
		}
		r.mu.Lock()
		r.lost = true
		r.mu.Unlock()
		a.queue.Add(roundOf(controlPlane, "dev"))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if got := doneA(); !slices.Contains(got, "record dev") {
			t.Errorf("did %q", got)
		}
	})
}

// A note of another version does no harm.
func TestUnknownNotes(t *testing.T) {
	keepTwo(t, func(a, _ *Keeper, _, _ func() []string) {
		unknown, err := json.Marshal(note{Item: &itemWords{Task: "new", ControlPlane: "https://elsewhere.example.com/x"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"", "{", "{}", `{"new":1}`, string(unknown)} {
			a.HandleNote(text)
		}
	})
}
