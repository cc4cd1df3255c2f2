package api_test

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/hub/artifact"
	"github.com/kalypso-io/kalypso/internal/hub/desired"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/serve/api"
)

// branch is a repository with one folder, whose commit a test changes.
type branch struct {
	mu     sync.Mutex
	commit string
	// read receives a value when the branch was read.
	read chan struct{}
}

func (b *branch) Resolve(context.Context, string, hub.DirectSource) (desired.Commit, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case b.read <- struct{}{}:
	default:
	}
	hash := b.commit
	return desired.Commit{Hash: hash, Files: func(context.Context, string) ([]artifact.File, error) {
		return []artifact.File{{Path: "a.yaml", Content: []byte("# " + strings.Repeat(hash, 100))}}, nil
	}}, nil
}

func (b *branch) move(digit string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.commit = commit(digit)
}

// deliver makes the server have deliveries from a branch, for clusters of the type bare, and returns the key that verifies them.
func (w *world) deliver(git desired.Repositories) ed25519.PublicKey {
	w.t.Helper()
	public, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.server.DeliveryKey = public
	w.server.Deliveries = &desired.Service{
		Clusters: w.ledger, Numbers: w.ledger, Repositories: git, Key: key, Fresh: time.Nanosecond, Now: time.Now,
		Follows: func(_ string, m ledger.Membership) (desired.Following, error) {
			return desired.Following{Source: hub.Source{Repository: gitOps, Ref: "dev", Path: m.ClusterType}, Direct: m.ClusterType == "bare"}, nil
		},
	}
	return public
}

func TestDeliveries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	git := &branch{commit: commit("a"), read: make(chan struct{}, 1)}
	token := w.register("edge-1", ledger.Membership{Environment: "dev", ClusterType: "bare"})
	other := w.register("edge-2", ledger.Membership{Environment: "dev", ClusterType: "flux"})
	wantProblem(t, w.call(http.MethodGet, "/api/v1/deliveries", token, nil), http.StatusNotFound)

	public := w.deliver(git)
	open := func(a asked) hub.Deliveries {
		t.Helper()
		if a.status != http.StatusOK {
			t.Fatalf("got %d %s", a.status, a.body)
		}
		payload, _, err := hub.Unseal(a.body, hub.DeliveriesPayloadType, public)
		var d hub.Deliveries
		if err := errors.Join(err, json.Unmarshal(payload, &d)); err != nil {
			t.Fatal(err)
		}
		return d
	}
	first := w.call(http.MethodGet, "/api/v1/deliveries", token, nil)
	d := open(first)
	if err := d.Check("edge-1"); err != nil || len(d.Deliveries) != 1 || d.Deliveries[0].Commit != commit("a") {
		t.Fatalf("got %+v, %v", d, err)
	}
	if d := open(w.call(http.MethodGet, "/api/v1/deliveries", other, nil)); d.Cluster != "edge-2" || len(d.Deliveries) != 0 {
		t.Errorf("a cluster with a reconciler gets %+v", d)
	}
	wantProblem(t, w.get("/api/v1/deliveries"), http.StatusForbidden)
	wantProblem(t, w.call(http.MethodGet, "/api/v1/deliveries?wait=51", token, nil), http.StatusUnprocessableEntity)

	at := "/api/v1/deliveries/archives/" + d.Deliveries[0].Digest
	whole := w.call(http.MethodGet, at, token, nil)
	if whole.status != http.StatusOK || artifact.Digest(whole.body) != d.Deliveries[0].Digest {
		t.Errorf("got %d %d bytes", whole.status, len(whole.body))
	}
	rest := w.call(http.MethodGet, at, token, nil, "Range", "bytes=10-", "Accept", "application/octet-stream")
	if rest.status != http.StatusPartialContent || string(rest.body) != string(whole.body[10:]) {
		t.Errorf("got %d %d bytes", rest.status, len(rest.body))
	}
	wantProblem(t, w.call(http.MethodGet, at, other, nil), http.StatusNotFound)
	wantProblem(t, w.call(http.MethodGet, at, w.tokens["admin"], nil), http.StatusForbidden)

	tag := first.header.Get("ETag")
	if a := w.call(http.MethodGet, "/api/v1/deliveries", token, nil, "If-None-Match", tag); a.status != http.StatusNotModified {
		t.Errorf("got %d without a change", a.status)
	}
	<-git.read
	changed := make(chan hub.Deliveries)
	go func() {
		changed <- open(w.call(http.MethodGet, "/api/v1/deliveries?wait=50", token, nil, "If-None-Match", tag))
	}()
	<-git.read // it waits
	git.move("b")
	w.server.Events.Publish(api.Signal{Type: api.SignalEnvironment, Environment: "dev"})
	if next := <-changed; next.Deliveries[0].Commit != commit("b") || next.Number <= d.Number {
		t.Errorf("got %+v after number %d", next, d.Number)
	}
	wantProblem(t, w.call(http.MethodGet, at, token, nil), http.StatusNotFound)

	shown := decode[api.DeliveryKey](t, w.call(http.MethodGet, "/api/v1/deliveries/key", "", nil), http.StatusOK)
	if got, err := hub.ParseReportPublicKey([]byte(shown.PublicKey)); err != nil || !got.Equal(public) || shown.KeyID != hub.KeyID(public) {
		t.Errorf("got %+v, %v", shown, err)
	}
}

func TestDeliveriesAreRefusedWithAReason(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token := w.register("edge-1", ledger.Membership{Environment: "dev", ClusterType: "bare"})
	w.deliver(&branch{commit: commit("a"), read: make(chan struct{}, 1)})
	w.server.DeliveriesRefused = "the key is another one"
	for _, path := range []string{"/api/v1/deliveries", "/api/v1/deliveries/archives/" + strings.Repeat("a", 64)} {
		a := w.call(http.MethodGet, path, token, nil)
		wantProblem(t, a, http.StatusServiceUnavailable)
		if !strings.Contains(string(a.body), "the key is another one") {
			t.Errorf("%s: got %s", path, a.body)
		}
	}
}

var _ api.Deliveries = (*desired.Service)(nil)
