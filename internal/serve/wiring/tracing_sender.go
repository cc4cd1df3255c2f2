package wiring

import (
	"bytes"
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kalypso-io/kalypso/internal/text/outbound"
)

// spanSender sends spans by OTLP over HTTP. It implements [otlptrace.Client] as the one of OpenTelemetry does, which also links all of gRPC:
// a megabyte of the program.
type spanSender struct {
	url     string
	headers http.Header
	client  *http.Client
}

// newSpanSender returns a sender with a collector's URL or, if that is empty, the one of the standard variables, which also say headers,
// the time limit, and the certificates of authorities that are trusted.
func newSpanSender(endpoint string, env map[string]string) (*spanSender, error) {
	of := func(name string) string {
		return cmp.Or(env["OTEL_EXPORTER_OTLP_TRACES_"+name], env["OTEL_EXPORTER_OTLP_"+name])
	}
	if endpoint == "" {
		endpoint = env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"]
	}
	if endpoint == "" {
		endpoint = strings.TrimRight(env["OTEL_EXPORTER_OTLP_ENDPOINT"], "/") + "/v1/traces"
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("the endpoint is not an http or https URL such as http://127.0.0.1:4318/v1/traces")
	}
	s := &spanSender{url: endpoint, headers: http.Header{"Content-Type": {"application/x-protobuf"}}}
	for pair := range strings.SplitSeq(of("HEADERS"), ",") {
		name, value, ok := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if strings.TrimSpace(pair) != "" && (!ok || err != nil) {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_HEADERS does not have the form name=value,name=value")
		}
		if ok {
			s.headers.Set(strings.TrimSpace(name), value)
		}
	}
	limit, err := strconv.Atoi(cmp.Or(of("TIMEOUT"), "10000"))
	if err != nil || limit <= 0 {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_TIMEOUT is not a positive number of milliseconds")
	}
	// Collectors are often at an address of the node's link.
	options := outbound.Options{Timeout: time.Duration(limit) * time.Millisecond, LinkLocal: true}
	if file := of("CERTIFICATE"); file != "" {
		authorities, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
		}
		options.Roots = x509.NewCertPool()
		if !options.Roots.AppendCertsFromPEM(authorities) {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %s has no certificate", file)
		}
	}
	s.client = outbound.New(options)
	return s, nil
}

// Start implements [otlptrace.Client].
func (s *spanSender) Start(context.Context) error { return nil }

// Stop implements [otlptrace.Client].
func (s *spanSender) Stop(context.Context) error {
	s.client.CloseIdleConnections()
	return nil
}

// maxAttempts is how often spans are sent while the collector is busy.
const maxAttempts = 4

// UploadTraces implements [otlptrace.Client]. It tries again while the collector is busy or cannot be reached.
func (s *spanSender) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// TracesData has the same form as the request of the collector's service.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	for attempt := 1; ; attempt++ {
		again, err := s.send(ctx, body)
		if err == nil || !again || attempt == maxAttempts {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Duration(attempt) * time.Second):
		}
	}
}

// send makes one attempt, and says whether another one makes sense.
func (s *spanSender) send(ctx context.Context, body []byte) (again bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	r.Header = s.headers.Clone()
	answer, err := s.client.Do(r)
	if err != nil {
		return ctx.Err() == nil, err
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 64<<10)) // so that the connection can be used again
	switch answer.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	if answer.StatusCode/100 != 2 {
		err = fmt.Errorf("the collector answers %s", answer.Status)
	}
	return again, err
}
