package verify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/kalypso-io/kalypso/internal/promote/measure"
	"github.com/kalypso-io/kalypso/internal/text/outbound"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// ask requests a URL. It returns an error unless the expression holds for the response or, without one, the status is below 400.
func (r *Runner) ask(ctx context.Context, address string, e *measure.Expression) (measure.Evidence, error) {
	request, err := newRequest(ctx, address)
	if err != nil {
		return measure.Evidence{}, err
	}
	credential, err := r.authorize(request)
	if err != nil {
		return measure.Evidence{}, err
	}
	answer, err := r.connect(outbound.Stay).Do(request)
	if err != nil {
		return measure.Evidence{}, reason(ctx, err, credential.secrets()...)
	}
	defer answer.Body.Close() //nolint:errcheck // nothing was written
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer+1))
	evidence := measure.Evidence{Value: secret.Line(answer.Status), Output: answer.Status}
	if err != nil {
		return evidence, reason(ctx, err, credential.secrets()...)
	}
	if err = judge(e, answer, body); err == nil {
		return evidence, nil
	}
	if credential == nil {
		// The body is only included after a failure: a successful response may contain unrelated data. What only the holder of
		// a credential can read is not included at all.
		shown := clean(body[:min(len(body), maxOutput)], false)
		evidence.Output = strings.TrimSpace(answer.Status + "\n" + shown)
	}
	return evidence, fmt.Errorf("%s answers %s%s", request.URL.Redacted(), secret.Line(answer.Status), hide(err, credential))
}

// errStatus means that the status of a response is an error, which the message names in any case.
var errStatus = errors.New("")

// judge returns why a response does not pass.
func judge(e *measure.Expression, answer *http.Response, body []byte) error {
	if e == nil {
		if answer.StatusCode >= http.StatusBadRequest {
			return errStatus
		}
		return nil
	}
	response := measure.Response{Status: answer.StatusCode, Header: map[string]string{}, Body: body[:min(len(body), maxAnswer)], Cut: len(body) > maxAnswer}
	for name := range answer.Header {
		response.Header[name] = answer.Header.Get(name)
	}
	if err := e.Check(response); err != nil {
		return fmt.Errorf(", and %w", err)
	}
	return nil
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

// reason returns a short error for a request without a response, without the secrets that it was sent with.
func reason(ctx context.Context, err error, secrets ...secret.Value) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errors.New("it did not answer in time")
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.New(secret.Scrub(err.Error(), secrets...))
}
