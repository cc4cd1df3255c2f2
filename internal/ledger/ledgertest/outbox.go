package ledgertest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
)

// message returns a message about an event of a minute.
func message(receiver, id string, minute int) ledger.Message {
	return ledger.Message{Receiver: receiver, ID: id, At: at(minute), Event: []byte(`{"id":"` + id + `"}`)}
}

func queue(t *testing.T, l ledger.Ledger, minute, limit int, messages ...ledger.Message) ledger.QueueResult {
	t.Helper()
	done, err := l.Queue(t.Context(), ledger.Batch{Messages: messages, Through: at(minute), Now: at(minute), Limit: limit})
	must(t, err)
	return done
}

// outbox returns the messages of a receiver, such as "a pending 1": ID, state and attempts, the oldest first.
func outbox(t *testing.T, l ledger.Ledger, receiver string) []string {
	t.Helper()
	all, err := l.Messages(t.Context(), ledger.MessageQuery{Receiver: receiver})
	must(t, err)
	var out []string
	for _, m := range all {
		out = append(out, fmt.Sprintf("%s %s %d", m.ID, m.State, m.Attempts))
	}
	slices.Reverse(out)
	return out
}

// messages are stored once, claimed by one, and stay until they are delivered.
func messages(t *testing.T, l ledger.Ledger) {
	must(t, l.Subscribe(t.Context(), []string{"chat", "mail"}, at(0)))
	equal(t, "first", queue(t, l, 2, 10, message("chat", "a", 1), message("mail", "a", 1), message("chat", "b", 2)), ledger.QueueResult{Stored: 3})
	equal(t, "again", queue(t, l, 3, 10, message("chat", "a", 1), message("chat", "b", 2)), ledger.QueueResult{})

	m, err := l.Claim(t.Context(), "chat", at(5), at(7))
	must(t, err)
	equal(t, "claimed", m, ledger.Message{
		Receiver: "chat", ID: "a", State: ledger.MessagePending, Event: []byte(`{"id":"a"}`), At: at(1), Queued: at(2), Due: at(7), Attempts: 1,
	})
	other, err := l.Claim(t.Context(), "chat", at(5), at(7))
	must(t, err)
	equal(t, "claimed next", other.ID, "b")
	if _, err := l.Claim(t.Context(), "chat", at(6), at(8)); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("claimed twice: %v", err)
	}

	m.State, m.Due, m.Error = ledger.MessagePending, at(20), "connection refused"
	must(t, l.Attempted(t.Context(), m))
	other.State, other.Finished = ledger.MessageDelivered, at(6)
	must(t, l.Attempted(t.Context(), other))
	if _, err := l.Claim(t.Context(), "chat", at(19), at(21)); !errors.Is(err, ledger.ErrNotFound) {
		t.Errorf("claimed before it is due: %v", err)
	}
	receivers, err := l.Receivers(t.Context())
	must(t, err)
	equal(t, "receivers", receivers, []ledger.Receiver{
		{Name: "chat", Since: at(0), Through: at(3), Due: at(20), Pending: 1, Delivered: 1, Error: "connection refused"},
		{Name: "mail", Since: at(0), Through: at(3), Due: at(2), Pending: 1},
	})
	equal(t, "chat", outbox(t, l, "chat"), []string{"a pending 1", "b delivered 1"})
	all, err := l.Messages(t.Context(), ledger.MessageQuery{Receiver: "chat", State: ledger.MessagePending, Limit: 5})
	must(t, err)
	equal(t, "error", all[0].Error, "connection refused")
	all, err = l.Messages(t.Context(), ledger.MessageQuery{Undelivered: true})
	must(t, err)
	equal(t, "undelivered", len(all), 2)

	// What is delivered is queued no second time, until it is deleted.
	equal(t, "again", queue(t, l, 21, 10, message("chat", "b", 2)), ledger.QueueResult{})
	removed, err := l.DeleteMessages(t.Context(), at(3))
	must(t, err)
	equal(t, "removed", removed, int64(1))
	equal(t, "chat", outbox(t, l, "chat"), []string{"a pending 1"})
}

