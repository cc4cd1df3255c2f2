package wiring

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/hub/desired"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/schedule/pull"
	"github.com/kalypso-io/kalypso/internal/text/secret/secretfile"
)

// wireDirect connects what clusters without a reconciler should run to Git.
func (s *Server) wireDirect(ctx context.Context) error {
	key, err := deliveryKey(s.Config.DeliveryKeyFile, filepath.Join(s.Config.Data, deliveryKeyFile))
	if err != nil {
		return fmt.Errorf("the key that signs deliveries: %w", err)
	}
	if s.API.DeliveriesRefused, err = otherDeliveryKey(ctx, s.Ledger, key); err != nil {
		return err
	}
	if s.API.DeliveriesRefused != "" {
		s.Log.Error("clusters without a reconciler are not told what to run", "reason", s.API.DeliveriesRefused)
	}
	observer := s.API.Observer
	s.API.DeliveryKey, _ = key.Public().(ed25519.PublicKey)
	service := &desired.Service{
		Clusters: s.Ledger, Numbers: s.Ledger, Repositories: repository.Direct{Client: s.Flows.Client}, Key: key, Now: time.Now,
		Fresh: min(s.Config.Poll.Duration, 15*time.Second),
		Follows: func(cluster string, m ledger.Membership) (desired.Following, error) {
			f, err := observer.Following(cluster, m)
			return desired.Following{Source: f.Source, Direct: f.Reconciler == pull.Direct, Windows: f.Windows, Hold: f.Hold}, err
		},
	}
	s.API.Deliveries, s.API.Events.Registered = service, service.Renew
	return nil
}

// keptDeliveryKey is the name under which the ledger has the ID of the key that signs deliveries.
const keptDeliveryKey = "delivery key"

// otherDeliveryKey returns why a key must not sign deliveries; empty if it may. The first server of a ledger decides which key it is, because agents refuse
// every other one: two servers with keys of their own would each have agents that refuse the other, and a server that lost its key would seem to work.
func otherDeliveryKey(ctx context.Context, l ledger.Replicas, key ed25519.PrivateKey) (string, error) {
	public, _ := key.Public().(ed25519.PublicKey)
	own := hub.KeyID(public)
	known, err := l.Keep(ctx, keptDeliveryKey, own)
	if err != nil {
		return "", fmt.Errorf("compare the key that signs deliveries with that of the ledger: %w", err)
	}
	if known == own {
		return "", nil
	}
	return fmt.Sprintf("this server signs deliveries with the key %.12s…, and agents of this ledger know the key %.12s…: set deliveryKeyFile to the same file on all servers, or restore delivery.key; "+
		"to change the key, see the documentation of clusters without a reconciler", own, known), nil
}

// deliveryKey reads the key from a file. Without one it reads the other file, and creates it if it does not exist.
func deliveryKey(file, own string) (ed25519.PrivateKey, error) {
	if file != "" {
		text, err := secretfile.Read(file)
		if err != nil {
			return nil, err
		}
		return hub.ParseReportKey(text)
	}
	text, err := secretfile.Read(own)
	if err == nil {
		return hub.ParseReportKey(text)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	made, err := os.CreateTemp(filepath.Dir(own), ".delivery-key-*") // only the user can read it
	if err != nil {
		return nil, err
	}
	err = errors.Join(pem.Encode(made, &pem.Block{Type: "PRIVATE KEY", Bytes: der}), made.Sync(), made.Close())
	if err == nil {
		// Another server with the same folder may have been faster: its key stays.
		err = os.Link(made.Name(), own)
	}
	_ = os.Remove(made.Name()) // it has another name now
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if text, err = secretfile.Read(own); err != nil {
		return nil, err
	}
	return hub.ParseReportKey(text)
}
