package ingest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// maxEvent limits the notification of one change; real ones have a few kilobytes.
const maxEvent = 256 << 10

// ReadBody reads and decodes a body with content encoding "gzip", "identity" or "". It never reads or decompresses more
// than [hub.MaxReportedBytes]. Errors are [ErrTooLarge], [ErrEncoding], [ErrMalformed], or the reader's.
func ReadBody(r io.Reader, encoding string) ([]byte, error) {
	sent := &source{reader: io.LimitReader(r, hub.MaxReportedBytes+1)}
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "identity":
		return readAll(sent)
	case "gzip", "x-gzip":
		body, err := unzip(sent)
		if err != nil && sent.err != nil {
			return nil, sent.err // the cause, not the failed decompression
		}
		return body, err
	default:
		return nil, refuse(ErrEncoding, "content encoding %.100q is not supported: use gzip, or none", encoding)
	}
}

// source keeps the error of reading, to tell it from an error of decompression.
type source struct {
	reader io.Reader
	err    error
}

func (s *source) Read(into []byte) (int, error) {
	n, err := s.reader.Read(into)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

func unzip(r io.Reader) ([]byte, error) {
	unpacked, err := gzip.NewReader(r)
	if err != nil {
		return nil, refuse(ErrMalformed, "the body is not gzip: %v", err)
	}
	body, err := readAll(unpacked)
	var refused *Refusal
	if err != nil && !errors.As(err, &refused) {
		return nil, refuse(ErrMalformed, "the body is damaged: %v", err)
	}
	return body, err
}

func readAll(r io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, hub.MaxReportedBytes+1))
	if err != nil {
		return nil, err
	}
	if len(body) > hub.MaxReportedBytes {
		return nil, refuse(ErrTooLarge, "the body has more than %d bytes: send smaller batches", hub.MaxReportedBytes)
	}
	return body, nil
}

// ParseBatch parses the body of a batch and ignores unknown fields. [Intake.Take] validates the content.
func ParseBatch(body []byte) (*hub.ReportBatch, error) {
	var sent struct {
		hub.ReportBatch
		Reports reports `json:"reports"` // in place of the embedded one
	}
	if err := parse(body, &sent); err != nil {
		return nil, err
	}
	batch := sent.ReportBatch
	batch.Reports = sent.Reports
	return &batch, nil
}

// reports are decoded one by one, because a small body can contain very many and fill the memory.
type reports []hub.Report

// UnmarshalJSON implements [json.Unmarshaler].
func (all *reports) UnmarshalJSON(text []byte) error {
	*all = nil
	dec := json.NewDecoder(bytes.NewReader(text))
	switch start, err := dec.Token(); {
	case err != nil || start == nil:
		return err
	case start != json.Delim('['):
		return errors.New("reports is not a list")
	}
	for dec.More() {
		if len(*all) == hub.MaxReports {
			return refuse(ErrInvalid, "more than %d reports: send several batches", hub.MaxReports)
		}
		var r hub.Report
		if err := dec.Decode(&r); err != nil {
			return err
		}
		*all = append(*all, r)
	}
	return nil
}

// parseEvent parses the notification of one change.
func parseEvent(body []byte, into any) error {
	if len(body) > maxEvent {
		return refuse(ErrTooLarge, "the event has %d bytes, want at most %d", len(body), maxEvent)
	}
	return parse(body, into)
}

// parse parses JSON. Errors do not quote it.
func parse(body []byte, into any) error {
	err := json.Unmarshal(body, into)
	var refused *Refusal
	var syntax *json.SyntaxError
	var mistaken *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &syntax):
		return refuse(ErrMalformed, "the body is not JSON: byte %d", syntax.Offset)
	case errors.As(err, &mistaken):
		return refuse(ErrInvalid, "%s: want %s, got %s", field(mistaken.Field), wanted(mistaken.Type), mistaken.Value)
	}
	return refuse(ErrInvalid, "a field has the wrong form: times look like 2026-11-20T10:02:31Z, and reports is a list")
}

// wanted returns the JSON name of a type.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Slice:
		return "list"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "string"
	}
	return "number"
}

// field returns the name of a field for messages. It contains only names of Go fields, no input.
func field(name string) string {
	if name == "" {
		return "the body"
	}
	return fmt.Sprintf("field %.100s", name)
}
