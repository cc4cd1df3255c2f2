package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/backend"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/hub/record"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/verify"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/serve/web"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// observatory is what the server knows of clusters, and how it is asked.
type observatory struct {
	ledger ledger.Ledger
	events *api.Events
	chains *chains
	api    *api.Server
}

// fluxSecretFile holds what the keys are made from with which clusters sign events, in the data folder.
const fluxSecretFile = "flux-secret"

// openObservatory opens the ledger and wires what works on it. The keeper is told when clusters or people said something.
func openObservatory(ctx context.Context, config *serve.Config, work *flows, metrics *serve.Metrics, log *slog.Logger, keeper *serve.Keeper) (*observatory, error) {
	if err := os.MkdirAll(config.Data, 0o700); err != nil {
		return nil, fmt.Errorf("create the data folder: %w", err)
	}
	book, err := backend.OpenLedger(ctx, config.Ledger)
	if err != nil {
		return nil, err
	}
	h := &observatory{ledger: book, events: &api.Events{}}
	if err := h.wire(ctx, config, work, metrics, log, keeper); err != nil {
		return nil, errors.Join(err, book.Close())
	}
	return h, nil
}

func (h *observatory) wire(ctx context.Context, config *serve.Config, work *flows, metrics *serve.Metrics, log *slog.Logger, keeper *serve.Keeper) error {
	if err := firstToken(ctx, config.Data, h.ledger, log); err != nil {
		return err
	}
	fluxSecret, err := keptSecret(filepath.Join(config.Data, fluxSecretFile))
	if err != nil {
		return err
	}
	h.chains = &chains{
		flows: work, ledger: h.ledger, explicit: config.Chains, board: work.board, events: h.events, hosts: knownHosts(config), links: pageLinks(config.URL),
		recorder: &record.Recorder{Repositories: repository.GitOpsBranches{Client: work.client}, Ledger: h.ledger, Now: time.Now},
		promoter: &promote.Promoter{
			Ledger: h.ledger, Ancestry: &repository.Ancestry{Client: work.client},
			Checks:  &verify.Runner{Programs: config.Verify.Programs, Hosts: config.Verify.Hosts},
			Checked: keeper.Spoken,
		},
	}
	h.api = &api.Server{
		Observer:  &query.Observer{Ledger: h.ledger, Fleet: work.board, Now: time.Now},
		Control:   &promote.Control{Ledger: h.ledger, Branches: repository.NewDeliveryReader(work.client)},
		Intake:    &ingest.Intake{Ledger: attentive{h.ledger, metrics, keeper}},
		Registrar: &ingest.Registrar{Ledger: h.ledger, NewSecret: func(role string) secret.Value { return access.NewToken(access.Role(role)) }},
		Guard: &access.Guard{
			Store: h.ledger, SignOn: signOn(config.Access.OIDC), Anonymous: anonymous(config),
			Others: []access.Authenticator{api.FluxSignature{Secret: fluxSecret, Clusters: h.ledger}},
		},
		Ledger: h.ledger, Events: h.events, Log: log, FluxSecret: fluxSecret, Version: cli.Version(),
		Spoken: func(subject, _ string) { keeper.Spoken(subject) },
	}
	return nil
}

// pages are the pages of the fleet. Where there is a local forge, its repositories have a place in their navigation.
func (h *observatory) pages(config *serve.Config, log *slog.Logger) *web.Pages {
	p := &web.Pages{Observer: h.api.Observer, Guard: h.api.Guard, Log: log, URL: config.URL, RepositoryURL: h.chains.hosts.Reach}
	if *config.LocalForge {
		p.Links = []web.Link{{Name: "Repositories", Address: repositoriesPage(config.URL)}}
	}
	return p
}

// knownHosts are those whose repositories are read when workloads or clusters name them.
func knownHosts(config *serve.Config) *record.Hosts {
	hosts := &record.Hosts{}
	hosts.Add(config.URL)
	hosts.Add(config.ControlPlanes...)
	hosts.Add(slices.Collect(maps.Keys(config.Map))...)
	for _, f := range config.Forges {
		hosts.Add(f.URL)
	}
	return hosts
}

