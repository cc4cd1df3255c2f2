package api

import (
	"context"
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// anybody is the role of operations that need none.
const anybody access.Role = ""

// listen is the operation that streams events.
const listen = "listen"

// roles is the table of who may do what, by the ID of the operation. What is not in it nobody may do.
var roles = map[string]access.Role{
	"whoami": anybody,

	"list-environments": access.Reader, "get-environment": access.Reader, "get-progress": access.Reader, "get-matrix": access.Reader,
	"list-workloads": access.Reader, "get-workload": access.Reader, "list-targets": access.Reader, "list-assignments": access.Reader,
	"list-versions": access.Reader, "list-clusters": access.Reader, "get-cluster": access.Reader, "list-reconcilers": access.Reader,
	"list-discrepancies": access.Reader, "list-promotions": access.Reader, "get-promotion": access.Reader, "get-history": access.Reader,
	"compare": access.Reader, "get-figures": access.Reader, "list-applications": access.Reader, "get-application": access.Reader,
	"get-application-progress": access.Reader, listen: access.Reader,

	"promote": access.Operator, "pause": access.Operator, "resume": access.Operator, "abort": access.Operator, "rollback": access.Operator,

	"register-cluster": access.Admin, "rotate-cluster": access.Admin, "revoke-cluster": access.Admin,
	"list-tokens": access.Admin, "create-token": access.Admin, "revoke-token": access.Admin, "list-audit": access.Admin,
	"import-reports": access.Admin,

	"report": access.Cluster, "report-flux": access.Cluster, "report-argocd": access.Cluster,

	"join-cluster": access.Join,
}

// allow says whether somebody may ask for an operation.
func allow(operation string, who access.Identity) error {
	needed, ok := roles[operation]
	switch {
	case !ok:
		return &access.Refusal{Kind: access.ErrForbidden, What: "nobody may do this"}
	case needed == anybody:
		return nil
	}
	return who.May(needed)
}

// operation is what is said about an operation.
type operation struct {
	id, path, summary string
	// about says more.
	about string
	// status is that of an answer to something that is written; 0 means 200.
	status int
	// most bounds the body of a request, in bytes; 0 means 64 KiB.
	most int64
}

// maxBody bounds the bodies of requests that have no bound of their own.
const maxBody = 64 << 10

// described is an operation as huma knows it. Its tag is the first element of its path.
func (s *service) described(method string, o operation) huma.Operation {
	role := roles[o.id]
	text := o.about
	if text != "" {
		text += "\n\n"
	}
	text += "Role: " + string(role) + "."
	if role == anybody {
		text = o.about
	}
	errorSchema := s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Problem](), true, "")
	return huma.Operation{
		OperationID: o.id, Method: method, Path: Root + o.path, Summary: o.summary, Description: text, Tags: []string{tagOf(o.path)},
		DefaultStatus: o.status, MaxBodyBytes: max(o.most, maxBody),
		Responses: map[string]*huma.Response{
			"default": {
				Description: "What is wrong, where, and what to do next.",
				Content:     map[string]*huma.MediaType{problemType: {Schema: errorSchema}},
			},
		},
	}
}

// ask registers a question that has one answer.
func ask[I, T any](s *service, o operation, handle func(context.Context, *I) (T, error)) {
	question(s, o, reflect.TypeFor[T](), func(ctx context.Context, in *I) (answer, error) { return one(handle(ctx, in)) })
}

// askList registers a question whose answers come in pages.
func askList[I, T any](s *service, o operation, handle func(context.Context, *I) (query.Page[T], error)) {
	question(s, o, reflect.TypeFor[query.Page[T]](), func(ctx context.Context, in *I) (answer, error) { return list(handle(ctx, in)) })
}

func question[I any](s *service, o operation, answers reflect.Type, handle func(context.Context, *I) (answer, error)) {
	op := s.described(http.MethodGet, o)
	schema := s.api.OpenAPI().Components.Schemas.Schema(answers, true, "")
	text := &huma.Schema{Type: huma.TypeString}
	op.Parameters = []*huma.Param{{
		Name: "If-None-Match", In: "header", Schema: text, Description: "The ETag of the answer that is at hand: 304 when it is still the same.",
	}}
	op.Responses[strconv.Itoa(http.StatusOK)] = &huma.Response{
		Description: http.StatusText(http.StatusOK), Headers: map[string]*huma.Header{
			"ETag": {Schema: text, Description: "The same for the same answer."},
			"Link": {Schema: text, Description: "Where the next page is; only where there is one."},
		},
		Content: map[string]*huma.MediaType{"application/json": {Schema: schema}},
	}
	op.Responses[strconv.Itoa(http.StatusNotModified)] = &huma.Response{Description: "It is the answer that is at hand."}
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*huma.StreamResponse, error) {
		a, err := handle(ctx, in)
		if err != nil {
			return nil, s.problem(ctx, err)
		}
		text, err := a.encode()
		if err != nil {
			return nil, s.problem(ctx, err)
		}
		return &huma.StreamResponse{Body: func(ctx huma.Context) {
			r, w := humago.Unwrap(ctx)
			a.write(w, r, text)
		}}, nil
	})
}

// said is the answer to something that was written.
type said[T any] struct {
	CacheControl string `header:"Cache-Control"`
	Body         T
}

// tell registers something that is written.
func tell[I, T any](s *service, o operation, handle func(context.Context, *I) (T, error)) {
	tellAs(s, s.described(http.MethodPost, o), handle)
}

func tellAs[I, T any](s *service, op huma.Operation, handle func(context.Context, *I) (T, error)) {
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*said[T], error) {
		body, err := handle(ctx, in)
		if err != nil {
			return nil, s.problem(ctx, err)
		}
		return &said[T]{CacheControl: "no-store", Body: body}, nil
	})
}
