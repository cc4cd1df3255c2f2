package ingest_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
)

func zipped(tb testing.TB, r io.Reader) []byte {
	tb.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.Copy(z, r); err != nil {
		tb.Fatal(err)
	}
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// zeros is a long text that packs well.
func zeros(n int64) io.Reader { return io.LimitReader(zero{}, n) }

type zero struct{}

func (zero) Read(into []byte) (int, error) {
	clear(into)
	return len(into), nil
}

func TestReadBody(t *testing.T) {
	hello := zipped(t, strings.NewReader("hello"))
	for _, encoding := range []string{"", "identity", "gzip", "GZIP", "x-gzip"} {
		body := []byte("hello")
		if strings.HasSuffix(strings.ToLower(encoding), "gzip") {
			body = hello
		}
		if got, err := ingest.ReadBody(bytes.NewReader(body), encoding); err != nil || string(got) != "hello" {
			t.Errorf("%q: got %q, %v", encoding, got, err)
		}
	}
	for name, tc := range map[string]struct {
		body     io.Reader
		encoding string
		kind     error
	}{
		"too large":         {zeros(hub.MaxReportedBytes + 1), "", ingest.ErrTooLarge},
		"without an end":    {zero{}, "", ingest.ErrTooLarge},
		"bomb":              {bytes.NewReader(zipped(t, zeros(100<<20))), "gzip", ingest.ErrTooLarge},
		"bomb of members":   {bytes.NewReader(bytes.Repeat(zipped(t, zeros(1<<20)), 5)), "gzip", ingest.ErrTooLarge},
		"other encoding":    {strings.NewReader("x"), "br", ingest.ErrEncoding},
		"several encodings": {strings.NewReader("x"), "gzip, gzip", ingest.ErrEncoding},
		"no gzip":           {strings.NewReader("hello"), "gzip", ingest.ErrMalformed},
		"cut off":           {bytes.NewReader(hello[:len(hello)-6]), "gzip", ingest.ErrMalformed},
		"damaged":           {bytes.NewReader(append(hello[:12:12], "damaged all over"...)), "gzip", ingest.ErrMalformed},
		"rubbish behind":    {strings.NewReader(string(hello) + "more"), "gzip", ingest.ErrMalformed},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ingest.ReadBody(tc.body, tc.encoding)
			refused(t, err, tc.kind, "")
		})
	}
	gone := errors.New("connection reset")
	for _, encoding := range []string{"", "gzip"} {
		body := io.MultiReader(bytes.NewReader(hello[:12]), iotest.ErrReader(gone))
		if _, err := ingest.ReadBody(body, encoding); !errors.Is(err, gone) {
			t.Errorf("%q: got %v, want the error of the connection", encoding, err)
		}
	}
	if got, err := ingest.ReadBody(zeros(hub.MaxReportedBytes), ""); err != nil || len(got) != hub.MaxReportedBytes {
		t.Errorf("at the limit: got %d bytes, %v", len(got), err)
	}
}
