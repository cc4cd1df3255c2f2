package git

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/kalypso-io/kalypso/internal/text/secret/secretfile"
)

// credential is a user name and password for one host.
type credential struct {
	username string
	password Secret
	// source is where it came from, for error messages.
	source string
}

func (c credential) empty() bool { return c.password.IsZero() }

// secrets returns the password, and the text with it that is sent to a server, which may repeat either.
func (c credential) secrets() []Secret {
	if c.empty() {
		return nil
	}
	return []Secret{c.password, NewSecret(base64.StdEncoding.EncodeToString([]byte(c.username + ":" + c.password.Reveal())))}
}

// credentialFor returns the credential to send to a location with the first request: the URL's own,
// or the first that [Client.Credentials], the environment or the netrc file has for the host. The zero value means none.
func (c *Client) credentialFor(ctx context.Context, l location) (credential, error) {
	// Plain http is readable by anyone on the network.
	protected := l.scheme == "https" || l.loopback()
	if !l.password.IsZero() && !protected {
		return credential{}, &Error{
			Kind: ErrDenied, Op: "connect to", Where: l.String(),
			Detail: "its URL has a password, which is not sent over plain http", Hint: "use https",
		}
	}
	if !l.password.IsZero() {
		return credential{l.user, l.password, "the URL"}, nil
	}
	if !protected {
		return credential{}, nil
	}
	if found, err := c.configuredCredential(ctx, l); err != nil || !found.empty() {
		return found, err
	}
	if found := environmentCredential(c.env, l); !found.empty() {
		return found, nil
	}
	return netrcCredential(c.env, l)
}

// configuredCredential calls [Client.Credentials]. A failure is an error:
// another credential would be refused, or belong to another account.
func (c *Client) configuredCredential(ctx context.Context, l location) (credential, error) {
	if c.Credentials == nil {
		return credential{}, nil
	}
	user, password, err := c.Credentials(ctx, l.hostPort())
	if err != nil {
		return credential{}, fmt.Errorf("get the credential for %q: %w", l.hostPort(), err)
	}
	return credential{user, password, "the configuration"}, nil
}

// environmentCredential reads the variables that the package documentation lists.
// A token is bound to its host, so that a URL in a document cannot make us send it elsewhere.
func environmentCredential(env func(string) string, l location) credential {
	host := l.hostPort()
	if namesHost(env("KALYPSO_GIT_HOST"), host) {
		if token := env("KALYPSO_GIT_TOKEN"); token != "" {
			return credential{cmp.Or(env("KALYPSO_GIT_USERNAME"), "x-access-token"), NewSecret(token), "KALYPSO_GIT_TOKEN"}
		}
		if password := env("KALYPSO_GIT_PASSWORD"); password != "" {
			return credential{env("KALYPSO_GIT_USERNAME"), NewSecret(password), "KALYPSO_GIT_PASSWORD"}
		}
	}
	if host == serverHost(env("GITHUB_SERVER_URL"), "github.com") {
		for _, name := range []string{"GITHUB_TOKEN", "GH_TOKEN"} {
			if token := env(name); token != "" {
				return credential{"x-access-token", NewSecret(token), name}
			}
		}
	}
	if host == serverHost(env("CI_SERVER_URL"), "gitlab.com") {
		if token := env("GITLAB_TOKEN"); token != "" {
			return credential{"oauth2", NewSecret(token), "GITLAB_TOKEN"}
		}
		if token := env("CI_JOB_TOKEN"); token != "" && env("CI_SERVER_URL") != "" {
			return credential{"gitlab-ci-token", NewSecret(token), "CI_JOB_TOKEN"}
		}
	}
	if host == serverHost(env("SYSTEM_COLLECTIONURI"), "dev.azure.com") {
		for _, name := range []string{"AZURE_DEVOPS_TOKEN", "SYSTEM_ACCESSTOKEN"} {
			if token := env(name); token != "" {
				return credential{"x-access-token", NewSecret(token), name}
			}
		}
	}
	if host == serverHost(env("BITBUCKET_SERVER_URL"), "bitbucket.org") {
		if token := env("BITBUCKET_TOKEN"); token != "" {
			return credential{BitbucketUser(env("BITBUCKET_USERNAME")), NewSecret(token), "BITBUCKET_TOKEN"}
		}
	}
	return credential{}
}

