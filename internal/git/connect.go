package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	gitssh "github.com/go-git/go-git/v5/plumbing/transport/ssh"
	sshagent "github.com/xanzy/ssh-agent"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/kalypso-io/kalypso/internal/text/linklocal"
	"github.com/kalypso-io/kalypso/internal/text/outbound"
	"github.com/kalypso-io/kalypso/internal/text/secret"
	"github.com/kalypso-io/kalypso/internal/text/secret/secretfile"
)

// connection is one connection to a remote, after it has listed its references.
type connection struct {
	transport.Session
	refs *packp.AdvRefs
	// used is the credential that was sent, to redact it in errors.
	used credential
}

// service is the purpose of a connection.
type service string

const (
	fetching service = transport.UploadPackServiceName
	pushing  service = transport.ReceivePackServiceName
)

// connect reads a remote's references. If the server requires a credential and none was known,
// connect asks git's credential helpers and tries once more.
func (c *Client) connect(ctx context.Context, l location, s service) (*connection, error) {
	if err := c.sources.paused(l); err != nil {
		return nil, err
	}
	known, err := c.credentialFor(ctx, l)
	if err != nil {
		return nil, err
	}
	conn, err := c.dial(ctx, l, s, known)
	if errors.Is(err, transport.ErrAuthenticationRequired) && known.empty() {
		if helped := c.askHelper(ctx, l); !helped.empty() {
			known = helped
			conn, err = c.dial(ctx, l, s, known)
		}
	}
	if err != nil {
		return nil, remoteError(ctx, "connect to", l, known, err)
	}
	return conn, nil
}

// dial opens a session, within the time to answer.
func (c *Client) dial(ctx context.Context, l location, s service, cred credential) (conn *connection, err error) {
	limits := c.Limits.orDefaults()
	err = c.bounded(ctx, "connect to", l, limits.Answer, "it did not answer", func(ctx context.Context, _ context.CancelCauseFunc) (err error) {
		conn, err = c.dialInBackground(ctx, l, s, cred, limits.References)
		return err
	})
	return conn, err
}

// dialInBackground opens a session in the background, because ssh connects without watching the context.
func (c *Client) dialInBackground(ctx context.Context, l location, s service, cred credential, limit int64) (*connection, error) {
	type result struct {
		conn *connection
		err  error
	}
	done := make(chan result, 1)
	go func() {
		conn, err := c.openSession(ctx, l, s, cred, limit)
		done <- result{conn, err}
	}()
	select {
	case r := <-done:
		return r.conn, r.err
	case <-ctx.Done():
		go func() {
			if r := <-done; r.conn != nil {
				_ = r.conn.Close()
			}
		}()
		return nil, ctx.Err()
	}
}

