package main

import (
	"net/http"
	"path/filepath"

	"github.com/kalypso-io/kalypso/internal/forge/local"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	sessions "github.com/kalypso-io/kalypso/internal/serve/session"
	"github.com/kalypso-io/kalypso/internal/serve/web/action"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// sessionKeyFile holds what the cookies of browsers are sealed with, in the data folder.
const sessionKeyFile = "session-key"

// openSessions lets browsers sign in, for all pages of the server: those of the fleet, of the local forge, and the API.
func (s *serving) openSessions(env map[string]string) error {
	key, err := keptSecret(filepath.Join(s.config.Data, sessionKeyFile))
	if err != nil {
		return err
	}
	guard := s.observatory.api.Guard
	o := sessions.Options{
		Guard: guard, Key: key, URL: s.config.URL, Log: s.log, Ledger: s.observatory.ledger, SignOn: guard.SignOn, Style: "/-/kalypso.css",
	}
	if c := s.config.Access.OIDC; c != nil {
		o.ClientSecret, o.Scopes = secret.New(env[c.ClientSecretEnv]), c.Scopes
	}
	if s.sessions, err = sessions.New(o); err != nil {
		return err
	}
	guard.Others = append(guard.Others, s.sessions)
	pages := s.observatory.pages(s.config, s.log)
	pages.Trials = s.work.trials()
	pages.SignIn, pages.SignOut, pages.Notice = sessions.SignInPath, sessions.SignOutPath, s.sessions.Told
	actions := &action.Handlers{
		Pages: pages, Forms: s.sessions, API: s.server.API, Log: s.log,
		Trail: access.Trail{Store: s.observatory.ledger}, Forges: s.work.forges, Merged: s.observatory.api.Spoken,
	}
	s.server.Pages = func(mux *http.ServeMux) {
		pages.Register(mux)
		s.sessions.Register(mux)
		actions.Register(mux)
	}
	s.server.Around = s.sessions.Renew
	return nil
}

// forgeVisitor is who looks at a page of the local forge: somebody signs in once, for all pages.
func (s *serving) forgeVisitor(r *http.Request) (local.Account, string, error) {
	who, ok, err := s.sessions.Authenticate(r)
	right := forgeRight(who.Role)
	if err != nil || !ok || right == "" {
		return local.Account{}, "", err
	}
	return local.Account{Name: who.Name, Right: right}, s.sessions.FormToken(r), nil
}

// forgeRight is what a role may do on the local forge; empty for nothing.
func forgeRight(r access.Role) local.Right {
	switch r {
	case access.Reader:
		return local.Read
	case access.Operator:
		return local.Write
	case access.Admin:
		return local.Admin
	case access.Cluster, access.Join:
	}
	return ""
}
