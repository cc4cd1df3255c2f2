package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
	"github.com/kalypso-io/kalypso/internal/notify"
	"github.com/kalypso-io/kalypso/internal/notify/message"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
)

const (
	controlPlane = "https://git.example/platform/control-plane"
	shop         = "https://git.example/team/shop#shop"
)

var start = time.Date(2026, 11, 20, 10, 0, 0, 0, time.UTC)

func at(minute int) time.Time { return start.Add(time.Duration(minute) * time.Minute) }

// step returns a step of the control plane in prod.
func step(minute int, kind decide.StepKind, commit string, d promote.Detail) ledger.Step {
	return stepIn(controlPlane, "prod", minute, kind, commit, d)
}

func stepIn(subject, environment string, minute int, kind decide.StepKind, commit string, d promote.Detail) ledger.Step {
	detail, _ := json.Marshal(d)
	return ledger.Step{
		PromotionID: ledger.PromotionID{Subject: subject, Commit: strings.Repeat(commit, 40), Environment: environment},
		Kind:        string(kind), At: at(minute), Detail: detail,
	}
}

// failedWith returns the recorded decision about a commit that failed.
func failedWith(minute int, commit, cause string) ledger.Step {
	return step(minute, promote.StateChanged, commit, promote.Detail{Phase: decide.Failed, Revision: "r" + commit, Failure: cause})
}

// said describes an event: "failed aaaaaaa: no image".
func said(e message.Event) string {
	text := fmt.Sprintf("%s %.7s", e.Kind, e.Commit)
	if e.From != "" {
		text += fmt.Sprintf(" from %.7s", e.From)
	}
	if e.Reason != "" {
		text += ": " + e.Reason
	}
	return text
}

// inbox is a receiver. It remembers what it accepted, by ID.
type inbox struct {
	got map[string][]string
	// refuses is its error; nil accepts.
	refuses error
	// ends is called after a message was accepted, before the sender knows.
	ends func()
}

func (i *inbox) Send(_ context.Context, e message.Event) error {
	if i.refuses != nil {
		return i.refuses
	}
	if i.got == nil {
		i.got = map[string][]string{}
	}
	i.got[e.ID] = append(i.got[e.ID], said(e))
	if i.ends != nil {
		i.ends()
	}
	return nil
}

// texts returns what was accepted, each event once, sorted.
func (i *inbox) texts() []string {
	var all []string
	for _, texts := range i.got {
		all = append(all, texts[0])
	}
	slices.Sort(all)
	return all
}

// world is a ledger, and receivers of all events.
type world struct {
	*testing.T
	ledger  *sqlite.Ledger
	now     time.Time
	inboxes map[string]*inbox
	routes  []notify.Route
	// through is the ledger as a server sees it.
	through interface {
		notify.Ledger
		notify.Outbox
	}
	collector  *notify.Collector
	dispatcher *notify.Dispatcher
}

// newWorld returns a world with some receivers, which subscribed before the first step.
func newWorld(t *testing.T, receivers ...string) *world {
	t.Helper()
	w := &world{T: t, now: at(0), inboxes: map[string]*inbox{}, routes: []notify.Route{{Receivers: receivers}}}
	for _, name := range receivers {
		w.inboxes[name] = &inbox{}
	}
	var err error
	if w.ledger, err = sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.ledger.Close() })
	w.through = w.ledger
	w.reboot()
	if err := w.collector.Subscribe(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

// reboot starts another process.
func (w *world) reboot() {
	senders := map[string]notify.Sender{}
	for name, i := range w.inboxes {
		senders[name] = i
	}
	now := func() time.Time { return w.now }
	w.collector = &notify.Collector{Ledger: w.through, Routes: w.routes, Now: now}
	w.dispatcher = &notify.Dispatcher{Outbox: w.through, Senders: senders, Now: now, Jitter: func(d time.Duration) time.Duration { return d }}
}

func (w *world) record(steps ...ledger.Step) {
	w.Helper()
	for _, s := range steps {
		if err := w.ledger.RecordStep(w.Context(), s); err != nil {
			w.Fatal(err)
		}
		if s.At.After(w.now) {
			w.now = s.At
		}
	}
}

func (w *world) collect() ledger.QueueResult {
	w.Helper()
	done, err := w.collector.Collect(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return done
}

// deliver sends what is due to a receiver.
func (w *world) deliver(receiver string) (attempts int) {
	w.Helper()
	for {
		_, err := w.dispatcher.Send(w.Context(), receiver)
		if errors.Is(err, ledger.ErrNotFound) {
			return attempts
		}
		if err != nil {
			w.Fatal(err)
		}
		attempts++
	}
}
