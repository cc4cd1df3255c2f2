package api

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// service is a server with its routes.
type service struct {
	*Server
	mux    *http.ServeMux
	api    huma.API
	stream stream
	// reports limits how often a cluster reports, inFlight how many reports are processed at once.
	reports  access.Limiter
	inFlight chan struct{}
	// deliveries limits how often a cluster asks what it should run, waiting how many wait for a change at once.
	deliveries access.Limiter
	waiting    chan struct{}
	// confirmKey signs the codes by which assistants confirm.
	confirmKey []byte
	// browsers rejects writes from pages of other sites on behalf of a signed-in user.
	browsers http.CrossOriginProtection
}

func newService(s *Server) *service {
	v := &service{
		Server: s, mux: http.NewServeMux(),
		reports: access.Limiter{Burst: reportBurst, Every: reportEvery}, inFlight: make(chan struct{}, maxInFlight),
		deliveries: access.Limiter{Burst: deliveryBurst, Every: deliveryEvery}, waiting: make(chan struct{}, maxWaiting),
		confirmKey: confirmKey(s.SessionKey),
	}
	v.stream = stream{events: s.Events, allowed: v.mayListen, restrict: v.restrict}
	v.api = humago.New(v.mux, v.config())
	v.api.UseMiddleware(v.admit)
	for _, register := range []func(*service){
		registerQueries, registerMoves, registerApplications, registerReports, registerDeliveries, registerCredentials, registerMessages, registerReplicas, registerSelf, registerValues, registerTargets,
	} {
		register(v)
	}
	v.mux.Handle(AssistantPath, v.assist())
	d := sync.OnceValues(func() (description, error) { return describe(s.Version, comments) })
	for _, format := range []string{"json", "yaml"} {
		v.mux.HandleFunc("GET /api/openapi."+format, func(w http.ResponseWriter, r *http.Request) { v.answerDescription(w, r, d, format) })
	}
	return v
}

// answerDescription sends the OpenAPI description, which needs no role.
func (s *service) answerDescription(w http.ResponseWriter, r *http.Request, describe func() (description, error), format string) {
	d, err := describe()
	if err != nil {
		s.problem(r.Context(), err).write(w, r)
		return
	}
	d.write(w, format)
}

func (s *service) config() huma.Config {
	version := s.Version
	if version == "" {
		version = "unknown"
	}
	registry := huma.NewMapRegistry(schemaPrefix, schemaName)
	aliases(registry)
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI:    "3.1.0",
			Info:       &huma.Info{Title: "Kalypso", Version: version, Description: about},
			Components: &huma.Components{Schemas: registry, SecuritySchemes: securitySchemes()},
			Security:   []map[string][]string{{"bearer": {}}},
		},
		Formats:                      map[string]huma.Format{"application/json": huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat},
		DefaultFormat:                "application/json",
		RejectUnknownQueryParameters: true,
		Transformers:                 []huma.Transformer{convertErrors},
	}
}

// convertErrors converts the errors that huma finds.
func convertErrors(ctx huma.Context, _ string, v any) (any, error) {
	if m, ok := v.(*huma.ErrorModel); ok {
		v = ofHuma(m)
	}
	if p, ok := v.(*Problem); ok {
		p.Instance = access.RequestID(ctx.Context())
	}
	return v, nil
}

// ServeHTTP implements [http.Handler]. Unknown paths and methods are problems, too.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, pattern := s.mux.Handler(r); pattern != "" {
		s.mux.ServeHTTP(w, r)
		return
	}
	tried := &headersOnly{header: http.Header{}}
	s.mux.ServeHTTP(tried, r)
	if tried.status == http.StatusMethodNotAllowed {
		allowed := tried.header.Get("Allow")
		w.Header().Set("Allow", allowed)
		newProblem(tried.status, "method "+safe(r.Method)+" is not allowed", "use "+allowed).write(w, r)
		return
	}
	newProblem(http.StatusNotFound, "path not found", "see /api/openapi.json for the paths").write(w, r)
}

// headersOnly records status and headers of an answer.
type headersOnly struct {
	header http.Header
	status int
}

// Header implements [http.ResponseWriter].
func (w *headersOnly) Header() http.Header { return w.header }

// Write implements [http.ResponseWriter].
func (w *headersOnly) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader implements [http.ResponseWriter].
func (w *headersOnly) WriteHeader(status int) { w.status = status }

// admit checks the role, the origin and the content types of a request.
func (s *service) admit(ctx huma.Context, next func(huma.Context)) {
	r, _ := humago.Unwrap(ctx)
	op := ctx.Operation()
	who, err := s.Guard.Identify(r)
	if err == nil {
		err = ruleOf(op.OperationID).Admit(who)
	}
	if err == nil && s.browsers.Check(r) != nil {
		err = newProblem(http.StatusForbidden, "the request comes from a page of another site", "use a page of this server, or a program")
	}
	if err == nil {
		err = negotiable(op, r)
	}
	if role := roles[op.OperationID]; err == nil && op.Method != http.MethodGet && role != access.Cluster && role != access.Reader {
		err = s.refused() // before it looks at anything, which is empty at that time
	}
	if err != nil {
		s.refuse(ctx, err)
		return
	}
	next(huma.WithContext(ctx, access.With(ctx.Context(), who)))
}

// refuse sends a problem before the operation.
func (s *service) refuse(ctx huma.Context, err error) {
	r, w := humago.Unwrap(ctx)
	s.problem(r.Context(), err).write(w, r)
}

// problem converts an error, and logs errors of the server and denied requests.
func (s *service) problem(ctx context.Context, err error) *Problem {
	p := problemOf(err)
	if s.OnError != nil {
		s.OnError(err)
	}
	switch {
	case errors.Is(err, context.Canceled):
	case p.Status >= http.StatusInternalServerError:
		s.Log.Error("answer", "request", access.RequestID(ctx), "status", p.Status, "error", safe(err.Error()))
	case p.Status == http.StatusUnauthorized, p.Status == http.StatusForbidden:
		s.Log.Info("refused", "request", access.RequestID(ctx), "status", p.Status, "reason", p.Detail)
	}
	return p
}

// negotiable returns an error if an operation does not support the request's Accept or Content-Type.
func negotiable(op *huma.Operation, r *http.Request) error {
	offered := "application/json"
	switch op.OperationID {
	case listen:
		offered = "text/event-stream"
	case getArchive:
		offered = "application/octet-stream"
	}
	if !accepts(r.Header.Values("Accept"), offered) {
		return newProblem(http.StatusNotAcceptable, "the answer is "+offered, "send Accept: "+offered+", or none")
	}
	if op.RequestBody == nil || r.ContentLength == 0 {
		return nil
	}
	sent, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	if _, ok := op.RequestBody.Content[strings.ToLower(strings.TrimSpace(sent))]; !ok {
		return newProblem(http.StatusUnsupportedMediaType, "unsupported content type", "send Content-Type: application/json")
	}
	return nil
}

// accepts reports whether Accept headers allow a type.
func accepts(headers []string, offered string) bool {
	group, _, _ := strings.Cut(offered, "/")
	asked := false
	for _, one := range strings.Split(strings.Join(headers, ","), ",") {
		kind, parameters, _ := strings.Cut(strings.ToLower(one), ";")
		kind = strings.TrimSpace(kind)
		if kind == "" {
			continue
		}
		asked = true
		refused := strings.ReplaceAll(parameters, " ", "") == "q=0"
		if !refused && (kind == "*/*" || kind == group+"/*" || kind == offered) {
			return true
		}
	}
	return !asked
}
