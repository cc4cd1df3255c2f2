package wiring

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/hub/record"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/plane"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/verify"
	"github.com/kalypso-io/kalypso/internal/repository"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/api"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

var _ promote.Checks = (*verify.Runner)(nil)

// chains records what was published, promotes commits along the chains of environments, and tells clients.
type chains struct {
	flows  *Flows
	events *api.Events
}

var _ serve.Chains = (*chains)(nil)

// wirePromotion wires promotion and the API to the ledger. Reports, commands and verifications wake the keeper.
func (s *Server) wirePromotion(ctx context.Context) error {
	fluxSecret, err := s.sharedSecret(ctx, fluxSecretFile)
	if err != nil {
		return err
	}
	sessionKey, err := s.sharedSecret(ctx, sessionKeyFile)
	if err != nil {
		return err
	}
	verifier, err := NewVerifier(s.Config.Verify, s.Env)
	if err != nil {
		return err
	}
	events := &api.Events{}
	s.Flows.people = NewPeople(s.Config, s.Flows.Forges)
	s.chains = &chains{flows: s.Flows, events: events}
	s.Flows.promotion = plane.NewPromotion(s.Flows.Commits, s.Ledger, &promote.Promoter{
		Ledger: wakingLedger{s.heard(), s.notifications.Wake}, Checks: verifier, Checked: s.Keeper.RunChain, People: s.Flows.people,
	})
	s.Flows.promotion.Chains, s.Flows.promotion.Hosts = s.Config.Chains, knownHosts(s.Config)
	s.Flows.promotion.Link = pageLinks(s.Config.URL).environment
	s.API = &api.Server{
		Observer: &query.Observer{Ledger: s.heard(), Fleet: s.Flows.board, Now: time.Now},
		Control:  &promote.Control{Ledger: s.Ledger, Branches: repository.NewDeliveryReader(s.Flows.Client)},
		Intake:   &ingest.Intake{Ledger: s.Ledger, Stored: s.Keeper.HandleReports},
		Registrar: &ingest.Registrar{
			Ledger: s.Ledger, NewSecret: func(role string) secret.Value { return access.NewToken(access.Role(role)) }, Serves: s.serves, ClusterObject: s.clusterObject,
		},
		Guard: &access.Guard{
			Store: s.Ledger, SignOn: signOn(s.Config.Access.OIDC), Anonymous: anonymous(s.Config), Grants: s.Config.AccessGrants,
			Others: []access.Authenticator{api.FluxSignature{Secret: fluxSecret, Clusters: s.Ledger}},
		},
		Ledger: s.Ledger, Events: events, Log: s.Log, FluxSecret: fluxSecret, SessionKey: sessionKey, Version: s.Version,
		Jobs:          s.Flows.promotion.Promoter.Jobs,
		Rehearse:      s.chains.rehearse,
		OnCommand:     func(subject, _ string) { s.Keeper.RunChain(subject) },
		OnError:       s.disk.note,
		Refuses:       s.recognition.refusal,
		OnApplication: func(controlPlane, subject string) { s.Keeper.Deliver(controlPlane, subject) },
	}
	if err := s.wireDirect(ctx); err != nil {
		return err
	}
	s.onClose(func() { events.Close(); s.Flows.promotion.Promoter.Close() })
	s.Keeper.Chains, s.server.API, s.server.Stopping = s.chains, s.API.Handler(), events.Close
	return nil
}

// knownHosts returns the hosts whose repositories are read if a workload or a cluster names them.
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

// Record records what the GitOps branches of an environment want, and what happened to their pull requests.
func (c *chains) Record(ctx context.Context, controlPlane, environment string) (*record.Summary, error) {
	recorded, err := c.flows.plane(controlPlane).Record(ctx, environment)
	if recorded != nil && len(recorded.Did) > 0 {
		c.events.Publish(api.Signal{Type: api.SignalEnvironment, ControlPlane: controlPlane, Environment: environment})
	}
	return recorded, err
}

// Promote promotes the commits of a control plane along the chain of its environments.
func (c *chains) Promote(ctx context.Context, controlPlane string) (*serve.Promoted, error) {
	outcome, err := c.flows.plane(controlPlane).Promote(ctx)
	if outcome == nil {
		return nil, err
	}
	if stored := c.flows.results.putChain(ctx, controlPlane, outcome, c.flows.promotion.Promoter.OpenJobs(outcome.Subject)); stored != nil && ctx.Err() == nil {
		err = errors.Join(err, stored)
	}
	promoted := &serve.Promoted{Did: outcome.Did, Next: outcome.Next, Environments: outcome.Environments}
	if len(outcome.Did) > 0 {
		for _, e := range outcome.Environments {
			promoted.Moved = append(promoted.Moved, e.Environment)
			c.events.Publish(api.Signal{Type: api.SignalPromotion, ControlPlane: controlPlane, Environment: e.Environment, Commit: e.Commit})
		}
	}
	return promoted, err
}

// rehearse returns the state of a control plane's promotions, and what it would be after commands.
func (c *chains) rehearse(
	ctx context.Context, controlPlane string, commands ...ledger.Step,
) (is, would *promote.Outcome, err error) {
	return c.flows.plane(controlPlane).Rehearse(ctx, commands...)
}
