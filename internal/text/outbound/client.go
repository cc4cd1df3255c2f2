package outbound

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/kalypso-io/kalypso/internal/text/linklocal"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Options are the restrictions of a client. The zero value is for URLs that the operator configures.
type Options struct {
	// Permit returns why a host must not be reached at an address with a port, or nil. A client with such a rule uses no proxy, which would
	// hide the addresses. Default: everything but links and metadata services.
	Permit func(host, address string) error
	// LinkLocal also permits links and metadata services without a rule. It is for URLs that users give to their own program.
	LinkLocal bool
	// Redirects decides about redirects. Default: up to ten of them are followed.
	Redirects func(to *http.Request, via []*http.Request) error
	// Timeout limits a request, including the body of its answer. Default: none, for requests whose context has one.
	Timeout time.Duration
	// Answer limits the time until an answer begins. Default: two minutes.
	Answer time.Duration
	// MaxBody is the size of an answer, in bytes. Reading more of it fails with [ErrTooLarge]. Default: no limit.
	MaxBody int64
	// Once closes connections after each request.
	Once bool
	// Roots verify certificates. Default: those of the system.
	Roots *x509.CertPool
}

const (
	// connecting limits the time to connect, and that of the TLS handshake.
	connecting = 30 * time.Second
	// beginning is the default of Options.Answer.
	beginning = 2 * time.Minute
	// maxHeaders is the size of the headers of an answer, in bytes.
	maxHeaders = 256 << 10
)

// New returns a client.
func New(o Options) *http.Client {
	return &http.Client{Transport: Transport(o), CheckRedirect: redirects(o.Redirects), Timeout: o.Timeout}
}

// Over returns a client that sends requests with a transport that uses one of this package.
func Over(transport http.RoundTripper, redirect func(to *http.Request, via []*http.Request) error) *http.Client {
	return &http.Client{Transport: transport, CheckRedirect: redirects(redirect)}
}

// Transport returns the transport of a client. Redirects and Timeout are not its business.
func Transport(o Options) http.RoundTripper {
	network := &http.Transport{
		DialContext:            o.dial,
		TLSClientConfig:        &tls.Config{RootCAs: o.Roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    connecting,
		ResponseHeaderTimeout:  cmp.Or(o.Answer, beginning),
		MaxResponseHeaderBytes: maxHeaders,
		DisableKeepAlives:      o.Once,
		IdleConnTimeout:        90 * time.Second,
		MaxIdleConns:           100,
		ForceAttemptHTTP2:      true,
	}
	if o.Permit == nil {
		network.Proxy = http.ProxyFromEnvironment
	}
	return &scrubbing{next: network, options: o}
}

// ForbiddenError means that a host has an address that must not be reached.
type ForbiddenError struct{ Host, What string }

// Error returns a text such as: the address of "a" is of a metadata service.
func (e *ForbiddenError) Error() string {
	return fmt.Sprintf("the address of %q is %s", e.Host, e.What)
}

// dial connects to a permitted address.
func (o *Options) dial(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	return Dialer(host, o.permit).DialContext(ctx, network, address)
}

// Dialer returns a dialer that connects a host to addresses that permit returns nil for.
func Dialer(host string, permit func(host, address string) error) *net.Dialer {
	return &net.Dialer{
		Timeout: connecting, KeepAlive: connecting,
		Control: func(_, at string, _ syscall.RawConn) error { return permit(host, at) },
	}
}

// permit applies the rule about addresses.
func (o *Options) permit(host, address string) error {
	switch {
	case o.Permit != nil:
		return o.Permit(host, address)
	case o.LinkLocal:
		return nil
	}
	at, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if what := linklocal.DescribeHost(at); what != "" {
		return &ForbiddenError{host, what}
	}
	return nil
}

// permitName refuses the names of metadata services, which a proxy would resolve.
func (o *Options) permitName(host string) error {
	if o.Permit != nil || o.LinkLocal {
		return nil
	}
	if what := linklocal.DescribeHost(host); what != "" {
		return &ForbiddenError{host, what}
	}
	return nil
}

const (
	// maxRedirects is how many redirects are followed, maxStays on the same host.
	maxRedirects = 10
	maxStays     = 5
)

// Never returns a redirect as the answer.
func Never(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Stay follows redirects on the same host.
func Stay(to *http.Request, via []*http.Request) error {
	switch {
	case len(via) > maxStays:
		return fmt.Errorf("it leads elsewhere more than %d times", maxStays)
	case !strings.EqualFold(to.URL.Host, via[0].URL.Host) || downgrade(to, via):
		return fmt.Errorf("it leads to %s, which is elsewhere; name that URL itself", secret.Redact(to.URL.Redacted()))
	}
	return nil
}

// redirects completes a rule. Its error has no credential of the request. net/http keeps credentials away from other hosts.
func redirects(rule func(*http.Request, []*http.Request) error) func(*http.Request, []*http.Request) error {
	if rule == nil {
		rule = follow
	}
	return func(to *http.Request, via []*http.Request) error {
		err := rule(to, via)
		if err == nil || errors.Is(err, http.ErrUseLastResponse) {
			return err
		}
		return scrubbed(err, Secrets(via[0]))
	}
}

// follow follows redirects to any host.
func follow(to *http.Request, via []*http.Request) error {
	switch {
	case len(via) >= maxRedirects:
		return errors.New("too many redirects")
	case downgrade(to, via):
		return fmt.Errorf("it leads from https to %s", secret.Redact(to.URL.Redacted()))
	}
	return nil
}

// downgrade reports whether a redirect would send by http what was requested by https.
func downgrade(to *http.Request, via []*http.Request) bool {
	return via[0].URL.Scheme == "https" && to.URL.Scheme != "https"
}
