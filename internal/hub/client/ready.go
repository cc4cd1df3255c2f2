package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Readiness is what a server says of itself to everyone, at /readyz.
type Readiness struct {
	// Ready is false while the server cannot do its work. Lines says why, and has its warnings.
	Ready bool
	Lines []string
	// Clock is the server's time; zero if it does not say it.
	Clock time.Time
}

// maxReadiness bounds the answer of /readyz, in bytes.
const maxReadiness = 64 << 10

// Ready asks the server once whether it can do its work, without the token.
func (c *Client) Ready(ctx context.Context) (Readiness, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Server.JoinPath("readyz").String(), nil)
	if err != nil {
		return Readiness{}, err
	}
	response, err := c.roundTrip(request)
	if err != nil {
		return Readiness{}, err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(io.LimitReader(response.Body, maxReadiness))
	if err != nil {
		return Readiness{}, unreachable(ctx, err)
	}
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusServiceUnavailable {
		return Readiness{}, fmt.Errorf("%w: %s answers %d", ErrNoAPI, request.URL, response.StatusCode)
	}
	r := Readiness{Ready: response.StatusCode == http.StatusOK, Lines: strings.Split(strings.TrimSpace(string(text)), "\n")}
	if at, err := http.ParseTime(response.Header.Get("Date")); err == nil {
		r.Clock = at
	}
	return r, nil
}