func (c *Client) openSession(ctx context.Context, l location, s service, cred credential, limit int64) (*connection, error) {
	if err := permitHost(ctx, l.host, l.scheme == "ssh"); err != nil {
		return nil, err
	}
	client, auth := c.transport(l, cred, limit)
	endpoint := l.endpoint()
	conn := &connection{used: cred}
	var err error
	if s == fetching {
		conn.Session, err = client.NewUploadPackSession(endpoint, auth)
	} else {
		conn.Session, err = client.NewReceivePackSession(endpoint, auth)
	}
	if err != nil {
		return nil, err
	}
	if conn.refs, err = conn.AdvertisedReferencesContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// endpoint never contains a password: go-git would put it into URLs, and those into errors.
func (l location) endpoint() *transport.Endpoint {
	e := &transport.Endpoint{Protocol: l.scheme, Host: l.host, Port: l.port, Path: l.path}
	if l.scheme == "ssh" {
		e.User = cmp.Or(l.user, "git")
		return e
	}
	if strings.Contains(e.Host, ":") {
		e.Host = "[" + e.Host + "]"
	}
	e.Path = (&url.URL{Path: l.path}).EscapedPath()
	return e
}

// transport returns go-git's client for the scheme, and how it authenticates.
func (c *Client) transport(l location, cred credential, limit int64) (transport.Transport, transport.AuthMethod) {
	if l.scheme == "ssh" {
		// known_hosts is go-git's default; it refuses hosts that are not listed.
		return gitssh.NewClient(nil), &gitssh.PublicKeysCallback{User: cmp.Or(l.user, "git"), Callback: sshKeys}
	}
	// go-git drops credentials when a redirect leads to another host.
	// One connection has at most two requests; idle connections would outlive it.
	network := outbound.Transport(outbound.Options{Once: true})
	client := githttp.NewClient(outbound.Over(limitedTransport{network, limit}, c.redirect))
	if cred.empty() {
		return client, nil
	}
	return client, &githttp.BasicAuth{Username: cred.username, Password: cred.password.Reveal()}
}

// permitHost refuses hosts of metadata services, and of the link. HTTP finds out the addresses of names when it connects.
func permitHost(ctx context.Context, host string, resolve bool) error {
	if what := linklocal.DescribeHost(host); what != "" {
		return &outbound.ForbiddenError{Host: host, What: what}
	}
	if !resolve {
		return nil
	}
	found, _ := net.DefaultResolver.LookupNetIP(ctx, "ip", host) // an error is found again by ssh
	for _, ip := range found {
		if what := linklocal.Describe(ip); what != "" {
			return &outbound.ForbiddenError{Host: host, What: what}
		}
	}
	return nil
}

// sshKeys returns the keys of the agent, and the keys in the user's folder that need no passphrase.
func sshKeys() ([]ssh.Signer, error) {
	var signers []ssh.Signer
	if sshagent.Available() {
		if agent, _, err := sshagent.New(); err == nil {
			signers, _ = agent.Signers()
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return signers, nil // only the agent's keys
	}
	for _, name := range []string{"id_ed25519", "id_ecdsa", "id_rsa"} {
		pem, err := secretfile.Read(filepath.Join(home, ".ssh", name))
		if err != nil {
			continue
		}
		if signer, err := ssh.ParsePrivateKey(pem); err == nil {
			signers = append(signers, signer)
		}
	}
	return signers, nil
}

// remoteError converts an error of a connection.
func remoteError(ctx context.Context, op string, l location, used credential, err error) error {
	var ours *Error
	var hostKey *knownhosts.KeyError
	var network net.Error
	var large tooMuchError
	var forbidden *outbound.ForbiddenError
	e := &Error{Op: op, Where: l.String()}
	switch end := ended(ctx, err); {
	case end != nil:
		return end
	case errors.As(err, &ours):
		return err
	case errors.As(err, &large):
		e.Kind, e.Detail, e.Hint = ErrTooLarge, large.Error(), "use another repository; this one is not read"
	case errors.As(err, &forbidden):
		e.Kind, e.Detail, e.Hint = ErrDenied, forbidden.Error(), "use the URL of a Git server"
	case errors.Is(err, transport.ErrEmptyRemoteRepository):
		e.Kind, e.Detail, e.Hint = ErrEmpty, "it has no commit yet", "commit and push something first"
	case errors.Is(err, transport.ErrRepositoryNotFound):
		e.Kind, e.Hint = ErrRepositoryNotFound, "check the URL; a server also says so of private repositories when the credential may not see them"
	case errors.Is(err, transport.ErrAuthenticationRequired), errors.Is(err, transport.ErrAuthorizationFailed):
		e.Kind, e.Detail, e.Hint = ErrDenied, used.describe(), l.credentialHint()
	case errors.As(err, &hostKey) && len(hostKey.Want) > 0:
		e.Kind, e.Detail = ErrDenied, "its host key is not the one that known_hosts lists"
		e.Hint = "find out why before you connect: another server may answer in its place"
	case errors.As(err, &hostKey):
		e.Kind, e.Detail, e.Hint = ErrDenied, "known_hosts does not list its host key", l.knownHostsHint()
	case strings.Contains(err.Error(), noKnownHosts):
		e.Kind, e.Detail, e.Hint = ErrDenied, "there is no known_hosts file to compare its host key with", l.knownHostsHint()
	case strings.Contains(err.Error(), sshDenied):
		e.Kind, e.Detail = ErrDenied, secret.Scrub(err.Error())
		e.Hint = "load a key that the server knows into the ssh agent"
	case errors.As(err, &network) && network.Timeout():
		e.Kind, e.Detail, e.Hint = ErrUnavailable, "it did not answer in time", "try again"
	default:
		e.Kind, e.Detail, e.Hint = ErrUnavailable, secret.Scrub(err.Error(), append(used.secrets(), l.password)...), "check the network and the URL, and try again"
	}
	return e
}

// The texts of errors for which golang.org/x/crypto/ssh and go-git have no type.
const (
	sshDenied    = "unable to authenticate"
	noKnownHosts = "valid known_hosts file"
)

// knownHostsHint explains how to add an ssh server's key to known_hosts.
func (l location) knownHostsHint() string {
	port := ""
	if l.port != 0 {
		port = fmt.Sprintf("-p %d ", l.port)
	}
	return fmt.Sprintf(`connect once with ssh and confirm its key, or run "ssh-keyscan %s%s >> ~/.ssh/known_hosts" and compare what that added`, port, l.host)
}

func (c credential) describe() string {
	if c.empty() {
		return "it wants a credential and none is known for its host"
	}
	return "the credential from " + c.source + " was refused"
}

// credentialHint explains how to provide a credential for a location.
func (l location) credentialHint() string {
	if l.scheme == "http" && !l.loopback() {
		return "use https: credentials are not sent over plain http"
	}
	return "set KALYPSO_GIT_TOKEN and KALYPSO_GIT_HOST=" + l.hostPort() + ", or use a netrc file or a git credential helper"
}
