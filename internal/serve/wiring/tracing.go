package wiring

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/text/outbound"
)

// tracing records spans of rounds, their parts, and requests to forges. Spans contain names, hosts, paths and errors;
// hide removes secrets from errors.
type tracing struct {
	tracer trace.Tracer
	hide   func(string) string
	// stop sends the remaining spans.
	stop func(context.Context) error
}

// startTracing sends spans by OTLP over HTTP, if the configuration or the standard environment variables enable it.
func startTracing(
	ctx context.Context, c serve.TracingConfig, env map[string]string, hide func(string) string, log *slog.Logger, version string,
) (*tracing, error) {
	none := &tracing{noop.NewTracerProvider().Tracer(""), hide, func(context.Context) error { return nil }}
	wanted := c.Endpoint != "" || env["OTEL_EXPORTER_OTLP_ENDPOINT"] != "" || env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] != ""
	if !wanted || env["OTEL_SDK_DISABLED"] == "true" {
		return none, nil
	}
	sender, err := newSpanSender(c.Endpoint, env)
	if err != nil {
		return nil, fmt.Errorf("start tracing: %w", err)
	}
	exporter, err := otlptrace.New(ctx, sender)
	if err != nil {
		return nil, fmt.Errorf("start tracing: %w", err)
	}
	about, err := resource.Merge(resource.NewSchemaless(
		attribute.String("service.name", "kalypso"), attribute.String("service.version", version),
	), resource.Environment())
	if err != nil {
		return nil, fmt.Errorf("start tracing: %w", err)
	}
	// The error handler is global.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { log.Warn("spans were not sent", "error", err) }))
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return &tracing{provider.Tracer("github.com/kalypso-io/kalypso"), hide, provider.Shutdown}, nil
}

// begin starts a span, and returns the function that ends it. Without tracing, it does nothing.
func (t *tracing) begin(ctx context.Context, name string, about ...attribute.KeyValue) (context.Context, func(error)) {
	if t == nil {
		return ctx, func(error) {}
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithAttributes(about...))
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(codes.Error, t.hide(err.Error()))
		}
		span.End()
	}
}

// part starts a part of a round.
func (t *tracing) part(ctx context.Context, name string) (context.Context, func(error)) {
	return t.begin(ctx, name)
}

// forgeRequests records a span for every request to a forge, without the query, which may contain a token.
type forgeRequests struct {
	*tracing
	base http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (f forgeRequests) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, end := f.begin(r.Context(), "forge "+r.Method,
		attribute.String("server.address", r.URL.Host), attribute.String("url.path", r.URL.Path))
	answer, err := f.base.RoundTrip(r.WithContext(ctx))
	if answer != nil {
		trace.SpanFromContext(ctx).SetAttributes(attribute.Int("http.response.status_code", answer.StatusCode))
	}
	end(err)
	return answer, err
}

// transport returns the transport for requests to forges; nil for the default if tracing is off.
func (t *tracing) transport() http.RoundTripper {
	if _, off := t.tracer.(noop.Tracer); off {
		return nil
	}
	return forgeRequests{t, outbound.Transport(outbound.Options{})}
}

// end sends the remaining spans. A collector that does not answer delays the end by five seconds at most.
func (t *tracing) end(ctx context.Context, log *slog.Logger) {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := t.stop(bounded); err != nil {
		log.Warn("the last spans were not sent", "error", err)
	}
}