// close ends what runs, and then the ledger.
func (h *observatory) close() error {
	h.events.Close()
	h.chains.promoter.Close()
	return h.ledger.Close()
}

// attentive is a ledger that tells when clusters report something new. Signs of life are not worth a look of their own:
// what follows from them is seen with the next poll.
type attentive struct {
	ledger.Ledger
	metrics *serve.Metrics
	keeper  *serve.Keeper
}

var _ ingest.Store = attentive{}

// Report takes reports, all or none.
func (a attentive) Report(ctx context.Context, reports ...ledger.Report) error {
	err := a.Ledger.Report(ctx, reports...)
	if err != nil || len(reports) == 0 {
		return err
	}
	var about []ledger.Source
	for i := range reports {
		source := reports[i].Source
		source.Path = ""
		if !slices.Contains(about, source) {
			about = append(about, source)
		}
	}
	a.metrics.Reported(len(reports))
	a.keeper.Reported(about...)
	return nil
}

// forget takes out of the ledger what nobody needs any more, from time to time, until the context ends.
func (h *observatory) forget(ctx context.Context, retention time.Duration, log *slog.Logger) {
	const often, confirmations = 6 * time.Hour, 24 * time.Hour
	for {
		what := ledger.Compaction{Before: time.Now().Add(-confirmations)}
		if retention > 0 {
			what = ledger.Compaction{Before: time.Now().Add(-retention), Drop: true}
		}
		removed, err := h.ledger.Compact(ctx, what)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			log.Error("compact the ledger", "error", err)
		case removed > 0:
			log.Info("compacted the ledger", "removed", removed)
		}
		timer := time.NewTimer(often)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// anonymous says who may read without showing who they are.
func anonymous(config *serve.Config) access.AnonymousRead {
	switch {
	case config.Access.Anonymous == "always":
		return access.AnonymousAlways
	case config.Access.Anonymous == "local" && onLoopback(config.Listen):
		return access.AnonymousLocal
	}
	return access.AnonymousNever
}

// signOn is the issuer of the configuration; nil when there is none.
func signOn(c *serve.OIDCConfig) *access.SignOn {
	if c == nil {
		return nil
	}
	s := &access.SignOn{Issuer: c.Issuer, Audience: c.Audience, RolesClaim: c.RolesClaim, NameClaim: c.NameClaim, Roles: map[string]access.Role{}}
	for group, role := range c.Roles {
		s.Roles[group] = access.Role(role)
	}
	return s
}

// firstToken makes sure that whoever started the server can get in: with the token of the local forge where there is one,
// else with one of its own, in the same file.
func firstToken(ctx context.Context, data string, tokens ledger.Tokens, log *slog.Logger) error {
	file := filepath.Join(data, adminTokenFile)
	existing, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the token of the administrator: %w", err)
	}
	token, err := access.Bootstrap(ctx, tokens, secret.New(strings.TrimSpace(string(existing))), time.Now())
	if err != nil || token.IsZero() || len(existing) > 0 {
		return err
	}
	if err := writeSecret(file, token); err != nil {
		return fmt.Errorf("write the token of the administrator: %w", err)
	}
	log.Info("made a token for the administrator", "file", file)
	return nil
}

// keptSecret returns the secret in a file, which is made the first time.
func keptSecret(file string) (secret.Value, error) {
	text, err := os.ReadFile(file)
	if err == nil {
		return secret.New(strings.TrimSpace(string(text))), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return secret.Value{}, fmt.Errorf("read a secret: %w", err)
	}
	made := secret.New(rand.Text())
	if err := writeSecret(file, made); err != nil {
		return secret.Value{}, fmt.Errorf("keep a secret: %w", err)
	}
	return made, nil
}

func writeSecret(file string, s secret.Value) error {
	return os.WriteFile(file, []byte(s.Reveal()+"\n"), 0o600)
}
