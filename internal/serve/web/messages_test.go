package web_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/notify/message"
	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// TestMessages: operators see who was told what, what waits, and what a receiver answered; readers do not.
func TestMessages(t *testing.T) {
	w := newWorld(t)
	w.pages.Guard.Others = []access.Authenticator{roleHeader{}}
	w.pages.Outbox = w.ledger
	w.must(w.ledger.Subscribe(t.Context(), []string{"chat", "down"}, noon.Add(-time.Hour)))
	event, err := json.Marshal(message.Event{ID: "e1", Kind: message.Failed, Environment: "prod", Commit: strings.Repeat("a", 40), At: noon})
	w.must(err)
	batch := ledger.Batch{Now: noon, Limit: 10}
	for _, receiver := range []string{"chat", "down"} {
		batch.Messages = append(batch.Messages, ledger.Message{Receiver: receiver, ID: "e1", Event: event, At: noon})
	}
	_, err = w.ledger.Queue(t.Context(), batch)
	w.must(err)
	for receiver, state := range map[string]ledger.MessageState{"chat": ledger.MessageDelivered, "down": ledger.MessagePending} {
		m, err := w.ledger.Claim(t.Context(), receiver, noon, noon.Add(time.Minute))
		w.must(err)
		if m.State = state; state == ledger.MessageDelivered {
			m.Finished, m.Due = noon, time.Time{}
		} else {
			m.Error, m.Due = "503 <Service Unavailable>", noon.Add(time.Minute)
		}
		w.must(w.ledger.Attempted(t.Context(), m))
	}
	p := w.seeAs(access.Operator, "/history/messages")
	p.wants("tr", "platform in prod: aaaaaaa failed chat ✓ delivered")
	p.wants("tr", "platform in prod: aaaaaaa failed down ◐ pending")
	p.wants("tr", "503 <Service Unavailable>")
	p = w.seeAs(access.Operator, "/history/messages?show=undelivered&receiver=chat")
	p.wants(".empty", "Every message is delivered.")
	p.wants(".command code", "kalypso notify status chat")
	w.seeAs(access.Operator, "/history/messages?receiver=other").wants(".empty", "No receiver has this name.")
	w.seeAs(access.Operator, "/history").wants("a[href=/history/messages]", "Messages to receivers")
	if a := w.ask("/history/messages", "Role", string(access.Reader)); a.Code != http.StatusForbidden || strings.Contains(a.Body.String(), "chat") {
		t.Errorf("a reader: %d", a.Code)
	}
	if a := w.ask("/history/messages?show=nope", "Role", string(access.Operator)); a.Code != http.StatusBadRequest {
		t.Errorf("an unknown filter: %d", a.Code)
	}
}
