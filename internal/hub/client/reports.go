package client

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// maxReceipt bounds the answer to a batch of reports, in bytes.
const maxReceipt = 64 << 10

// Send sends a batch of reports as one compressed request. It makes one attempt: the agent decides when to try again.
// A batch that the server does not accept is a [ReportRefusal].
func (c *Client) Send(ctx context.Context, batch hub.ReportBatch) (hub.ReportReceipt, error) {
	var receipt hub.ReportReceipt
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	var body bytes.Buffer
	z := gzip.NewWriter(&body)
	if err := errors.Join(json.NewEncoder(z).Encode(batch), z.Close()); err != nil {
		return receipt, fmt.Errorf("encode a batch of reports: %w", err)
	}
	response, err := c.do(ctx, &call{
		method: http.MethodPost, path: "reports", contentType: "application/json", body: body.Bytes(),
		header: map[string]string{"Content-Encoding": "gzip", "Idempotency-Key": batch.ID},
	})
	var refusal *Refusal
	if errors.As(err, &refusal) {
		return receipt, &ReportRefusal{refusal}
	}
	if err != nil {
		return receipt, err
	}
	defer response.Body.Close() //nolint:errcheck // it was only read
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxReceipt))
	if err != nil {
		return receipt, fmt.Errorf("read the server's answer: %w", err)
	}
	// The server accepted the batch. An answer that is not a receipt requests nothing.
	_ = json.Unmarshal(answer, &receipt)
	return receipt, nil
}

// ReportRefusal is a [Refusal] of a batch of reports. Its text tells the operator of the agent what to do.
type ReportRefusal struct{ *Refusal }

// Error returns the status, the server's message and what to do.
func (r *ReportRefusal) Error() string {
	text := fmt.Sprintf("the server answers %d %s", r.Status, http.StatusText(r.Status))
	switch {
	case r.Status/100 == 3 && r.Message != "":
		text = r.Message
	case r.Message != "":
		text += fmt.Sprintf(" (%s)", r.Message)
	}
	return text + ": " + r.Hint()
}

// Unwrap returns the refusal.
func (r *ReportRefusal) Unwrap() error { return r.Refusal }

// RejectsContent reports whether the server refused the batch because of its content: another batch may be accepted.
func (r *ReportRefusal) RejectsContent() bool {
	return r.Status == http.StatusRequestEntityTooLarge || r.Status == http.StatusUnprocessableEntity
}

// Hint returns what to do.
func (r *ReportRefusal) Hint() string {
	switch {
	case r.Status == http.StatusUnauthorized:
		return "the token is wrong or revoked; get a new one with \"kalypso cluster register\" and write it to the token file, which is read before each attempt"
	case r.Status == http.StatusForbidden:
		return "the token belongs to another cluster; omit --cluster, or use that cluster's token. To report for several clusters, register the others with --reported-by"
	case r.Status == http.StatusNotFound:
		return "the cluster is not registered, or --server is not the address of a Kalypso server; register it with \"kalypso cluster register\""
	case r.Status == http.StatusRequestEntityTooLarge:
		return "the batch is split and sent again"
	case r.Status == http.StatusUnprocessableEntity:
		return "the rejected report is left out; update the server if it is older than the agent"
	case r.Status/100 == 3:
		return "set --server to the address that it redirects to; the token is not sent elsewhere"
	case r.Status == http.StatusTooManyRequests, r.Status/100 == 5:
		return "no report is lost, the agent tries again"
	default:
		return "check that --server is the address of a Kalypso server, not of a proxy in front of it"
	}
}
