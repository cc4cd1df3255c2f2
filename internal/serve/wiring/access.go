package wiring

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/text/outbound"
	"github.com/kalypso-io/kalypso/internal/text/secret"
	"github.com/kalypso-io/kalypso/internal/text/secret/secretfile"
)

// The secrets in the data folder. Only the user that runs the server can read them.
const (
	// AdminTokenFile has the administrator's token.
	AdminTokenFile = "admin-token"
	// fluxSecretFile has the secret from which the keys are derived that sign a cluster's Flux events.
	fluxSecretFile = "flux-secret"
	// sessionKeyFile has the key that seals the cookies of browsers.
	sessionKeyFile = "session-key"
	// deliveryKeyFile has the key that signs what clusters without a reconciler should run.
	deliveryKeyFile = "delivery.key"
)

// anonymous returns who may read without a credential.
func anonymous(config *serve.Config) access.AnonymousRead {
	switch {
	case config.Access.Anonymous == "always":
		return access.AnonymousAlways
	case config.Access.Anonymous == "local" && OnLoopback(config.Listen):
		return access.AnonymousLocal
	}
	return access.AnonymousNever
}

// front returns what checks requests before all other handlers.
func front(config *serve.Config) (*access.Front, error) {
	proxies, err := access.ParseProxies(config.Access.TrustedProxies)
	if err != nil {
		return nil, fmt.Errorf("access.trustedProxies: %w", err)
	}
	f := &access.Front{Proxies: proxies}
	if u, err := url.Parse(config.URL); err == nil && (OnLoopback(config.Listen) || len(config.Access.Hosts) > 0) {
		f.Hosts = append([]string{u.Hostname()}, config.Access.Hosts...)
	}
	return f, nil
}

// OnLoopback reports whether only programs on this machine reach an address.
func OnLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	return err == nil && secret.IsLoopback(host)
}

// signOn returns the configured issuer; nil if there is none.
func signOn(c *serve.OIDCConfig) *access.SignOn {
	if c == nil {
		return nil
	}
	s := &access.SignOn{Issuer: c.Issuer, Audience: c.Audience, RolesClaim: c.RolesClaim, NameClaim: c.NameClaim, Roles: map[string]access.Role{}}
	s.Client = outbound.New(outbound.Options{Timeout: 10 * time.Second, MaxBody: 1 << 20})
	for group, role := range c.Roles {
		s.Roles[group] = access.Role(role)
	}
	return s
}

// createAdminToken creates the administrator's token on the first start.
// With an embedded forge, its token is used for the server, too.
func (s *Server) createAdminToken(ctx context.Context) error {
	file := filepath.Join(s.Config.Data, AdminTokenFile)
	existing, err := secretfile.Value(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the administrator's token: %w", err)
	}
	token, err := access.Bootstrap(ctx, s.Ledger, existing, time.Now())
	if err != nil || token.IsZero() || !existing.IsZero() {
		return err
	}
	if err := writeSecret(file, token); err != nil {
		return fmt.Errorf("write the administrator's token: %w", err)
	}
	s.Log.Info("created the administrator's token", "file", file)
	return nil
}

// minSecret is how many characters a secret has at least that the server made.
const minSecret = 16

// keepPrivate removes the rights of other users of the machine to the secrets in the data folder, such as after a copy
// that did not keep them, and says so.
func (s *Server) keepPrivate() {
	if runtime.GOOS == "windows" {
		return // the mode does not say who can read a file
	}
	for _, name := range []string{AdminTokenFile, fluxSecretFile, sessionKeyFile, deliveryKeyFile} {
		file := filepath.Join(s.Config.Data, name)
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm()&0o007 == 0 {
			continue
		}
		s.Log.Warn("other users of this machine could read a secret of the server; replace it if they are not trusted", "file", file, "mode", info.Mode().Perm().String())
		if err := os.Chmod(file, info.Mode().Perm()&^0o007); err != nil {
			s.Log.Warn("the rights to a secret of the server cannot be changed", "error", err)
		}
	}
}

// KeptSecret returns the secret in a file, which is created the first time. One that can be guessed is an error.
func KeptSecret(file string) (secret.Value, error) {
	kept, err := secretfile.Value(file)
	if err == nil && len(kept.Reveal()) < minSecret {
		return secret.Value{}, fmt.Errorf("the secret in %s has fewer than %d characters, so it can be guessed: restore the file, or delete it, so that a new one is created", file, minSecret)
	}
	if err == nil {
		return kept, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return secret.Value{}, fmt.Errorf("read a secret: %w", err)
	}
	created := secret.New(rand.Text())
	if err := writeSecret(file, created); err != nil {
		return secret.Value{}, fmt.Errorf("write a secret: %w", err)
	}
	return created, nil
}

func writeSecret(file string, s secret.Value) error {
	return os.WriteFile(file, []byte(s.Reveal()+"\n"), 0o600)
}
