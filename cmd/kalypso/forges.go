package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/forge/azuredevops"
	"github.com/kalypso-io/kalypso/internal/forge/gitea"
	"github.com/kalypso-io/kalypso/internal/forge/github"
	"github.com/kalypso-io/kalypso/internal/forge/gitlab"
	"github.com/kalypso-io/kalypso/internal/forge/transport"
	"github.com/kalypso-io/kalypso/internal/pullrequest"
	"github.com/kalypso-io/kalypso/internal/serve"
)

// forges are the forges that are configured.
type forges []forge.Forge

var _ pullrequest.Forges = forges{}

// Forge returns the forge that hosts a repository.
func (all forges) Forge(url string) (forge.Forge, error) {
	for _, f := range all {
		if _, err := f.Repository(url); err == nil {
			return f, nil
		}
	}
	// The list itself says best what is wrong.
	_, err := forge.Forges(all).Repository(url)
	return nil, err
}

// openForge connects to a forge with the credential that its configuration names. t says how; its zero value does.
func openForge(c serve.ForgeConfig, env map[string]string, t transport.Config) (forge.Forge, error) {
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
		return github.New(github.Options{URL: c.URL, Token: token, App: app, Transport: t})
	case forge.GitLab:
		return gitlab.New(gitlab.Options{URL: c.URL, Token: token, Transport: t})
	case forge.AzureDevOps:
		return azuredevops.New(azuredevops.Options{URL: c.URL, Token: token, Transport: t})
	case forge.Gitea:
		return gitea.New(gitea.Options{URL: c.URL, Token: token, Transport: t})
	}
	return nil, fmt.Errorf("forge %q: kind %q is not known", c.URL, c.Kind)
}

// credential reads the token of a forge. An empty one is an error: every request would be refused, much later.
func credential(c serve.ForgeConfig, env map[string]string) (forge.Secret, error) {
	switch {
	case c.TokenEnv != "":
		if env[c.TokenEnv] == "" {
			return forge.Secret{}, fmt.Errorf("forge %q: the environment variable %s is empty", c.URL, c.TokenEnv)
		}
		return forge.NewSecret(env[c.TokenEnv]), nil
	case c.TokenFile != "":
		text, err := os.ReadFile(c.TokenFile)
		if err != nil {
			return forge.Secret{}, fmt.Errorf("forge %q: read its token: %w", c.URL, err)
		}
		return forge.NewSecret(strings.TrimSpace(string(text))), nil
	}
	return forge.Secret{}, nil
}

// githubApp reads the key of a GitHub App; nil when a token is configured instead.
func githubApp(c serve.ForgeConfig) (*github.App, error) {
	if c.App == nil {
		return nil, nil
	}
	key, err := os.ReadFile(c.App.PrivateKeyFile)
	if err != nil {
		return nil, fmt.Errorf("forge %q: read the app's key: %w", c.URL, err)
	}
	return &github.App{ID: strconv.FormatInt(c.App.ID, 10), Installation: c.App.InstallationID, PrivateKey: forge.NewSecret(string(key))}, nil
}
