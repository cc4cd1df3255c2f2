package wiring

import (
	"context"
	"net/http"

	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/serve/session"
	"github.com/kalypso-io/kalypso/internal/serve/web"
	"github.com/kalypso-io/kalypso/internal/serve/web/action"
	"github.com/kalypso-io/kalypso/internal/serve/web/pinning"
	"github.com/kalypso-io/kalypso/internal/serve/web/setting"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// openSessions adds the pages, and lets browsers sign in to all pages of the server, the local forge and the API.
func (s *Server) openSessions(ctx context.Context) error {
	key, err := s.sharedSecret(ctx, sessionKeyFile)
	if err != nil {
		return err
	}
	guard := s.API.Guard
	o := session.Options{
		Guard: guard, Key: key, URL: s.Config.URL, Log: s.Log, Ledger: s.Ledger, SignOn: guard.SignOn, Style: "/-/kalypso.css",
	}
	if c := s.Config.Access.OIDC; c != nil {
		o.ClientSecret, o.Scopes = secret.New(s.Env[c.ClientSecretEnv]), c.Scopes
	}
	if s.sessions, err = session.New(o); err != nil {
		return err
	}
	guard.Others = append(guard.Others, s.sessions)
	trials := s.Flows.trials()
	s.API.Plans = func(ctx context.Context, q schedule.PlanRequest, urgent bool) (*schedule.Preview, error) {
		found, err := trials.Preview(ctx, q, urgent)
		return found.Preview, err
	}
	pages := &web.Pages{
		Observer: s.API.Observer, Guard: guard, Log: s.Log, URL: s.Config.URL, RepositoryURL: s.Flows.promotion.Hosts.Reach, Trials: trials, Open: &s.Flows.open, Browse: s.browse, Outbox: s.Ledger,
		SignIn: session.SignInPath, SignOut: session.SignOutPath, Notice: s.sessions.Told, Alerts: s.alerts,
	}
	if *s.Config.LocalForge {
		pages.Links = []web.Link{{Name: "Repositories", Address: repositoriesPage(s.Config)}}
	}
	s.Pages = pages
	actions := &action.Handlers{
		Pages: pages, Forms: s.sessions, API: s.server.API, Log: s.Log,
		Trail: access.Trail{Store: s.Ledger}, Forges: s.Flows.Forges, Merged: s.API.OnCommand,
	}
	settings := &setting.Handlers{Pages: pages, Forms: s.sessions, API: s.server.API, Log: s.Log}
	pins := &pinning.Handlers{Pages: pages, Forms: s.sessions, API: s.server.API, Log: s.Log}
	s.server.Pages = func(mux *http.ServeMux) {
		pages.Register(mux)
		s.sessions.Register(mux)
		actions.Register(mux)
		settings.Register(mux)
		pins.Register(mux)
	}
	front, err := front(s.Config)
	s.server.Around = func(next http.Handler) http.Handler {
		front.Next = s.sessions.Renew(next)
		return front
	}
	return err
}
