package api

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"reflect"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/hub/desired"
	"github.com/kalypso-io/kalypso/internal/serve/access"
)

const (
	// deliveryBurst is how many requests about deliveries a cluster may send at once, deliveryEvery the time until it may send another one.
	deliveryBurst = 300
	deliveryEvery = 200 * time.Millisecond
	// maxWaiting limits how many clusters wait for a change at once.
	maxWaiting = 10_000
	// lookAgain is how often a request that waits looks for a change that no event told.
	lookAgain = 5 * time.Second
	// contentTimeout bounds the sending of an archive. What is missing is requested again, from there on.
	contentTimeout = 10 * time.Minute

	getArchive = "get-delivery-archive"
)

// Deliveries say what clusters without a reconciler should run.
type Deliveries interface {
	Of(ctx context.Context, cluster string) ([]hub.Delivery, string, error)
	Answer(ctx context.Context, cluster string) (sealed []byte, tag string, err error)
	Archive(ctx context.Context, cluster, digest string) ([]byte, error)
}

// DeliveryKey is the public key that verifies what the server says to agents.
type DeliveryKey struct {
	// KeyID is the SHA-256 of the key, in hexadecimal.
	KeyID string `json:"keyID"`
	// PublicKey is the key as PEM.
	PublicKey string `json:"publicKey"`
}

type deliveriesInput struct {
	Wait  int    `query:"wait" minimum:"0" maximum:"50" doc:"Seconds to wait for a change, with If-None-Match. Default: 0."`
	Match string `header:"If-None-Match" maxLength:"200" doc:"The ETag of the client's copy. If it is still current at the end of the wait, the answer is 304."`
}

type archiveInput struct {
	Digest string `path:"digest" maxLength:"64" doc:"Digest of the archive."`
}

type noInput struct{}

func registerDeliveries(s *service) {
	op := s.described(http.MethodGet, operation{
		id: "get-deliveries", path: "/deliveries", summary: "What a cluster without a reconciler should run",
		about: "The answer is signed by the server, names the cluster of the credential, and has a number that grows: its payload is of the type Deliveries.",
	})
	registry := s.api.OpenAPI().Components.Schemas
	registry.Schema(reflect.TypeFor[hub.Deliveries](), true, "")
	op.Responses[strconv.Itoa(http.StatusOK)] = &huma.Response{
		Description: "Deliveries in a DSSE envelope.",
		Content:     map[string]*huma.MediaType{"application/json": {Schema: registry.Schema(reflect.TypeFor[hub.SignedReports](), true, "")}},
	}
	op.Responses[strconv.Itoa(http.StatusNotModified)] = &huma.Response{Description: "The client's copy is current."}
	huma.Register(s.api, op, s.getDeliveries)

	op = s.described(http.MethodGet, operation{
		id: getArchive, path: "/deliveries/archives/{digest}", summary: "Download the manifests of a delivery",
		about: "A tar archive in gzip with the SHA-256 digest. Range requests continue a download. The answer is 404 if no delivery of the cluster has the digest any more.",
	})
	op.Responses[strconv.Itoa(http.StatusOK)] = &huma.Response{
		Description: "The archive.", Content: map[string]*huma.MediaType{"application/octet-stream": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}},
	}
	huma.Register(s.api, op, s.getArchive)

	ask(s, operation{
		id: "get-delivery-key", path: "/deliveries/key", summary: "The key that verifies deliveries",
		about: "Agents are told it when they are installed.",
	}, func(context.Context, noInput) (DeliveryKey, error) { return s.deliveryKey() })
}

func (s *service) deliveryKey() (DeliveryKey, error) {
	if s.DeliveryKey == nil {
		return DeliveryKey{}, noDeliveries()
	}
	der, err := x509.MarshalPKIXPublicKey(s.DeliveryKey)
	if err != nil {
		return DeliveryKey{}, err
	}
	return DeliveryKey{KeyID: hub.KeyID(s.DeliveryKey), PublicKey: string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))}, nil
}

func noDeliveries() error {
	return newProblem(http.StatusNotFound, "this server has no deliveries for clusters without a reconciler", "use another server, or install Flux, Argo CD or Fleet")
}

// takeDelivery admits a request about deliveries, within the limits.
func (s *service) takeDelivery(ctx context.Context) (cluster string, err error) {
	if s.Deliveries == nil {
		return "", noDeliveries()
	}
	if s.DeliveriesRefused != "" {
		return "", newProblem(http.StatusServiceUnavailable, s.DeliveriesRefused, "agents keep what they have until then")
	}
	cluster = access.From(ctx).Cluster
	if wait := s.deliveries.Take(cluster, s.now()); wait > 0 {
		p := newProblem(http.StatusTooManyRequests, "the cluster asks too often", "ask again after the time in Retry-After")
		p.retryAfter = wait
		return "", p
	}
	return cluster, nil
}

func (s *service) getDeliveries(ctx context.Context, in *deliveriesInput) (*huma.StreamResponse, error) {
	cluster, err := s.takeDelivery(ctx)
	if err != nil {
		return nil, s.problem(ctx, err)
	}
	sealed, tag, err := s.changed(ctx, cluster, in)
	if err != nil {
		return nil, s.problem(ctx, err)
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		_, w := humago.Unwrap(ctx)
		w.Header().Set("ETag", `"`+tag+`"`)
		w.Header().Set("Cache-Control", "no-store")
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute)) // it began before the wait
		if sealed == nil {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(sealed) // the client may be gone
	}}, nil
}

// changed returns what a cluster should run, signed, as soon as it differs from what the client has; nil if the client does not wait any longer. What differs
// is read again, because this server may know less than the one that the client asked before.
func (s *service) changed(ctx context.Context, cluster string, in *deliveriesInput) (sealed []byte, tag string, err error) {
	until := time.Now().Add(time.Duration(in.Wait) * time.Second)
	waiting := false
	for {
		moved, closed := s.Events.moves()
		_, tag, err := s.Deliveries.Of(ctx, cluster)
		if err == nil && in.Match != `"`+tag+`"` {
			if sealed, tag, err = s.Deliveries.Answer(ctx, cluster); err == nil && in.Match != `"`+tag+`"` {
				return sealed, tag, nil
			}
		}
		left := time.Until(until)
		if err != nil || left <= 0 {
			return nil, tag, err
		}
		if !waiting {
			select {
			case s.waiting <- struct{}{}:
				waiting = true
				defer func() { <-s.waiting }()
			default:
				return nil, tag, nil // the client asks again after its own pause
			}
		}
		if closed {
			return nil, tag, nil
		}
		if !await(ctx, moved, min(left, lookAgain)) {
			return nil, "", ctx.Err()
		}
	}
}

func (s *service) getArchive(ctx context.Context, in *archiveInput) (*huma.StreamResponse, error) {
	cluster, err := s.takeDelivery(ctx)
	if err != nil {
		return nil, s.problem(ctx, err)
	}
	archive, err := s.Deliveries.Archive(ctx, cluster, in.Digest)
	if errors.Is(err, desired.ErrUnknownDigest) {
		err = newProblem(http.StatusNotFound, err.Error(), "get the deliveries again: the branch has moved on")
	}
	if err != nil {
		return nil, s.problem(ctx, err)
	}
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		r, w := humago.Unwrap(ctx)
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("ETag", `"`+in.Digest+`"`)
		w.Header().Set("Cache-Control", "private, no-store")
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(contentTimeout)) // not every connection has one
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(archive))
	}}, nil
}
