package api

import (
	"bytes"
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
	// reportBurst is how many reports a cluster may send at once, and reportEvery how long it takes until it may send
	// another one. Controllers that notify send one for each event.
	reportBurst = 200
	reportEvery = 100 * time.Millisecond
	// maxInFlight bounds how many reports are taken in at once, and so the memory that they take.
	maxInFlight = 64
	// maxFile bounds a file of reports that was carried by hand.
	maxFile = 64 << 20
)

type reportInput struct {
	Encoding string `header:"Content-Encoding" maxLength:"20" doc:"gzip, or nothing."`
	Key      string `header:"Idempotency-Key" maxLength:"200" doc:"The ID of the batch, if anything."`
	RawBody  []byte `contentType:"application/json"`
}

type fluxInput struct {
	Encoding  string `header:"Content-Encoding" maxLength:"20" doc:"gzip, or nothing."`
	Signature string `header:"X-Signature" maxLength:"200" doc:"What generic-hmac signs the event with, in place of the cluster's credential."`
	Cluster   string `query:"cluster" maxLength:"253" doc:"The cluster whose signature it is; needed only with one."`
	RawBody   []byte `contentType:"application/json"`
}

type argoInput struct {
	Encoding string `header:"Content-Encoding" maxLength:"20" doc:"gzip, or nothing."`
	RawBody  []byte `contentType:"application/json"`
}

type fileInput struct {
	RawBody []byte `contentType:"application/x-ndjson"`
}

// Taken says that what a controller notified about was taken.
type Taken struct {
	Cluster string `json:"cluster"`
}

// Imported says what was in a file of reports.
type Imported struct {
	Batches int `json:"batches"`
	Reports int `json:"reports"`
	// Clusters are those that it is from, sorted.
	Clusters []string `json:"clusters"`
}

func registerReports(s *service) {
	notify(s, operation{
		id: "report", path: "/reports", summary: "What a cluster says about its reconcilers",
		about: "A cluster reports only about itself. The same batch may come again, late and in any order.",
	}, reflect.TypeFor[hub.ReportBatch](), s.report)
	notify(s, operation{
		id: "report-flux", path: "/reports/flux", summary: "An event of Flux's notification controller",
		about: "With the cluster's credential as bearer token (generic), or signed with its key (generic-hmac).",
	}, reflect.TypeFor[ingest.FluxEvent](), s.reportFlux)
	notify(s, operation{
		id: "report-argocd", path: "/reports/argocd", summary: "A notification of Argo CD",
	}, reflect.TypeFor[ingest.ArgoNotification](), s.reportArgo)
	op := s.described(http.MethodPost, operation{
		id: "import-reports", path: "/reports/file", summary: "A file of reports that was carried by hand",
		about: "Each line is a batch that was signed with the key of a registered cluster.", most: maxFile,
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
		return hub.ReportReceipt{}, newProblem(http.StatusUnprocessableEntity, "the Idempotency-Key is not the ID of the batch", "send the ID, or no key")
	}
	receipt, err := s.Intake.Take(ctx, cluster, batch, s.now())
	if err == nil && len(batch.Reports) > 0 {
		s.Events.Publish(Signal{Type: SignalReport, Cluster: cluster})
	}
	return receipt, err
}

func (s *service) reportFlux(ctx context.Context, in *fluxInput) (Taken, error) {
	return takeEvent(ctx, s, in.RawBody, in.Encoding, ingest.ParseFluxEvent, s.Intake.TakeFlux)
}

func (s *service) reportArgo(ctx context.Context, in *argoInput) (Taken, error) {
	return takeEvent(ctx, s, in.RawBody, in.Encoding, ingest.ParseArgoNotification, s.Intake.TakeArgo)
}

// takeEvent takes what a controller in a cluster notifies about.
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

func (s *service) importReports(ctx context.Context, in *fileInput) (Imported, error) {
	if err := s.audit(ctx, "import reports", "", ""); err != nil {
		return Imported{}, err
	}
	n, err := s.Intake.TakeFile(ctx, s.Ledger, bytes.NewReader(in.RawBody), s.now())
	for _, cluster := range n.Clusters {
		s.Events.Publish(Signal{Type: SignalReport, Cluster: cluster})
	}
	return Imported{Batches: n.Batches, Reports: n.Reports, Clusters: append([]string{}, n.Clusters...)}, err
}

// takeIn lets a report in: of a cluster that does not report too often, and no more at once than there is room for.
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
	p := newProblem(http.StatusTooManyRequests, what, "send it again after the time in Retry-After; nothing of it was taken")
	p.retryAfter = wait
	return p
}

// notify registers something that a cluster sends in a format of its own; body is the type that describes it.
func notify[I, T any](s *service, o operation, body reflect.Type, handle func(context.Context, *I) (T, error)) {
	o.most = hub.MaxReportedBytes + 2 // what is over that, the intake refuses in its own words
	op := s.described(http.MethodPost, o)
	op.BodyReadTimeout, op.SkipValidateBody = 30*time.Second, true
	tellAs(s, op, handle)
	schema := s.api.OpenAPI().Components.Schemas.Schema(body, true, "")
	s.api.OpenAPI().Paths[op.Path].Post.RequestBody.Content["application/json"] = &huma.MediaType{Schema: schema}
}
