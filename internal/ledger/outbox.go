package ledger

import (
	"context"
	"encoding/json"
	"time"
)

// Outbox stores messages until their receivers have them. It is not exported: of two copies, both would send.
//
//	           ┌──────── failed attempt ◄───────┐
//	           ▼                                │
//	queued ─► pending ── Claim, for some time ──┼─► delivered
//	           │ too many wait                  └─► dead: too many attempts, or no server knows the receiver
//	           └─► dropped
//
// A claim that is not followed by [Outbox.Attempted] expires, and the message can be claimed again. So a message is delivered at
// least once, always with the same ID.
type Outbox interface {
	// Subscribe makes receivers the only ones. Those that are new get messages about events from now on. The messages that wait for
	// others become dead.
	Subscribe(ctx context.Context, receivers []string, now time.Time) error
	// Queue stores messages in one transaction, and through when steps were read for them. Messages that are stored already, in any
	// state, stay as they are.
	Queue(ctx context.Context, b Batch) (QueueResult, error)
	// Claim returns the message of a receiver that is due for the longest time, or [ErrNotFound]. Others cannot claim it until a time.
	// It counts as an attempt.
	Claim(ctx context.Context, receiver string, now, until time.Time) (Message, error)
	// Attempted stores the result of a claimed message's attempt: State, Due, Finished and Error. A claim that expired and was given
	// to another server can only report that the message is delivered.
	Attempted(ctx context.Context, m Message) error
	// Messages returns messages, the newest first.
	Messages(ctx context.Context, q MessageQuery) ([]Message, error)
	// Receivers returns all receivers, by name.
	Receivers(ctx context.Context) ([]Receiver, error)
	// DeleteMessages deletes messages that are not pending and are about events before a time.
	DeleteMessages(ctx context.Context, before time.Time) (removed int64, err error)
}

// MessageState is the state of a message.
type MessageState string

// The states of a message.
const (
	MessagePending   MessageState = "pending"
	MessageDelivered MessageState = "delivered"
	MessageDead      MessageState = "dead"    // given up
	MessageDropped   MessageState = "dropped" // too many others waited
)

// Message is an event for a receiver.
type Message struct {
	Receiver string `json:"receiver"`
	// ID identifies the event; its messages to other receivers have the same.
	ID    string       `json:"id"`
	State MessageState `json:"state"`
	// Event is what happened, in the format of package notify, At when it happened.
	Event json.RawMessage `json:"event"`
	At    time.Time       `json:"at"`
	// Queued is when the message was stored.
	Queued time.Time `json:"queued"`
	// Due is when the next attempt may begin; of a claimed message, when the claim expires.
	Due      time.Time `json:"due,omitzero"`
	Attempts int       `json:"attempts"`
	// Finished is when the message was delivered or given up.
	Finished time.Time `json:"finished,omitzero"`
	// Error is that of the last attempt, without secrets.
	Error string `json:"error,omitempty"`
}

// Batch holds messages to store.
type Batch struct {
	// Messages are pending. Receiver, ID, Event and At are required.
	Messages []Message
	// Through is the time of the newest step that was read for them; zero leaves it.
	Through time.Time
	Now     time.Time // required
	// Limit is how many messages may wait for a receiver: the oldest ones above it are dropped.
	Limit int // required
}

// QueueResult counts what [Outbox.Queue] did.
type QueueResult struct{ Stored, Dropped int }

// MessageQuery selects messages. Empty fields match all.
type MessageQuery struct {
	Receiver string
	State    MessageState
	// Undelivered leaves out delivered messages.
	Undelivered bool
	Limit       int // 0 means all
}

// Receiver is where messages are sent to, with the number of its messages in each state.
type Receiver struct {
	Name string `json:"name"`
	// Since is when it was subscribed, Through the time of the newest step that was read for messages.
	Since   time.Time `json:"since"`
	Through time.Time `json:"through"`
	// Due is when the next pending message is due; zero if none is pending.
	Due       time.Time `json:"due,omitzero"`
	Pending   int       `json:"pending"`
	Delivered int       `json:"delivered"`
	Dead      int       `json:"dead"`
	Dropped   int       `json:"dropped"`
	// Error is that of the newest message with an error; empty if none has one.
	Error string `json:"error,omitempty"`
}
