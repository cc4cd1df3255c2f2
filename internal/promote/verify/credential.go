package verify

import (
	"fmt"
	"net/http"
	"strings"

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

// hide returns the text of an error without the credential, which a server might repeat.
func hide(err error, c *Credential) string {
	if c == nil {
		return secret.Scrub(err.Error())
	}
	return secret.Scrub(err.Error(), c.Token, c.User, c.Password)
}
