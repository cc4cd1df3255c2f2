// Package connect connects to configured forges: it chooses the adapter and reads the credential.
package connect

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/azuredevops"
	"github.com/kalypso-io/kalypso/internal/forge/bitbucket"
	"github.com/kalypso-io/kalypso/internal/forge/bitbucketserver"
	"github.com/kalypso-io/kalypso/internal/forge/gitea"
	"github.com/kalypso-io/kalypso/internal/forge/github"
	"github.com/kalypso-io/kalypso/internal/forge/gitlab"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
	"github.com/kalypso-io/kalypso/internal/text/secret/secretfile"
)

// All connects to several forges, in their order.
func All(connections []forge.Connection, env map[string]string, t transport.Config) (forge.Forges, error) {
	var all forge.Forges
	for _, c := range connections {
		f, err := Open(c, env, t)
		if err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// Open connects to a forge with the credential that its configuration names. The zero value of t is ready to use.
func Open(c forge.Connection, env map[string]string, t transport.Config) (forge.Forge, error) {
	token, err := credential(c, env)
	if err != nil {
		return nil, err
	}
	switch c.Kind {
	case forge.GitHub:
		app, err := githubApp(c)
		if err != nil {
			return nil, err
		}
		return github.New(github.Options{URL: c.URL, Token: token, App: app, Settle: c.SettleTime(), Transport: t})
	case forge.GitLab:
		return gitlab.New(gitlab.Options{URL: c.URL, Token: token, Settle: c.SettleTime(), Transport: t})
	case forge.AzureDevOps:
		return azuredevops.New(azuredevops.Options{URL: c.URL, Token: token, Settle: c.SettleTime(), Transport: t})
	case forge.Bitbucket:
		return bitbucket.New(bitbucket.Options{URL: c.URL, User: c.User, Token: token, Settle: c.SettleTime(), Transport: t})
	case forge.BitbucketServer:
		return bitbucketserver.New(bitbucketserver.Options{URL: c.URL, Token: token, Settle: c.SettleTime(), Transport: t})
	case forge.Gitea:
		return gitea.New(gitea.Options{URL: c.URL, Token: token, Settle: c.SettleTime(), Transport: t})
	}
	return nil, fmt.Errorf("forge %q: unknown kind %q", c.URL, c.Kind)
}

// credential reads the token of a forge. An empty variable is an error here, before every request is refused.
func credential(c forge.Connection, env map[string]string) (forge.Secret, error) {
	switch {
	case c.TokenEnv != "":
		if env[c.TokenEnv] == "" {
			return forge.Secret{}, fmt.Errorf("forge %q: the environment variable %s is empty", c.URL, c.TokenEnv)
		}
		return forge.NewSecret(env[c.TokenEnv]), nil
	case c.TokenFile != "":
		text, err := secretfile.Read(c.TokenFile)
		if err != nil {
			return forge.Secret{}, fmt.Errorf("forge %q: read its token: %w", c.URL, err)
		}
		return forge.NewSecret(strings.TrimSpace(string(text))), nil
	}
	return forge.Secret{}, nil
}

// githubApp reads the key of a GitHub App; nil if the connection uses a token.
func githubApp(c forge.Connection) (*github.App, error) {
	if c.App == nil {
		return nil, nil
	}
	key, err := secretfile.Read(c.App.PrivateKeyFile)
	if err != nil {
		return nil, fmt.Errorf("forge %q: read the app's key: %w", c.URL, err)
	}
	return &github.App{ID: strconv.FormatInt(c.App.ID, 10), Installation: c.App.InstallationID, PrivateKey: forge.NewSecret(string(key))}, nil
}
