package verify

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/api"
	prometheus "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/promote/measure"
	"github.com/kalypso-io/kalypso/internal/text/outbound"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// maxSamples limits the values of an answer.
const maxSamples = 1000

// query runs an instant query (https://prometheus.io/docs/prometheus/latest/querying/api/#instant-queries), and returns an error
// unless the expression holds for the answer.
func (r *Runner) query(ctx context.Context, check decide.RunCheck) (measure.Evidence, error) {
	p := check.Check.Prometheus
	environment, stage := decide.SplitRing(check.Environment)
	query, err := measure.Query(p.Query, measure.Placeholders{
		Commit: check.Source, Environment: environment, Ring: fleet.RingOfStage(stage), Revision: check.Revision,
	})
	if err != nil {
		return measure.Evidence{}, fmt.Errorf("the query: %w", err)
	}
	if check.Check.Expression == nil {
		return measure.Evidence{}, errors.New("the verification has no expression")
	}
	value, err := r.instant(ctx, p.URL, query)
	if err != nil {
		return measure.Evidence{}, err
	}
	samples, err := samplesOf(value)
	if err != nil {
		return measure.Evidence{}, err
	}
	evidence, err := check.Check.Expression.CheckSamples(samples, check.Baseline)
	evidence.Output = clean([]byte(query), false)
	if err != nil && evidence.Value != "" {
		err = fmt.Errorf("the result is %s: %w", evidence.Value, err)
	}
	return evidence, err
}

// instant asks a server, within the restrictions of verifications.
func (r *Runner) instant(ctx context.Context, address, query string) (model.Value, error) {
	request, err := newRequest(ctx, address) // the same rules for URLs
	if err != nil {
		return nil, err
	}
	credential, err := r.authorize(request)
	if err != nil {
		return nil, err
	}
	transport := outbound.Transport(outbound.Options{Permit: r.Permit, Once: true, MaxBody: maxAnswer})
	authorized := &authorizing{next: transport, headers: request.Header}
	client, err := api.NewClient(api.Config{Address: address, Client: outbound.Over(authorized, outbound.Stay)})
	if err != nil {
		return nil, errors.New(hide(err, credential))
	}
	value, _, err := prometheus.NewAPI(client).Query(outbound.With(ctx, credential.secrets()...), query, time.Time{}) // at the time of the server
	var refused *prometheus.Error
	switch {
	case err == nil:
		return value, nil
	case errors.As(err, &refused) && !errors.Is(err, ErrTooLarge) && ctx.Err() == nil:
		return nil, fmt.Errorf("%s: %s", request.URL.Redacted(), secret.Scrub(refused.Msg, credential.secrets()...))
	default:
		return nil, reason(ctx, err, credential.secrets()...)
	}
}

// authorizing adds headers to each request.
type authorizing struct {
	next    http.RoundTripper
	headers http.Header
}

// RoundTrip implements [http.RoundTripper].
func (a *authorizing) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	for _, name := range []string{"Authorization", "User-Agent"} {
		if value := a.headers.Get(name); value != "" {
			request.Header.Set(name, value)
		}
	}
	return a.next.RoundTrip(request)
}

// samplesOf returns the values of an answer.
func samplesOf(value model.Value) ([]measure.Sample, error) {
	switch v := value.(type) {
	case *model.Scalar:
		return []measure.Sample{{Value: float64(v.Value)}}, nil
	case model.Vector:
		if len(v) > maxSamples {
			return nil, fmt.Errorf("the answer has %d values, and an expression can see %d; aggregate them in the query", len(v), maxSamples)
		}
		samples := make([]measure.Sample, len(v))
		for i, s := range v {
			if s.Histogram != nil {
				return nil, errors.New("the answer is a native histogram; use a function such as histogram_quantile in the query")
			}
			samples[i] = measure.Sample{Value: float64(s.Value), Labels: make(map[string]string, len(s.Metric))}
			for name, label := range s.Metric {
				samples[i].Labels[string(name)] = string(label)
			}
		}
		return samples, nil
	default:
		return nil, fmt.Errorf("the answer is a %s; want a number or an instant vector", value.Type())
	}
}
