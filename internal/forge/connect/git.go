package connect

import (
	"context"
	"net/url"
	"slices"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/github"
	"github.com/kalypso-io/kalypso/internal/git"
)

// GitAccess lets Git use the credentials of the configured forges for their repositories,
// unless the environment names another credential for the host. The zero value has no credentials.
type GitAccess struct {
	// Maps lead to the same repositories over HTTP, with the token of the forge if it has one.
	Maps []git.Mapping
	// apps are the forges whose credentials expire and are renewed, by host.
	apps map[string]gitCredentials
}

// gitCredentials returns the current credential of a forge.
type gitCredentials interface {
	GitCredential(ctx context.Context) (user string, password forge.Secret, err error)
}

var _ gitCredentials = (*github.Forge)(nil)

// gitUser returns the user name that accompanies a token. Most forges only check the token.
func gitUser(c forge.Connection) string {
	switch c.Kind {
	case forge.GitLab:
		return "oauth2"
	case forge.Bitbucket, forge.BitbucketServer:
		return git.BitbucketUser(c.User)
	}
	return "x-access-token"
}

// Git returns Git's access to configured forges; forges are the connections to them, in the same order.
func Git(configured []forge.Connection, forges forge.Forges, env map[string]string) (GitAccess, error) {
	a := GitAccess{apps: map[string]gitCredentials{}}
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
		app, ok := forges[i].(gitCredentials)
		switch {
		case c.App != nil && ok:
			a.apps[site.Host] = app
		case token.IsZero():
			continue
		default:
			with.User = url.UserPassword(gitUser(c), token.Reveal())
		}
		a.Maps = append(a.Maps, git.Mapping{From: site.URL(), To: with.String()})
	}
	return a, nil
}

// namedByEnvironment reports whether the environment has its own credential for a host.
func namedByEnvironment(host string, env map[string]string) bool {
	return slices.ContainsFunc(strings.Split(env["KALYPSO_GIT_HOST"], ","), func(name string) bool {
		return strings.EqualFold(strings.TrimSpace(name), host)
	})
}

// Credentials is for [git.Client]: it gives the token of an app only to the host of the app's own forge.
func (a GitAccess) Credentials(ctx context.Context, host string) (user string, password git.Secret, err error) {
	if app, ok := a.apps[host]; ok {
		return app.GitCredential(ctx)
	}
	return "", git.Secret{}, nil
}
