package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// fakeCluster says what a test sets.
type fakeCluster struct {
	changed chan struct{}
	now     chan Snapshot // holds the one that counts
}

func newFakeCluster() *fakeCluster {
	c := &fakeCluster{changed: make(chan struct{}, 1), now: make(chan Snapshot, 1)}
	c.now <- Snapshot{}
	return c
}

func (c *fakeCluster) Run(ctx context.Context)  { <-ctx.Done() }
func (c *fakeCluster) Changed() <-chan struct{} { return c.changed }
func (c *fakeCluster) Snapshot() Snapshot {
	s := <-c.now
	c.now <- s
	return s
}

func (c *fakeCluster) set(s Snapshot) {
	<-c.now
	c.now <- s
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// rejection is a [Rejection].
type rejection struct {
	content bool
	after   time.Duration
}

func (r rejection) Error() string             { return "rejected" }
func (r rejection) RejectsContent() bool      { return r.content }
func (r rejection) RetryAfter() time.Duration { return r.after }

// world is an agent between a cluster and a server, in a bubble where time passes by itself.
type world struct {
	t       *testing.T
	cluster *fakeCluster
	agent   *Agent
	log     *bytes.Buffer
	stop    func()
	// answer is what the server does; nil takes everything.
	answer func(hub.ReportBatch) (hub.ReportReceipt, error)
	begun  time.Time

	mu  sync.Mutex
	got []string
}

func (w *world) Send(_ context.Context, b hub.ReportBatch) (hub.ReportReceipt, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var receipt hub.ReportReceipt
	var err error
	if w.answer != nil {
		receipt, err = w.answer(b)
	}
	var names []string
	for _, r := range b.Reports {
		names = append(names, fmt.Sprintf("%s %s@%s", r.Name, r.State, r.Revision))
	}
	result := ""
	if err != nil {
		result = " refused"
	}
	w.got = append(w.got, fmt.Sprintf("%s [%s]%s", time.Since(w.begun).Round(time.Second), strings.Join(names, ", "), result))
	return receipt, err
}

func simulate(t *testing.T, store Store, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, cluster: newFakeCluster(), log: &bytes.Buffer{}, begun: time.Now()}
		w.agent = &Agent{Cluster: w.cluster, Server: w, Log: slog.New(slog.NewTextHandler(w.log, nil)), Name: "large-07", Store: store}
		w.start()
		test(w)
		w.stop()
	})
}

func (w *world) start() {
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.agent.Run(ctx)
	}()
	w.stop = func() {
		cancel()
		<-ended
	}
	synctest.Wait() // it has looked once, and found nothing
}

// pass lets time pass, which takes none in the bubble.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (w *world) want(want ...string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if got := strings.Join(w.got, "\n"); got != strings.Join(want, "\n") {
		w.t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	w.got = nil
}

func TestAgentReportsChangesAndHeartbeats(t *testing.T) {
	t.Parallel()
	simulate(t, Store{}, func(w *world) {
		w.pass(10 * time.Second)
		w.want() // nothing is known yet, not even that the cluster is alive
		w.cluster.set(snapshot(report("a", "1", "ready"), report("b", "1", "ready")))
		w.pass(2 * time.Second)
		w.want("11s [a ready@1, b ready@1]")
		w.pass(2 * time.Minute)
		w.want("1m11s []", "2m11s []")

		// What passes by within a second is one change.
		w.cluster.set(snapshot(report("a", "2", "progressing"), report("b", "1", "ready")))
		w.pass(100 * time.Millisecond)
		w.cluster.set(snapshot(report("a", "2", "ready"), report("b", "1", "ready")))
		w.pass(5 * time.Second)
		w.want("2m13s [a ready@2]")
	})
}

func TestAgentIsSilentWhenItDoesNotKnow(t *testing.T) {
	t.Parallel()
	simulate(t, Store{}, func(w *world) {
		s := snapshot(report("a", "1", "ready"))
		w.cluster.set(s)
		w.pass(90 * time.Second)
		w.want("1s [a ready@1]", "1m1s []")
		s.Alive = false
		w.cluster.set(s)
		w.pass(10 * time.Minute)
		w.want()
		s.Alive = true
		w.cluster.set(s)
		w.pass(time.Minute)
		if len(w.got) != 1 {
			t.Errorf("alive again: got %q, want one heartbeat", w.got)
		}
	})
}

