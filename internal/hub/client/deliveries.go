package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// Deliveries asks what the cluster should run, in an envelope for [hub.Unseal]. With the tag of an earlier answer the server waits for a
// change, and the envelope is nil if there was none. It makes one attempt.
func (c *Client) Deliveries(ctx context.Context, tag string, wait time.Duration) (envelope []byte, newTag string, err error) {
	ctx, cancel := context.WithTimeout(ctx, wait+attemptTimeout)
	defer cancel()
	q := call{method: http.MethodGet, path: "deliveries", query: url.Values{"wait": {strconv.Itoa(int(wait / time.Second))}}}
	if tag != "" {
		q.header = map[string]string{"If-None-Match": tag}
	}
	response, err := c.exchange(ctx, &q, http.StatusNotModified)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	if response.StatusCode == http.StatusNotModified {
		return nil, tag, nil
	}
	envelope, err = io.ReadAll(io.LimitReader(response.Body, hub.MaxDeliveriesBytes+1))
	switch {
	case err != nil:
		return nil, "", connectionError{fmt.Errorf("read the server's answer: %w", err)}
	case len(envelope) > hub.MaxDeliveriesBytes:
		return nil, "", fmt.Errorf("read the server's answer: it is longer than %d MiB", hub.MaxDeliveriesBytes>>20)
	}
	return envelope, response.Header.Get("ETag"), nil
}

// Archive writes the archive of a delivery from an offset on. It makes one attempt, and writes at most limit bytes. restart means that the
// server sends the whole archive instead of its rest: nothing was written, and the offset must be 0 next time.
func (c *Client) Archive(ctx context.Context, digest string, offset, limit int64, w io.Writer) (restart bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, archiveTimeout)
	defer cancel()
	q := call{method: http.MethodGet, path: "deliveries/archives/" + url.PathEscape(digest), header: map[string]string{"Accept": "application/octet-stream"}}
	if offset > 0 {
		q.header["Range"] = fmt.Sprintf("bytes=%d-", offset)
	}
	response, err := c.exchange(ctx, &q, http.StatusRequestedRangeNotSatisfiable)
	if err != nil {
		return false, err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	if offset > 0 && response.StatusCode != http.StatusPartialContent {
		return true, nil
	}
	if _, err := io.Copy(w, io.LimitReader(response.Body, limit)); err != nil {
		return false, connectionError{fmt.Errorf("download a delivery: %w", err)}
	}
	return false, nil
}

// archiveTimeout bounds one attempt to download an archive. The next one goes on where it ended.
const archiveTimeout = 10 * time.Minute
