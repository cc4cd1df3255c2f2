package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/notify/message"
)

// Sender sends messages to one receiver.
type Sender interface {
	// Send returns nil when the receiver has accepted the message. Errors contain no secrets.
	Send(ctx context.Context, e message.Event) error
}

// Outbox is the part of the ledger that messages are sent from.
type Outbox interface {
	Claim(ctx context.Context, receiver string, now, until time.Time) (ledger.Message, error)
	Attempted(ctx context.Context, m ledger.Message) error
}

// The schedule of attempts.
const (
	// firstPause is the pause after the first failed attempt. Each further one is twice as long, up to lastPause.
	firstPause, lastPause = 10 * time.Second, time.Hour
	// MaxAge is how long after it was queued a message is attempted.
	MaxAge = 72 * time.Hour
	// maxAttempts ends messages whose attempts never end, because the server does.
	maxAttempts = 200
	// claim is how long a message belongs to a server. Senders need less.
	claim = time.Minute
	// maxBreak limits the pause of a worker after failed attempts.
	maxBreak = time.Minute
)

// Dispatcher sends the messages of the outbox. It is safe for concurrent use.
type Dispatcher struct {
	Outbox  Outbox            // required
	Senders map[string]Sender // required
	// Sent is called after each attempt, with its error; optional.
	Sent func(m ledger.Message, took time.Duration, err error)
	// Now is the clock. Default: time.Now.
	Now func() time.Time
	// Jitter varies a pause. Default: by up to a fifth.
	Jitter func(time.Duration) time.Duration
}

// Send sends the message of a receiver that is due for the longest time. It returns [ledger.ErrNotFound] if none is due. The result of
// the attempt is stored in any case; the message has it.
func (d *Dispatcher) Send(ctx context.Context, receiver string) (ledger.Message, error) {
	begun := d.now()
	m, err := d.Outbox.Claim(ctx, receiver, begun, begun.Add(claim))
	if err != nil {
		return m, err
	}
	err = d.attempt(ctx, m)
	if ctx.Err() != nil {
		return m, ctx.Err() // the server stops; the claim expires
	}
	now := d.now()
	switch {
	case err == nil:
		m.State, m.Due, m.Finished, m.Error = ledger.MessageDelivered, time.Time{}, now, ""
	case !now.Before(m.Queued.Add(MaxAge)), m.Attempts >= maxAttempts:
		m.State, m.Due, m.Finished, m.Error = ledger.MessageDead, time.Time{}, now, err.Error()
	default:
		m.Due, m.Error = now.Add(d.pause(m.Attempts, err)), err.Error()
	}
	if d.Sent != nil {
		d.Sent(m, now.Sub(begun), err)
	}
	return m, d.Outbox.Attempted(ctx, m)
}

func (d *Dispatcher) attempt(ctx context.Context, m ledger.Message) error {
	var e message.Event
	if err := json.Unmarshal(m.Event, &e); err != nil {
		return fmt.Errorf("decode the event: %w", err)
	}
	return d.Senders[m.Receiver].Send(ctx, e)
}

// pause returns the time until the next attempt.
func (d *Dispatcher) pause(attempts int, err error) time.Duration {
	pause := d.jitter(growing(firstPause, lastPause, attempts))
	var refused *message.RefusedError
	if errors.As(err, &refused) {
		pause = max(pause, min(refused.RetryAfter, lastPause))
	}
	return pause
}

// growing returns a pause that doubles with each attempt.
func growing(first, last time.Duration, attempts int) time.Duration {
	pause := first
	for ; attempts > 1 && pause < last; attempts-- {
		pause *= 2
	}
	return min(pause, last)
}

func (d *Dispatcher) jitter(pause time.Duration) time.Duration {
	if d.Jitter != nil {
		return d.Jitter(pause)
	}
	return pause - pause/5 + rand.N(2*pause/5+1)
}

func (d *Dispatcher) now() time.Time {
	if d.Now == nil {
		return time.Now()
	}
	return d.Now()
}

// interval is how often the ledger is read without an event, for steps and messages of other servers and for attempts that are due.
const interval = 5 * time.Second

// Service collects messages and sends them, until it ends.
type Service struct {
	Collector  *Collector   // required
	Dispatcher *Dispatcher  // required
	Log        *slog.Logger // required

	mu   sync.Mutex
	wake map[string]chan struct{}
}

// collecting is the name of the channel that wakes the collector; receivers have names that are not empty.
const collecting = ""

// Wake makes the service look for new steps. It does not block.
func (s *Service) Wake() { s.signal(collecting) }

func (s *Service) signal(name string) {
	select {
	case s.channel(name) <- struct{}{}:
	default: // it is awake already
	}
}

func (s *Service) channel(name string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wake == nil {
		s.wake = map[string]chan struct{}{}
	}
	if s.wake[name] == nil {
		s.wake[name] = make(chan struct{}, 1)
	}
	return s.wake[name]
}

// Run works until the context ends, and returns when the last attempt has ended.
func (s *Service) Run(ctx context.Context) {
	var wait sync.WaitGroup
	wait.Go(func() { s.collect(ctx) })
	for name := range s.Dispatcher.Senders {
		wait.Go(func() { s.send(ctx, name) })
	}
	wait.Wait()
}

// collect collects messages, and wakes the workers.
func (s *Service) collect(ctx context.Context) {
	subscribed := false
	for ctx.Err() == nil {
		err := error(nil)
		if !subscribed {
			err = s.Collector.Subscribe(ctx)
			subscribed = err == nil
		}
		var done ledger.QueueResult
		if err == nil && len(s.Dispatcher.Senders) > 0 {
			done, err = s.Collector.Collect(ctx)
		}
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			s.Log.Error("collect messages, trying again", "error", err)
		case len(s.Dispatcher.Senders) == 0:
			return
		}
		if done.Dropped > 0 {
			s.Log.Warn("dropped the oldest messages, because too many wait", "dropped", done.Dropped, "limit", MaxWaiting)
		}
		if done.Stored > 0 {
			for name := range s.Dispatcher.Senders {
				s.signal(name)
			}
		}
		rest(ctx, s.channel(collecting), interval)
	}
}

// send sends the messages of one receiver. After a failure it takes a break, so that a receiver with many messages is not flooded.
func (s *Service) send(ctx context.Context, receiver string) {
	failures := 0
	for ctx.Err() == nil {
		m, err := s.Dispatcher.Send(ctx, receiver)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, ledger.ErrNotFound):
			rest(ctx, s.channel(receiver), interval)
			continue
		case err != nil:
			s.Log.Error("send a message, trying again", "receiver", receiver, "error", err)
			failures++
		case m.State == ledger.MessageDelivered:
			s.Log.Info("sent a message", "receiver", receiver, "message", m.ID)
			failures = 0
			continue
		case m.State == ledger.MessageDead:
			s.Log.Error("gave up a message", "receiver", receiver, "message", m.ID, "attempts", m.Attempts, "error", m.Error)
			failures++
		default:
			s.Log.Warn("a message was not accepted, trying again", "receiver", receiver, "message", m.ID, "attempts", m.Attempts, "next", m.Due, "error", m.Error)
			failures++
		}
		rest(ctx, nil, growing(time.Second, maxBreak, failures))
	}
}

// rest waits for a time, or until it is woken.
func rest(ctx context.Context, wake <-chan struct{}, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-wake:
	case <-timer.C:
	}
}
