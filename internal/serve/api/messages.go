package api

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/notify/message"
)

// Messages are the receivers of messages about promotions, and messages to them.
type Messages struct {
	Receivers []ledger.Receiver `json:"receivers"`
	Items     []Message         `json:"items"`
}

// Message is a message to a receiver.
type Message struct {
	Receiver string `json:"receiver"`
	// ID is that of the event; its messages to other receivers have the same.
	ID    string              `json:"id"`
	State ledger.MessageState `json:"state"`
	Kind  message.Kind        `json:"kind"`
	Title string              `json:"title"`
	// At is when the event happened, Queued when the message was queued.
	At     time.Time `json:"at"`
	Queued time.Time `json:"queued"`
	// Due is when the next attempt may begin; absent if there is none.
	Due      time.Time `json:"due,omitzero"`
	Attempts int       `json:"attempts"`
	// Finished is when the message was delivered or given up.
	Finished time.Time `json:"finished,omitzero"`
	// Error is that of the last attempt.
	Error string `json:"error,omitempty"`
}

// MessagesQuery selects messages.
type MessagesQuery struct {
	Receiver  string `query:"receiver" maxLength:"63" doc:"Only messages to this receiver."`
	Delivered bool   `query:"delivered" doc:"Include messages that are delivered."`
	Limit     int    `query:"limit" minimum:"1" maximum:"1000" doc:"Maximum number of messages. Default: 100."`
}

// Outbox has the messages of a ledger.
type Outbox interface {
	Receivers(ctx context.Context) ([]ledger.Receiver, error)
	Messages(ctx context.Context, q ledger.MessageQuery) ([]ledger.Message, error)
}

func registerMessages(s *service) {
	ask(s, operation{
		id: "list-messages", path: "/messages", summary: "List receivers of messages, and messages that are not delivered, newest first",
		about: "Receivers have the number of their messages in each state: pending, delivered, dead and dropped.",
	}, func(ctx context.Context, in MessagesQuery) (Messages, error) { return ListMessages(ctx, s.Ledger, in) })
}

// ListMessages returns receivers and messages.
func ListMessages(ctx context.Context, outbox Outbox, q MessagesQuery) (Messages, error) {
	found := Messages{Receivers: []ledger.Receiver{}, Items: []Message{}}
	receivers, err := outbox.Receivers(ctx)
	if err != nil {
		return found, err
	}
	for _, r := range receivers {
		if q.Receiver == "" || r.Name == q.Receiver {
			found.Receivers = append(found.Receivers, r)
		}
	}
	all, err := outbox.Messages(ctx, ledger.MessageQuery{
		Receiver: q.Receiver, Undelivered: !q.Delivered, Limit: cmp.Or(q.Limit, query.DefaultLimit),
	})
	for _, m := range all {
		found.Items = append(found.Items, messageOf(m))
	}
	return found, err
}

func messageOf(m ledger.Message) Message {
	shown := Message{
		Receiver: m.Receiver, ID: m.ID, State: m.State, At: m.At, Queued: m.Queued, Due: m.Due, Attempts: m.Attempts, Finished: m.Finished, Error: m.Error,
	}
	var e message.Event
	if json.Unmarshal(m.Event, &e) == nil {
		shown.Kind, shown.Title = e.Kind, e.Title()
	}
	return shown
}
