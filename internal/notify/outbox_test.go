package notify_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/notify"
	"github.com/kalypso-io/kalypso/internal/notify/message"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

// aRollout fails, is repaired and deployed.
func aRollout(minute int) []ledger.Step {
	return []ledger.Step{
		step(minute, decide.StepStarted, "a", promote.Detail{}),
		step(minute+1, decide.StepFailed, "a", promote.Detail{Revision: "r", Failure: "no image"}),
		failedWith(minute+2, "a", "no image"),
		step(minute+3, decide.StepDeployed, "a", promote.Detail{Revision: "r"}),
	}
}

var ofARollout = []string{"done aaaaaaa", "failed aaaaaaa: no image"}

func TestMessagesAreQueuedOnceAndDelivered(t *testing.T) {
	w := newWorld(t, "chat", "mail")
	w.record(aRollout(1)...)
	if got, want := w.collect(), (ledger.QueueResult{Stored: 4}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	w.reboot() // it reads the same steps again
	if got := w.collect(); got != (ledger.QueueResult{}) {
		t.Errorf("again, it did %+v", got)
	}
	for _, name := range []string{"chat", "mail"} {
		w.deliver(name)
		if diff := cmp.Diff(ofARollout, w.inboxes[name].texts()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// What happened before a receiver was configured, or long before the newest step, is history.
func TestHistoryIsNotTold(t *testing.T) {
	w := newWorld(t, "chat")
	w.record(aRollout(-30)...)
	w.record(stepIn(shop, "dev", 200, decide.StepDeployed, "b", promote.Detail{}))
	w.collect()
	w.record(stepIn(shop, "dev", 100, decide.StepFailed, "b", promote.Detail{Failure: "imported"}))
	w.collect()
	// A step of a server whose clock is behind counts.
	w.record(stepIn(shop, "dev", 150, decide.StepFailed, "c", promote.Detail{Failure: "behind"}))
	w.collect()
	w.deliver("chat")
	if diff := cmp.Diff([]string{"done bbbbbbb", "failed ccccccc: behind"}, w.inboxes["chat"].texts()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// A step from the future must not hide what is recorded after it.
func TestAClockThatIsAheadHidesNothing(t *testing.T) {
	w := newWorld(t, "chat")
	ahead := stepIn(shop, "dev", 100000, decide.StepDeployed, "b", promote.Detail{})
	if err := w.ledger.RecordStep(t.Context(), ahead); err != nil {
		t.Fatal(err)
	}
	w.collect()
	w.record(aRollout(1)...)
	w.collect()
	w.deliver("chat")
	if diff := cmp.Diff([]string{"done aaaaaaa", "done bbbbbbb", "failed aaaaaaa: no image"}, w.inboxes["chat"].texts()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// mortal is a ledger that ends the process before or after a write.
type mortal struct {
	*world
	left  int
	after bool
}

var errKilled = errors.New("killed")

func (m *mortal) write(do func() error) error {
	m.left--
	if m.left < 0 || m.left == 0 && !m.after {
		m.left = -1
		return errKilled
	}
	if err := do(); err != nil {
		return err
	}
	if m.left == 0 {
		m.left = -1
		return errKilled
	}
	return nil
}

func (m *mortal) Queue(ctx context.Context, b ledger.Batch) (done ledger.QueueResult, err error) {
	err = m.write(func() error { done, err = m.ledger.Queue(ctx, b); return err })
	return done, err
}

func (m *mortal) Claim(ctx context.Context, receiver string, now, until time.Time) (msg ledger.Message, err error) {
	err = m.write(func() error { msg, err = m.ledger.Claim(ctx, receiver, now, until); return err })
	return msg, err
}

func (m *mortal) Attempted(ctx context.Context, msg ledger.Message) error {
	return m.write(func() error { return m.ledger.Attempted(ctx, msg) })
}

func (m *mortal) Steps(ctx context.Context, q ledger.StepQuery) ([]ledger.Step, error) {
	return m.ledger.Steps(ctx, q)
}

func (m *mortal) Subscribe(ctx context.Context, receivers []string, now time.Time) error {
	return m.ledger.Subscribe(ctx, receivers, now)
}

func (m *mortal) Receivers(ctx context.Context) ([]ledger.Receiver, error) {
	return m.ledger.Receivers(ctx)
}

func (m *mortal) DeleteMessages(ctx context.Context, before time.Time) (int64, error) {
	return m.ledger.DeleteMessages(ctx, before)
}

// TestKilledAnywhere ends the process before and after each write, between the steps and the delivery: every message arrives, and none
// has another ID.
func TestKilledAnywhere(t *testing.T) {
	want := func() map[string][]string {
		w := newWorld(t, "chat")
		w.record(aRollout(1)...)
		w.collect()
		w.deliver("chat")
		return w.inboxes["chat"].got
	}()
	kills := 0
	for n := 1; n < 12; n++ {
		for _, after := range []bool{false, true} {
			t.Run(fmt.Sprintf("write %d, after=%v", n, after), func(t *testing.T) {
				w := newWorld(t, "chat")
				w.through = &mortal{world: w, left: n, after: after}
				w.reboot()
				var err error
				for _, s := range aRollout(1) {
					w.record(s)
					if err == nil {
						_, err = w.collector.Collect(t.Context())
					}
				}
				for err == nil {
					_, err = w.dispatcher.Send(t.Context(), "chat")
				}
				if errors.Is(err, errKilled) {
					kills++
				}
				w.through = w.ledger
				w.reboot()
				w.collect()
				w.deliver("chat")
				w.now = w.now.Add(2 * time.Minute) // what the other process claimed expires
				w.deliver("chat")
				got := w.inboxes["chat"].got
				if len(got) != len(want) {
					t.Errorf("got %v, want %v", got, want)
				}
				for id := range want {
					if len(got[id]) == 0 || len(got[id]) > 2 {
						t.Errorf("%v arrived %d times", want[id], len(got[id]))
					}
				}
				if again := w.collect(); again.Stored != 0 {
					t.Errorf("queued %d again", again.Stored)
				}
			})
		}
	}
	if kills < 12 {
		t.Errorf("only %d runs were interrupted", kills)
	}
}

// TestAttempts shows the pauses between attempts, that one receiver delays no other, and the end.
func TestAttempts(t *testing.T) {
	w := newWorld(t, "chat", "mail")
	w.record(step(1, decide.StepDeployed, "a", promote.Detail{}))
	w.collect()
	w.inboxes["chat"].refuses = errors.New("connection refused")
	begun := w.now
	var pauses []time.Duration
	for {
		m, err := w.dispatcher.Send(t.Context(), "chat")
		if err != nil {
			t.Fatal(err)
		}
		if m.State == ledger.MessageDead {
			if m.Error != "connection refused" || w.now.Sub(begun) < notify.MaxAge {
				t.Errorf("dead after %s: %+v", w.now.Sub(begun), m)
			}
			break
		}
		pauses = append(pauses, m.Due.Sub(w.now))
		w.now = m.Due
	}
	if w.deliver("mail"); len(w.inboxes["mail"].got) != 1 {
		t.Error("mail got nothing")
	}
	want := []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, 80 * time.Second, 160 * time.Second}
	if diff := cmp.Diff(want, pauses[:5]); diff != "" || pauses[20] != time.Hour {
		t.Errorf("pauses: %v", pauses)
	}
	dead, err := w.ledger.Messages(t.Context(), ledger.MessageQuery{State: ledger.MessageDead})
	if err != nil || len(dead) != 1 || dead[0].Receiver != "chat" || dead[0].Attempts != len(pauses)+1 {
		t.Errorf("dead are %+v, %v", dead, err)
	}
}

func TestAReceiverMayAskForAPause(t *testing.T) {
	for asked, want := range map[time.Duration]time.Duration{time.Second: 10 * time.Second, 5 * time.Minute: 5 * time.Minute, 48 * time.Hour: time.Hour} {
		w := newWorld(t, "chat")
		w.record(step(1, decide.StepDeployed, "a", promote.Detail{}))
		w.collect()
		w.inboxes["chat"].refuses = &message.RefusedError{Text: "too many", RetryAfter: asked}
		m, err := w.dispatcher.Send(t.Context(), "chat")
		if err != nil || m.Due.Sub(w.now) != want {
			t.Errorf("asked for %s: %+v, %v", asked, m, err)
		}
	}
}

// A process that ends between sending and storing that it did sends again, with the same ID.
func TestDeliveredTwiceWithOneID(t *testing.T) {
	w := newWorld(t, "chat")
	w.record(step(1, decide.StepDeployed, "a", promote.Detail{}))
	w.collect()
	ctx, kill := context.WithCancel(t.Context())
	w.inboxes["chat"].ends = kill
	if _, err := w.dispatcher.Send(ctx, "chat"); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	w.inboxes["chat"].ends = nil
	w.reboot()
	if n := w.deliver("chat"); n != 0 {
		t.Errorf("another process sent it %d times before the claim expired", n)
	}
	w.now = w.now.Add(time.Minute)
	w.deliver("chat")
	if got := w.inboxes["chat"].got; len(got) != 1 || len(w.inboxes["chat"].texts()) != 1 {
		t.Errorf("got %v", got)
	}
}

func TestReceiversThatAreRemovedGetNothing(t *testing.T) {
	w := newWorld(t, "chat", "mail")
	w.record(aRollout(1)...)
	w.collect()
	w.routes = []notify.Route{{Receivers: []string{"mail"}}}
	w.reboot()
	if err := w.collector.Subscribe(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := w.deliver("chat"); n != 0 {
		t.Errorf("sent %d to a receiver that was removed", n)
	}
	if n := w.deliver("mail"); n != 2 {
		t.Errorf("sent %d to mail", n)
	}
}
