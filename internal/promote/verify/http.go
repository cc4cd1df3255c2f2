package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// maxRedirects is how many redirects on the same host are followed.
const maxRedirects = 5

// ask requests a URL and returns an error unless the status is below 400.
func (r *Runner) ask(ctx context.Context, address string) (output string, err error) {
	request, err := newRequest(ctx, address)
	if err != nil {
		return "", err
	}
	transport := r.transport(request.URL.Hostname())
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, CheckRedirect: stay}
	answer, err := client.Do(request)
	if err != nil {
		return "", reason(ctx, err)
	}
	defer answer.Body.Close() //nolint:errcheck // nothing was written
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxOutput))
	if err != nil {
		return answer.Status, reason(ctx, err)
	}
	output = answer.Status
	if answer.StatusCode >= http.StatusBadRequest {
		// The body is only included after a failure: a successful response may contain unrelated data.
		return strings.TrimSpace(output + "\n" + clean(body, false)), fmt.Errorf("%s answers %s", request.URL.Redacted(), secret.Line(answer.Status))
	}
	return output, nil
}

// transport connects to the permitted addresses of a host. They are checked when connecting, after names are resolved, so that a
// name cannot lead to a private address.
func (r *Runner) transport(host string) *http.Transport {
	control := func(_, at string, _ syscall.RawConn) error { return r.Permit(host, at) }
	return &http.Transport{
		DialContext:       (&net.Dialer{Control: control}).DialContext,
		DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true,
	}
}

func newRequest(ctx context.Context, address string) (*http.Request, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("%q is not a URL that can be asked; want http:// or https://", secret.Scrub(address))
	}
	if u.User != nil {
		return nil, errors.New("the URL has a user or password in it, which all readers of the repository would see; verify without")
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("ask %q: %s", secret.Scrub(address), secret.Scrub(err.Error()))
	}
	request.Header.Set("User-Agent", "kalypso-verification")
	return request, nil
}

// stay allows redirects on the same host, except from https to http.
func stay(to *http.Request, via []*http.Request) error {
	from := via[0].URL
	switch {
	case len(via) > maxRedirects:
		return fmt.Errorf("it leads elsewhere more than %d times", maxRedirects)
	case !strings.EqualFold(to.URL.Host, from.Host) || from.Scheme == "https" && to.URL.Scheme != "https":
		return fmt.Errorf("it leads to %s, which is elsewhere; name that URL itself", secret.Scrub(to.URL.Redacted()))
	}
	return nil
}

// reason returns a short error for a request without a response.
func reason(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errors.New("it did not answer in time")
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.New(secret.Scrub(err.Error()))
}
