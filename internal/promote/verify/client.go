package verify

import (
	"net/http"
	"time"

	"github.com/kalypso-io/kalypso/internal/text/outbound"
)

// Client returns a client that connects to the permitted addresses only. It is for charts and other things that applications name, which must not
// make the program send requests to its own network.
func (r *Runner) Client() *http.Client {
	return outbound.New(outbound.Options{Permit: r.Permit, Timeout: time.Minute, Answer: 30 * time.Second})
}

// connect returns a client for one request of a verification. The addresses are checked when connecting, after names are resolved, so that a name
// cannot lead to a private address.
func (r *Runner) connect(redirects func(*http.Request, []*http.Request) error) *http.Client {
	return outbound.New(outbound.Options{Permit: r.Permit, Redirects: redirects, Once: true})
}