// claimsExpire: a server that ends between claim and delivery delays a message, and a slow one cannot take back what another delivered.
func claimsExpire(t *testing.T, l ledger.Ledger) {
	must(t, l.Subscribe(t.Context(), []string{"chat"}, at(0)))
	queue(t, l, 1, 10, message("chat", "a", 1))
	slow, err := l.Claim(t.Context(), "chat", at(1), at(3))
	must(t, err)
	second, err := l.Claim(t.Context(), "chat", at(3), at(5))
	must(t, err)
	equal(t, "attempts", second.Attempts, 2)
	slow.State, slow.Due, slow.Error = ledger.MessageDead, time.Time{}, "too late"
	must(t, l.Attempted(t.Context(), slow))
	equal(t, "chat", outbox(t, l, "chat"), []string{"a pending 2"})
	second.State, second.Due, second.Error = ledger.MessagePending, at(9), "refused"
	must(t, l.Attempted(t.Context(), second))
	slow.State, slow.Finished, slow.Error = ledger.MessageDelivered, at(6), ""
	must(t, l.Attempted(t.Context(), slow))
	equal(t, "chat", outbox(t, l, "chat"), []string{"a delivered 2"})
}

// boundedOutbox: the oldest messages that wait are dropped, and stay visible as such.
func boundedOutbox(t *testing.T, l ledger.Ledger) {
	must(t, l.Subscribe(t.Context(), []string{"chat", "mail"}, at(0)))
	queue(t, l, 1, 2, message("chat", "a", 1), message("mail", "a", 1))
	done := queue(t, l, 4, 2, message("chat", "b", 2), message("chat", "c", 3), message("chat", "d", 4))
	equal(t, "done", done, ledger.QueueResult{Stored: 3, Dropped: 2})
	equal(t, "chat", outbox(t, l, "chat"), []string{"a dropped 0", "b dropped 0", "c pending 0", "d pending 0"})
	equal(t, "mail", outbox(t, l, "mail"), []string{"a pending 0"})
	equal(t, "again", queue(t, l, 5, 2, message("chat", "a", 1)), ledger.QueueResult{})
}

// subscriptions: a receiver that is no longer configured gets nothing, and begins again when it returns.
func subscriptions(t *testing.T, l ledger.Ledger) {
	must(t, l.Subscribe(t.Context(), []string{"chat", "mail"}, at(0)))
	queue(t, l, 1, 10, message("chat", "a", 1), message("mail", "a", 1))
	must(t, l.Subscribe(t.Context(), []string{"mail"}, at(2)))
	equal(t, "chat", outbox(t, l, "chat"), []string{"a dead 0"})
	must(t, l.Subscribe(t.Context(), []string{"mail", "chat"}, at(9)))
	receivers, err := l.Receivers(t.Context())
	must(t, err)
	equal(t, "receivers", receivers, []ledger.Receiver{
		{Name: "chat", Since: at(9), Through: at(9), Dead: 1, Error: "the receiver is no longer configured"},
		{Name: "mail", Since: at(0), Through: at(1), Due: at(1), Pending: 1},
	})
}

// concurrentClaims: of many servers, one gets a message.
func concurrentClaims(t *testing.T, l ledger.Ledger) {
	must(t, l.Subscribe(t.Context(), []string{"chat"}, at(0)))
	var all []ledger.Message
	for i := range 20 {
		all = append(all, message("chat", fmt.Sprintf("%02d", i), i))
	}
	queue(t, l, 20, 100, all...)
	var mu sync.Mutex
	var got []string
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for {
				m, err := l.Claim(t.Context(), "chat", at(30), at(40))
				if errors.Is(err, ledger.ErrNotFound) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				got = append(got, m.ID)
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	slices.Sort(got)
	if len(slices.Compact(got)) != 20 {
		t.Errorf("claimed %v", got)
	}
}