func TestAgentWorksThroughInterruptions(t *testing.T) {
	t.Parallel()
	store := Store{Dir: t.TempDir()}
	simulate(t, store, func(w *world) {
		down := true
		var ids []string
		w.answer = func(b hub.ReportBatch) (hub.ReportReceipt, error) {
			ids = append(ids, b.ID)
			if down {
				return hub.ReportReceipt{}, errors.New("connection refused")
			}
			return hub.ReportReceipt{}, nil
		}
		w.cluster.set(snapshot(report("a", "1", "ready")))
		w.pass(time.Hour)
		if n := len(w.got); n < 12 || n > 40 {
			t.Errorf("%d attempts in an hour", n)
		}
		if ids[0] != ids[len(ids)-1] {
			t.Error("the same batch has another id")
		}
		if n := strings.Count(w.log.String(), "connection refused"); n != 1 {
			t.Errorf("logged %d times, want once:\n%s", n, w.log)
		}
		w.cluster.set(snapshot(report("a", "2", "failed")))
		w.pass(time.Minute)

		// It is started again, by another program that finds only the file.
		w.stop()
		w.got, down = nil, false
		w.cluster = newFakeCluster()
		w.agent.Cluster = w.cluster
		w.begun = time.Now()
		w.start()
		w.cluster.set(snapshot(report("a", "2", "ready")))
		w.pass(10 * time.Second)
		w.want("0s [a ready@1, a failed@2]", "1s [a ready@2]")
		if h, err := ReadHealth(store.Dir); err != nil || !h.Ready || h.Waiting != 0 || h.Reconcilers != 1 || h.Problem(time.Now()) != "" {
			t.Errorf("health: got %+v, %v", h, err)
		} else if h.Problem(time.Now().Add(time.Hour)) == "" {
			t.Error("health: after an hour without a sign nothing is wrong")
		}
	})
}

// One report that the server does not take does not stop the others.
func TestAgentLeavesOutWhatIsRefused(t *testing.T) {
	t.Parallel()
	simulate(t, Store{}, func(w *world) {
		w.answer = func(b hub.ReportBatch) (hub.ReportReceipt, error) {
			for _, r := range b.Reports {
				if r.Name == "c" {
					return hub.ReportReceipt{}, rejection{content: true}
				}
			}
			return hub.ReportReceipt{}, nil
		}
		w.cluster.set(snapshot(report("a", "1", "ready"), report("b", "1", "ready"), report("c", "1", "ready"), report("d", "1", "ready")))
		w.pass(10 * time.Second)
		w.want(
			"1s [a ready@1, b ready@1, c ready@1, d ready@1] refused",
			"1s [a ready@1, b ready@1]",
			"1s [c ready@1, d ready@1] refused",
			"1s [c ready@1] refused",
			"1s [d ready@1]",
		)
		if !strings.Contains(w.log.String(), "the server rejected a report: leaving it out") {
			t.Errorf("the log is\n%s", w.log)
		}
	})
}

func TestAgentSendsAgainWhenAsked(t *testing.T) {
	t.Parallel()
	simulate(t, Store{}, func(w *world) {
		asked := false
		w.answer = func(hub.ReportBatch) (hub.ReportReceipt, error) {
			again := !asked
			asked = true
			return hub.ReportReceipt{Resend: again}, nil
		}
		w.cluster.set(snapshot(report("a", "1", "ready")))
		w.pass(10 * time.Second)
		w.want("1s [a ready@1]", "1s [a ready@1]")
	})
}

func TestAgentWaitsAsLongAsTheServerWants(t *testing.T) {
	t.Parallel()
	simulate(t, Store{}, func(w *world) {
		w.answer = func(hub.ReportBatch) (hub.ReportReceipt, error) {
			w.answer = nil
			return hub.ReportReceipt{}, rejection{after: 40 * time.Second}
		}
		w.cluster.set(snapshot(report("a", "1", "ready")))
		w.pass(50 * time.Second)
		w.want("1s [a ready@1] refused", "41s [a ready@1]")
	})
}

func TestExport(t *testing.T) {
	t.Parallel()
	store := Store{Dir: t.TempDir()}
	simulate(t, store, func(w *world) {
		w.stop()
		export := func(s Snapshot, fails error) string {
			w.pass(time.Minute)
			w.cluster.set(s)
			var got string
			err := w.agent.Export(w.t.Context(), func(batches []hub.ReportBatch) error {
				for _, b := range batches {
					if err := b.Check(); err != nil {
						t.Error(err)
					}
					for _, r := range b.Reports {
						got += fmt.Sprintf("%s@%s ", r.State, r.Revision)
					}
				}
				return fails
			})
			if !errors.Is(err, fails) {
				t.Errorf("got %v, want %v", err, fails)
			}
			return got
		}
		full := errors.New("disk full")
		if got := export(snapshot(report("a", "1", "ready")), full); got != "ready@1 " {
			t.Errorf("first: got %q", got)
		}
		if got := export(snapshot(report("a", "2", "failed")), nil); got != "failed@2 " {
			t.Errorf("what was never written down is not there: got %q", got)
		}
		if got := export(snapshot(report("a", "2", "failed")), nil); got != "failed@2 " {
			t.Errorf("the present state is always there: got %q", got)
		}
		ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
		defer cancel()
		w.cluster.set(Snapshot{})
		if err := w.agent.Export(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without an answer: got %v", err)
		}
	})
}
