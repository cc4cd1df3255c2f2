package forge

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Connection is a forge and the credential for it. Exactly one of TokenEnv, TokenFile and App is set.
type Connection struct {
	// Kind is github, gitlab, gitea, azuredevops, bitbucket (Bitbucket Cloud) or bitbucketserver (Bitbucket Data Center). Default: detected from the host of the URL, if it is a well-known one.
	Kind Kind `json:"kind,omitempty"`
	// URL is the address of the forge: https://github.com.
	URL string `json:"url"`
	// Name is the last part of its webhook's address, /webhooks/<name>. Default: the kind.
	Name string `json:"name,omitempty"`
	// TokenEnv names the environment variable with the token, TokenFile the file. Both are read when the server starts.
	TokenEnv  string `json:"tokenEnv,omitempty"`
	TokenFile string `json:"tokenFile,omitempty"`
	// User is the account of the token, on Bitbucket only: the address of the Atlassian account for an API token of Bitbucket Cloud, the
	// user name for an app password of Bitbucket Cloud, or for Git with the HTTP access token of a user of Bitbucket Data Center. It is empty
	// for access tokens of a repository, project or workspace.
	User string `json:"user,omitempty"`
	// App is a GitHub App.
	App *App `json:"app,omitempty"`
	// Settle is how long after a push the checks of others may take to appear: automatic merges wait until one was seen, or this time
	// has passed. "0s" does not wait. Default: 1m.
	Settle *metav1.Duration `json:"settle,omitempty"`
	// WebhookSecretEnv names the environment variable with the secret that signs webhook deliveries. Without it, all deliveries are refused.
	WebhookSecretEnv string `json:"webhookSecretEnv,omitempty"`
}

// App is a GitHub App and its installation.
type App struct {
	// ID is the number of the app.
	ID int64 `json:"id"`
	// InstallationID is the number of its installation for the account that owns the repositories.
	InstallationID int64 `json:"installationID"`
	// PrivateKeyFile is the app's key, in PEM.
	PrivateKeyFile string `json:"privateKeyFile"`
}

// SettleTime returns Settle, or its default.
func (c *Connection) SettleTime() time.Duration {
	if c.Settle == nil {
		return DefaultSettle
	}
	return c.Settle.Duration
}

// Check returns all problems of the connection; empty if it is valid.
func (c *Connection) Check() []error {
	var problems []error
	if _, err := ParseSite(c.URL); err != nil {
		problems = append(problems, errors.New("url: want a URL such as https://github.com"))
	}
	if c.Kind == Local || !slices.Contains(Kinds(), c.Kind) {
		problems = append(problems, fmt.Errorf("kind: %q is not one of github, gitlab, gitea, azuredevops, bitbucket and bitbucketserver", c.Kind))
	}
	if c.SettleTime() < 0 {
		problems = append(problems, fmt.Errorf("settle: %s is negative", c.Settle.Duration))
	}
	credentials := 0
	for _, set := range []bool{c.TokenEnv != "", c.TokenFile != "", c.App != nil} {
		if set {
			credentials++
		}
	}
	if credentials != 1 {
		problems = append(problems, errors.New("set exactly one of tokenEnv, tokenFile and app"))
	}
	if c.User != "" && c.Kind != Bitbucket && c.Kind != BitbucketServer {
		problems = append(problems, errors.New("user: only the tokens of bitbucket and bitbucketserver have one"))
	}
	if strings.ContainsFunc(c.User, func(r rune) bool { return r <= ' ' || r == ':' || r == 0x7f }) {
		problems = append(problems, errors.New("user: want an address or a user name, without spaces and colons"))
	}
	if c.App != nil && c.Kind != GitHub {
		problems = append(problems, errors.New("app: only github has apps"))
	}
	if c.App != nil && (c.App.ID == 0 || c.App.InstallationID == 0 || c.App.PrivateKeyFile == "") {
		problems = append(problems, errors.New("app: set id, installationID and privateKeyFile"))
	}
	return problems
}
