package harness

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// often is the pause between two looks at something that is waited for.
const often = 50 * time.Millisecond

// Until looks again and again until check has no error. After the time, or when the context is over, it returns the last error.
func Until(ctx context.Context, limit time.Duration, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	pause := time.NewTicker(often)
	defer pause.Stop()
	var last error
	for {
		err := check(ctx)
		var final stopped
		switch {
		case err == nil:
			return nil
		case errors.As(err, &final):
			return final.error
		case ctx.Err() == nil || last == nil:
			last = err // what is cut off by the deadline says less than what came before
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("not within %s: %w", limit, last)
		case <-pause.C:
		}
	}
}

// stopped is an error that waiting will not change.
type stopped struct{ error }

// Stop marks an error that waiting will not change, so that [Until] returns it at once.
func Stop(err error) error { return stopped{err} }

// answers is a probe that passes when a URL answers with 200. The token may be empty.
func answers(url, token string) func(context.Context) error {
	client := &http.Client{
		Timeout: 5 * time.Second,
		// Whether a server is ready is no secret, and the certificates are made only as servers start.
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}, //nolint:gosec // see above
	}
	return func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return Stop(err)
		}
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s", url, response.Status)
		}
		return nil
	}
}
