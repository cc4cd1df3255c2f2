package serve

import (
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Hook receives the webhooks of one forge.
type Hook struct {
	// Name is the last segment of its path: /webhooks/<name>.
	Name string // required
	// Verifier verifies and parses deliveries.
	Verifier forge.WebhookVerifier // required
	// Secret is the key of signatures. Without one, nothing is accepted.
	Secret secret.Value // required
}

const (
	// maxDelivery limits a delivery, in bytes; GitHub's own limit is 25 MB.
	maxDelivery = 25 << 20
	// smallDelivery is how much of an unverified delivery is read without waiting. Most are smaller.
	smallDelivery = 256 << 10
	// maxLarge is how many larger deliveries are read at once, large how long others wait.
	maxLarge = 4
	large    = 10 * time.Second
	// replayWindow is how long deliveries are remembered, and their maximum age.
	replayWindow = 10 * time.Minute
	// maxRemembered limits the remembered deliveries.
	maxRemembered = 10_000
)

// webhooks verifies deliveries and passes on their events.
type webhooks struct {
	hooks   map[string]Hook
	handle  func(forge.Event)
	metrics *Metrics
	now     func() time.Time
	// large limits concurrent large deliveries.
	large chan struct{}

	mu   sync.Mutex
	seen map[posted]time.Time
}

func newWebhooks(hooks []Hook, handle func(forge.Event), metrics *Metrics) *webhooks {
	w := &webhooks{hooks: map[string]Hook{}, handle: handle, metrics: metrics, now: time.Now, seen: map[posted]time.Time{}}
	w.large = make(chan struct{}, maxLarge)
	for _, h := range hooks {
		w.hooks[h.Name] = h
	}
	return w
}

// ServeHTTP takes POST /webhooks/{name}.
func (w *webhooks) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	hook, ok := w.hooks[request.PathValue("name")]
	if !ok || hook.Secret.IsZero() {
		http.Error(response, "no such webhook", http.StatusNotFound)
		return
	}
	status, result := w.receive(hook, response, request)
	w.metrics.webhook(hook.Name, result)
	if status >= http.StatusBadRequest {
		http.Error(response, result, status)
		return
	}
	response.WriteHeader(status)
}

func (w *webhooks) receive(hook Hook, response http.ResponseWriter, request *http.Request) (status int, result string) {
	body, done, err := w.read(response, request)
	defer done()
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return http.StatusRequestEntityTooLarge, "too large"
	case errors.Is(err, errBusy):
		return http.StatusServiceUnavailable, "busy"
	case err != nil:
		return http.StatusRequestTimeout, "not sent in time"
	}
	event, err := hook.Verifier.VerifyWebhook(request.Header, body, hook.Secret)
	switch {
	case errors.Is(err, forge.ErrDenied):
		return http.StatusUnauthorized, "not signed with the secret"
	case err != nil:
		return http.StatusBadRequest, "not understood"
	case w.replayed(hook.Name, event, sha256.Sum256(body)):
		return http.StatusOK, "repeated"
	}
	w.handle(event)
	return http.StatusAccepted, "accepted"
}

// errBusy means that too many large deliveries are being read.
var errBusy = errors.New("too many large deliveries")

// read reads a delivery. Call done when it is processed.
func (w *webhooks) read(response http.ResponseWriter, request *http.Request) (body []byte, done func(), err error) {
	done = func() {}
	all := http.MaxBytesReader(response, request.Body, maxDelivery)
	if body, err = io.ReadAll(io.LimitReader(all, smallDelivery)); err != nil || len(body) < smallDelivery {
		return body, done, err
	}
	timer := time.NewTimer(large)
	defer timer.Stop()
	select {
	case w.large <- struct{}{}:
	case <-timer.C:
		return nil, done, errBusy
	case <-request.Context().Done():
		return nil, done, request.Context().Err()
	}
	rest, err := io.ReadAll(all)
	return append(body, rest...), func() { <-w.large }, err
}

// posted identifies a delivery by its content, because the forge's ID is not signed.
type posted struct {
	hook string
	body [sha256.Size]byte
}

// replayed reports whether a delivery is repeated or too old. Replays would only cause unnecessary rounds.
func (w *webhooks) replayed(hook string, e forge.Event, body [sha256.Size]byte) bool {
	now := w.now()
	if !e.Time.IsZero() && now.Sub(e.Time) > replayWindow {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	key := posted{hook, body}
	if at, ok := w.seen[key]; ok && now.Sub(at) < replayWindow {
		return true
	}
	if len(w.seen) >= maxRemembered {
		w.forget(now)
	}
	w.seen[key] = now
	return false
}

// forget removes old deliveries, and all if that is not enough: an unnecessary round is better than unlimited memory.
func (w *webhooks) forget(now time.Time) {
	for key, at := range w.seen {
		if now.Sub(at) >= replayWindow {
			delete(w.seen, key)
		}
	}
	if len(w.seen) >= maxRemembered {
		clear(w.seen)
	}
}
