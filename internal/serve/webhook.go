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
	// smallDelivery is how much of one is read without more ado: nobody knows yet who sends it. Most are smaller.
	smallDelivery = 256 << 10
	// maxLarge is how many larger ones are read at once, and large how long the others wait for that.
	maxLarge = 4
	large    = 10 * time.Second
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
	// large has a place for each large delivery that is read.
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

// errBusy says that too many large deliveries are read already.
var errBusy = errors.New("too many large deliveries")

// read reads a delivery; done says that nobody needs it any more.
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
