package agent

import (
	"bytes"
	"crypto/ed25519"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// Signed writes batches as a file that is carried by hand: a line for each, see [hub.SignedReports].
func Signed(batches []hub.ReportBatch, key ed25519.PrivateKey) ([]byte, error) {
	var file bytes.Buffer
	for _, b := range batches {
		line, err := hub.SignReports(b, key)
		if err != nil {
			return nil, err
		}
		file.Write(line)
	}
	return file.Bytes(), nil
}

// WriteFile writes a file as a whole or not at all.
func WriteFile(path string, data []byte) error { return replace(path, data) }
