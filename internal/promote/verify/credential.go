package verify

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/kalypso-io/kalypso/internal/promote/measure"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Credential is sent with the requests of verifications to a host. The operator configures it; a control plane cannot choose it.
type Credential struct {
	// Host is the host of the URL, with the port if the URL has one.
	Host string // required
	// Token is sent as a bearer token. Otherwise, User and Password are sent.
	Token, User, Password secret.Value
}

// authorize adds the operator's credential for a host to a request, and returns it; nil if there is none. A credential is sent
// encrypted, or not at all.
func (r *Runner) authorize(request *http.Request) (*Credential, error) {
	for i := range r.Credentials {
		c := &r.Credentials[i]
		if !strings.EqualFold(c.Host, request.URL.Host) {
			continue
		}
		if request.URL.Scheme != "https" && !secret.IsLoopback(request.URL.Hostname()) {
			return nil, fmt.Errorf("the server has a credential for %s, which must not be sent by http; use https", request.URL.Host)
		}
		if c.Token.IsZero() {
			request.SetBasicAuth(c.User.Reveal(), c.Password.Reveal())
		} else {
			request.Header.Set("Authorization", "Bearer "+c.Token.Reveal())
		}
		return c, nil
	}
	return nil, nil
}

// secrets are the texts by which the credential travels.
func (c *Credential) secrets() []secret.Value {
	if c == nil {
		return nil
	}
	secrets := []secret.Value{c.Token, c.User, c.Password}
	if c.Token.IsZero() { // as in the header
		pair := base64.StdEncoding.EncodeToString([]byte(c.User.Reveal() + ":" + c.Password.Reveal()))
		secrets = append(secrets, secret.New(pair))
	}
	return secrets
}

// hide returns the text of an error without the credential, which a server might repeat.
func hide(err error, c *Credential) string {
	return secret.Scrub(err.Error(), c.secrets()...)
}

// hidden returns a result without any credential of the runner. It is recorded, and shown to everyone who can read the environment.
func (r *Runner) hidden(evidence measure.Evidence, err error) (measure.Evidence, error) {
	if len(r.Credentials) == 0 {
		return evidence, err
	}
	var secrets []secret.Value
	for i := range r.Credentials {
		secrets = append(secrets, r.Credentials[i].secrets()...)
	}
	hide := secret.Hider(secrets...)
	evidence.Value, evidence.Baseline, evidence.Output = hide(evidence.Value), hide(evidence.Baseline), hide(evidence.Output)
	if err != nil && hide(err.Error()) != err.Error() {
		err = errors.New(hide(err.Error()))
	}
	return evidence, err
}
