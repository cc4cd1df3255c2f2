package api

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/serve/access"
)

const (
	// reportBurst is how many reports a cluster may send at once, reportEvery the time until it may send another one.
	// Flux and Argo CD send one for each event.
	reportBurst = 200
	reportEvery = 100 * time.Millisecond
	// maxInFlight limits how many reports are processed at once, and thereby their memory.
	maxInFlight = 64
	// maxFile limits a file of reports, in bytes.
	maxFile = 64 << 20
)

type reportInput struct {
	Encoding string `header:"Content-Encoding" maxLength:"20" doc:"gzip or identity."`
	Key      string `header:"Idempotency-Key" maxLength:"200" doc:"Optional: the ID of the batch."`
	RawBody  []byte `contentType:"application/json"`
}

type fluxInput struct {
	Encoding  string `header:"Content-Encoding" maxLength:"20" doc:"gzip or identity."`
	Signature string `header:"X-Signature" maxLength:"200" doc:"The signature of generic-hmac, in place of the cluster's credential."`
	Cluster   string `query:"cluster" maxLength:"253" doc:"The cluster that signed; required with a signature."`
	RawBody   []byte `contentType:"application/json"`
}

type argoInput struct {
	Encoding string `header:"Content-Encoding" maxLength:"20" doc:"gzip or identity."`
	RawBody  []byte `contentType:"application/json"`
}

type fileInput struct {
	RawBody []byte `contentType:"application/x-ndjson"`
}

// Taken is the answer to an event that was accepted.
type Taken struct {
	Cluster string `json:"cluster"`
}

func registerReports(s *service) {
	notify(s, operation{
		id: "report", path: "/reports", summary: "Report the states of a cluster's reconcilers",
		about: "A cluster can report about itself, and about clusters that are registered as reported by it. Batches may be repeated, late and out of order.",
	}, reflect.TypeFor[hub.ReportBatch](), s.report)
	notify(s, operation{
		id: "report-flux", path: "/reports/flux", summary: "Send an event of Flux's notification controller",
		about: "With the cluster's credential as bearer token (generic), or signed with its key (generic-hmac).",
	}, reflect.TypeFor[ingest.FluxEvent](), s.reportFlux)
	notify(s, operation{
		id: "report-argocd", path: "/reports/argocd", summary: "Send a notification of Argo CD",
	}, reflect.TypeFor[ingest.ArgoNotification](), s.reportArgo)
	op := s.described(http.MethodPost, operation{
		id: "import-reports", path: "/reports/file", summary: "Import a file of reports",
		about: "For clusters without a connection. Each line is a batch, signed with the key of a registered cluster.", most: maxFile,
	})
	op.BodyReadTimeout, op.SkipValidateBody = 2*time.Minute, true
	tellAs(s, op, s.importReports)
}

func (s *service) report(ctx context.Context, in *reportInput) (hub.ReportReceipt, error) {
	done, cluster, err := s.takeIn(ctx)
	if err != nil {
		return hub.ReportReceipt{}, err
	}
	defer done()
	body, err := ingest.ReadBody(bytes.NewReader(in.RawBody), in.Encoding)
	if err != nil {
		return hub.ReportReceipt{}, err
	}
	batch, err := ingest.ParseBatch(body)
	if err != nil {
		return hub.ReportReceipt{}, err
	}
	if in.Key != "" && in.Key != batch.ID {
		return hub.ReportReceipt{}, newProblem(http.StatusUnprocessableEntity, "the Idempotency-Key differs from the ID of the batch", "send the ID, or no key")
	}
	receipt, err := s.Intake.Take(ctx, cluster, batch, s.now())
	if err == nil && len(batch.Reports) > 0 {
		s.Events.Publish(Signal{Type: SignalReport, Cluster: cmp.Or(batch.Cluster, cluster)})
	}
	if err == nil && s.Jobs != nil {
		receipt.Jobs = s.Jobs(cmp.Or(batch.Cluster, cluster), batch)
	}
	return receipt, err
}

func (s *service) reportFlux(ctx context.Context, in *fluxInput) (Taken, error) {
	return takeEvent(ctx, s, in.RawBody, in.Encoding, ingest.ParseFluxEvent, s.Intake.TakeFlux)
}

func (s *service) reportArgo(ctx context.Context, in *argoInput) (Taken, error) {
	return takeEvent(ctx, s, in.RawBody, in.Encoding, ingest.ParseArgoNotification, s.Intake.TakeArgo)
}

// takeEvent stores an event of a controller in a cluster.
func takeEvent[E any](
	ctx context.Context, s *service, sent []byte, encoding string,
	parse func([]byte) (*E, error), take func(context.Context, string, *E, time.Time) error,
) (Taken, error) {
	done, cluster, err := s.takeIn(ctx)
	if err != nil {
		return Taken{}, err
	}
	defer done()
	body, err := ingest.ReadBody(bytes.NewReader(sent), encoding)
	if err != nil {
		return Taken{}, err
	}
	event, err := parse(body)
	if err != nil {
		return Taken{}, err
	}
	if err := take(ctx, cluster, event, s.now()); err != nil {
		return Taken{}, err
	}
	s.Events.Publish(Signal{Type: SignalReport, Cluster: cluster})
	return Taken{Cluster: cluster}, nil
}

func (s *service) importReports(ctx context.Context, in *fileInput) (ingest.Imported, error) {
	if err := s.audit(ctx, "import reports", "", ""); err != nil {
		return ingest.Imported{}, err
	}
	imported, err := s.Intake.TakeFile(ctx, s.Ledger, bytes.NewReader(in.RawBody), s.now())
	for _, cluster := range imported.Clusters {
		s.Events.Publish(Signal{Type: SignalReport, Cluster: cluster})
	}
	return imported, err
}

// takeIn admits a report, within the limits. Call done when it is processed.
func (s *service) takeIn(ctx context.Context) (done func(), cluster string, err error) {
	who := access.From(ctx)
	if wait := s.reports.Take(who.Cluster, s.now()); wait > 0 {
		return nil, "", busy("the cluster reports too often", wait)
	}
	select {
	case s.inFlight <- struct{}{}:
		return func() { <-s.inFlight }, who.Cluster, nil
	default:
		return nil, "", busy("too many reports arrive at once", 2*time.Second)
	}
}

func busy(what string, wait time.Duration) *Problem {
	p := newProblem(http.StatusTooManyRequests, what, "send it again after the time in Retry-After; nothing was stored")
	p.retryAfter = wait
	return p
}

// notify registers an operation whose body has its own parser; body is the type that describes it.
func notify[I, T any](s *service, o operation, body reflect.Type, handle func(context.Context, *I) (T, error)) {
	o.most = hub.MaxReportedBytes + 2 // the intake reports larger bodies itself
	op := s.described(http.MethodPost, o)
	op.BodyReadTimeout, op.SkipValidateBody = 30*time.Second, true
	tellAs(s, op, handle)
	schema := s.api.OpenAPI().Components.Schemas.Schema(body, true, "")
	s.api.OpenAPI().Paths[op.Path].Post.RequestBody.Content["application/json"] = &huma.MediaType{Schema: schema}
}
