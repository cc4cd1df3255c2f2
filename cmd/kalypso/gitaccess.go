package main

import (
	"cmp"
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/github"
	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/serve"
)

// gitAccess lets Git use the credentials of the configured forges for their repositories,
// where the environment does not name another one for the host.
type gitAccess struct {
	// maps lead to the same repositories, by http where a document says ssh; with the token of the forge if it has one.
	maps []git.Mapping
	// apps give the credential of a host.
	apps map[string]gitCredentials
}

// gitCredentials are those of a forge that replaces them.
type gitCredentials interface {
	GitCredential(ctx context.Context) (user string, password forge.Secret, err error)
}

var _ gitCredentials = (*github.Forge)(nil)

// gitUsers are the names that go with a token where Git asks for a name and a password; forges look at the token alone.
var gitUsers = map[forge.Kind]string{forge.GitLab: "oauth2"}

// newGitAccess returns the access to configured forges; hosts are the connections to them, in the same order.
func newGitAccess(configured []serve.ForgeConfig, hosts forges, env map[string]string) (gitAccess, error) {
	a := gitAccess{apps: map[string]gitCredentials{}}
	for i, c := range configured {
		token, err := credential(c, env)
		if err != nil {
			return a, err
		}
		site, err := forge.ParseSite(c.URL)
		if err != nil {
			return a, err
		}
		if namedByEnvironment(site.Host, env) {
			continue
		}
		with, err := url.Parse(site.URL())
		if err != nil {
			return a, err
		}
		app, ok := hosts[i].(gitCredentials)
		switch {
		case c.App != nil && ok:
			a.apps[site.Host] = app
		case token.IsZero():
			continue
		default:
			with.User = url.UserPassword(cmp.Or(gitUsers[c.Kind], "x-access-token"), token.Reveal())
		}
		a.maps = append(a.maps, git.Mapping{From: site.URL(), To: with.String()})
	}
	return a, nil
}

// namedByEnvironment reports whether the environment has a credential of its own for a host.
func namedByEnvironment(host string, env map[string]string) bool {
	return slices.ContainsFunc(strings.Split(env["KALYPSO_GIT_HOST"], ","), func(name string) bool {
		return strings.EqualFold(strings.TrimSpace(name), host)
	})
}

// credentials is what a [git.Client] asks: only the host of an app's own forge gets its token.
func (a gitAccess) credentials(ctx context.Context, host string) (user string, password git.Secret, err error) {
	if app, ok := a.apps[host]; ok {
		return app.GitCredential(ctx)
	}
	return "", git.Secret{}, nil
}
