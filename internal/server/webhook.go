package server

import (
	"crypto/sha256"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/secret"
)

// Hook receives the deliveries of one forge.
type Hook struct {
	// Name is the last part of its address: /webhooks/<name>.
	Name string // required
	// Verifier understands the forge's deliveries.
	Verifier forge.WebhookVerifier // required
	// Secret signs them. Without one nothing is accepted.
	Secret secret.Value // required
}

const (
	// maxDelivery bounds what is read of a delivery; GitHub's own limit is 25 MB.
	maxDelivery = 25 << 20
	// replayWindow is how long a delivery is remembered, and how old one may be.
	replayWindow = 10 * time.Minute
	// maxRemembered bounds how many deliveries are remembered.
	maxRemembered = 10_000
)

// webhooks passes verified deliveries on. Each is answered at once: what it means is looked up later.
type webhooks struct {
	hooks   map[string]Hook
	handle  func(forge.Event)
	metrics *Metrics
	now     func() time.Time

	mu   sync.Mutex
	seen map[posted]time.Time
}

func newWebhooks(hooks []Hook, handle func(forge.Event), metrics *Metrics) *webhooks {
	w := &webhooks{hooks: map[string]Hook{}, handle: handle, metrics: metrics, now: time.Now, seen: map[posted]time.Time{}}
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
	body, err := io.ReadAll(http.MaxBytesReader(response, request.Body, maxDelivery))
	if err != nil {
		return http.StatusRequestEntityTooLarge, "too large"
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

// posted identifies what was delivered. What a forge calls it is not signed, so the content counts.
type posted struct {
	hook string
	body [sha256.Size]byte
}

// replayed reports whether a delivery came before, or is too old to be anything but a replay.
// A replay could do no harm but work, which it shall not cause either. Two deliveries of the same content within the window
// are one: what it is about is looked at once.
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

// forget drops what is out of the window, and everything when that is not enough:
// a round too many is better than a memory without end.
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