// BitbucketUser returns the user name with which Bitbucket accepts a token over https: that of the account which owns the token. user is
// empty for the access tokens of repositories, projects and workspaces, and an address for the API tokens of Atlassian accounts.
func BitbucketUser(user string) string {
	switch {
	case user == "":
		return "x-token-auth"
	case strings.Contains(user, "@"):
		return "x-bitbucket-api-token-auth"
	}
	return user
}

// namesHost reports whether a comma-separated list contains a host.
func namesHost(list, host string) bool {
	for name := range strings.SplitSeq(list, ",") {
		if strings.EqualFold(strings.TrimSpace(name), host) {
			return true
		}
	}
	return false
}

// serverHost returns the host in a server's URL, in the format of [location.hostPort].
func serverHost(server, otherwise string) string {
	if server == "" {
		return otherwise
	}
	u, err := url.Parse(server)
	if err != nil {
		return ""
	}
	l, err := parseLocation(u.Scheme + "://" + u.Host + "/x")
	if err != nil {
		return ""
	}
	return l.hostPort()
}

// netrcCredential looks up a host in the netrc file, which has hosts without ports.
func netrcCredential(env func(string) string, l location) (credential, error) {
	file := env("NETRC")
	if file == "" {
		if env("HOME") == "" {
			return credential{}, nil
		}
		file = filepath.Join(env("HOME"), ".netrc")
	}
	content, err := secretfile.Read(file)
	if err != nil {
		// Like curl and git, ignore a netrc file that cannot be read.
		return credential{}, nil
	}
	for _, m := range parseNetrc(string(content)) {
		if strings.EqualFold(m.machine, l.host) && (l.user == "" || l.user == m.login) && !m.password.IsZero() {
			return credential{m.login, m.password, file}, nil
		}
	}
	return credential{}, nil
}

// machine is an entry of a netrc file.
type machine struct {
	machine, login string
	password       Secret
}

// parseNetrc reads the "machine" entries of a netrc file. It ignores "default", which would send a password to any host.
// A macro definition ends at the first empty line.
func parseNetrc(content string) []machine {
	var machines []machine
	var at *machine
	words := netrcWords(content)
	for i := 0; i < len(words); i++ {
		value := ""
		if i+1 < len(words) {
			value = words[i+1]
		}
		switch words[i] {
		case "machine":
			machines = append(machines, machine{machine: value})
			at = &machines[len(machines)-1]
			i++
		case "default":
			at = &machine{}
		case "login", "password", "account":
			if at != nil && words[i] == "login" {
				at.login = value
			} else if at != nil && words[i] == "password" {
				at.password = NewSecret(value)
			}
			i++
		}
	}
	return machines
}

func netrcWords(content string) []string {
	var words []string
	inMacro := false
	for line := range strings.Lines(content) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			inMacro = false
		}
		for i, f := range fields {
			if inMacro || (strings.HasPrefix(f, "#") && i == 0) {
				break
			}
			if f == "macdef" {
				inMacro = true
				break
			}
			words = append(words, f)
		}
	}
	return words
}

// askHelper asks git's credential helpers, after a server required a credential and none was known.
// It never prompts: helpers that need a terminal or a window return nothing.
func (c *Client) askHelper(ctx context.Context, l location) credential {
	if l.scheme != "https" {
		return credential{}
	}
	request := "protocol=https\nhost=" + l.hostPort() + "\npath=" + strings.TrimPrefix(l.path, "/") + "\n"
	if l.user != "" {
		request += "username=" + l.user + "\n"
	}
	answer, err := c.runHelper(ctx, request+"\n")
	if err != nil {
		return credential{}
	}
	found := credential{source: "git credential"}
	host := ""
	for line := range strings.Lines(answer) {
		key, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), "=")
		switch key {
		case "username":
			found.username = value
		case "password":
			found.password = NewSecret(value)
		case "host":
			host = value
		}
	}
	if host != "" && !strings.EqualFold(host, l.hostPort()) {
		return credential{}
	}
	return found
}
