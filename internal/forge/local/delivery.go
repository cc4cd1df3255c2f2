package local

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/text/outbound"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// The headers of a delivery.
const (
	signatureHeader = "X-Kalypso-Signature-256"
	deliveryHeader  = "X-Kalypso-Delivery"
)

// payload is the body of a delivery.
type payload struct {
	Kind       forge.EventKind `json:"kind"`
	Repository string          `json:"repository"`
	Branch     string          `json:"branch,omitempty"`
	Commit     string          `json:"commit,omitempty"`
	Change     int             `json:"change,omitempty"`
	Sender     string          `json:"sender"`
	Time       time.Time       `json:"time"`
}

func newDelivery() string { return rand.Text() }

func sign(body []byte, key forge.Secret) string {
	mac := hmac.New(sha256.New, []byte(key.Reveal()))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// VerifyWebhook checks a delivery of this forge, and returns its event.
func (f *Forge) VerifyWebhook(header http.Header, body []byte, key forge.Secret) (event forge.Event, err error) {
	defer explain("verify delivery", "", &err)
	if key.IsZero() || !hmac.Equal([]byte(header.Get(signatureHeader)), []byte(sign(body, key))) {
		return forge.Event{}, &forge.Error{Kind: forge.ErrDenied, Detail: "the signature does not match the secret"}
	}
	var p payload
	if err := json.Unmarshal(body, &p); err != nil || p.Kind == "" {
		return forge.Event{}, invalid("it is not an event of this forge")
	}
	return forge.Event{
		Kind: p.Kind, Repository: p.Repository, Branch: p.Branch, Commit: p.Commit, PullRequest: p.Change,
		Sender: p.Sender, Time: p.Time, Delivery: header.Get(deliveryHeader),
	}, nil
}

// deliveries sends events to hooks. Events are hints: those that wait when the process ends, or that find the queue full,
// are lost. Receivers poll as well.
type deliveries struct {
	queue  chan delivery
	client *http.Client
	log    *slog.Logger
	ctx    context.Context //nolint:containedctx // ends with the forge
	cancel context.CancelFunc
	done   sync.WaitGroup
	// pause is the time before the second attempt.
	pause time.Duration
}

type delivery struct {
	hook  forge.Hook
	event forge.Event
}

func newDeliveries(log *slog.Logger) *deliveries {
	d := &deliveries{
		queue: make(chan delivery, 4096), log: log, pause: time.Second,
		client: outbound.New(outbound.Options{Timeout: 10 * time.Second, Redirects: outbound.Never}),
	}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	for range 4 {
		d.done.Go(d.work)
	}
	return d
}

func (d *deliveries) add(h forge.Hook, event forge.Event) {
	select {
	case d.queue <- delivery{h, event}:
	default:
		d.log.Warn("event not delivered: too many are waiting", "hook", secret.Redact(h.URL), "kind", event.Kind)
	}
}

func (d *deliveries) close() {
	d.cancel()
	d.done.Wait()
}

func (d *deliveries) work() {
	for {
		select {
		case <-d.ctx.Done():
			return
		case one := <-d.queue:
			d.deliver(one)
		}
	}
}

// deliver tries three times, with increasing pauses.
func (d *deliveries) deliver(one delivery) {
	pause := d.pause
	for attempt := range 3 {
		if attempt > 0 {
			select {
			case <-d.ctx.Done():
				return
			case <-time.After(pause):
				pause *= 5
			}
		}
		err := d.post(one)
		if err == nil {
			return
		}
		d.log.Warn("deliver event", "hook", secret.Redact(one.hook.URL), "kind", one.event.Kind, "error", err)
	}
}

func (d *deliveries) post(one delivery) error {
	e := one.event
	body, err := json.Marshal(payload{e.Kind, e.Repository, e.Branch, e.Commit, e.PullRequest, e.Sender, e.Time})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(d.ctx, http.MethodPost, one.hook.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(deliveryHeader, e.Delivery)
	request.Header.Set(signatureHeader, sign(body, one.hook.Secret))
	answer, err := d.client.Do(request)
	if err != nil {
		return fmt.Errorf("post event: %w", err)
	}
	defer answer.Body.Close() //nolint:errcheck // the body is not read
	if answer.StatusCode >= 300 {
		return fmt.Errorf("post event: status %d", answer.StatusCode)
	}
	return nil
}
