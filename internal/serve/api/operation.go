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

// anyone is the role of operations that need none.
const anyone access.Role = ""

// listen is the ID of the operation that streams events.
const listen = "listen"

// roles maps the IDs of operations to the required roles. Operations without an entry are forbidden.
var roles = map[string]access.Role{
	"whoami": anyone,

	"list-needs": access.Reader, "list-environments": access.Reader, "get-environment": access.Reader, "get-progress": access.Reader, "get-matrix": access.Reader, "get-map": access.Reader, "explain": access.Reader,
	"list-workloads": access.Reader, "get-workload": access.Reader, "list-targets": access.Reader, "get-target": access.Reader, "list-assignments": access.Reader,
	"list-versions": access.Reader, "list-clusters": access.Reader, "get-cluster": access.Reader, "list-reconcilers": access.Reader,
	"list-discrepancies": access.Reader, "list-promotions": access.Reader, "get-promotion": access.Reader, "get-history": access.Reader,
	"compare": access.Reader, "get-figures": access.Reader, "list-applications": access.Reader, "get-application": access.Reader,
	"get-application-progress": access.Reader, "list-solution-versions": access.Reader, "list-revisions": access.Reader, listen: access.Reader,

	"promote": access.Operator, "pause": access.Operator, "resume": access.Operator, "abort": access.Operator, "rollback": access.Operator,
	"approve": access.Operator, bypass: access.BreakGlass,
	"skip": access.Operator,

	"promote-application": access.Operator, "pause-application": access.Operator, "resume-application": access.Operator,
	"abort-application": access.Operator, "rollback-application": access.Operator, "record-build": access.Operator,
	approveApplication: access.Approver, bypassApplication: access.BreakGlass,

	"get-application-values": access.Reader, setApplicationValues: access.Operator, "get-values": access.Reader, "list-missing-values": access.Reader, setPlatformValues: access.Operator,

	rollbackTarget: access.Operator, uninstallTargets: access.Operator, deployTargets: access.Operator,

	"list-messages": access.Operator, "list-replicas": access.Operator,

	"register-cluster": access.Admin, "rotate-cluster": access.Admin, "revoke-cluster": access.Admin,
	"list-tokens": access.Admin, "create-token": access.Admin, "revoke-token": access.Admin, "list-audit": access.Admin,
	"import-reports": access.Admin,

	"report": access.Cluster, "report-flux": access.Cluster, "report-argocd": access.Cluster,

	"get-deliveries": access.Cluster, getArchive: access.Cluster, "get-delivery-key": anyone,

	"join-cluster": access.Join,
}

// inWorkspaces has the IDs of operations for which a role in workspaces is enough. Their handlers answer from [service.seen], and what they
// change they ask [service.mayChange] about. All other operations require a role of the server.
var inWorkspaces = map[string]bool{
	"list-environments": true, "get-environment": true, "get-matrix": true, "get-map": true, "list-needs": true, "list-workloads": true, "get-workload": true,
	"list-targets": true, "get-target": true, "list-assignments": true, "list-versions": true, "list-clusters": true, "get-cluster": true,
	"list-reconcilers": true, "list-discrepancies": true, "list-promotions": true, "get-promotion": true, "get-history": true,
	"compare": true, "get-figures": true, "list-applications": true, "get-application": true, "get-application-progress": true, listen: true,
	"list-solution-versions": true, "list-revisions": true,

	"promote-application": true, "pause-application": true, "resume-application": true, "abort-application": true,
	"rollback-application": true, "record-build": true, approveApplication: true, bypassApplication: true,

	"get-application-values": true, setApplicationValues: true, "list-missing-values": true,

	rollbackTarget: true, uninstallTargets: true, deployTargets: true,
}

const (
	// approveApplication is the operation for which, in workspaces, the role approver is enough.
	approveApplication = "approve-application"
	// bypassApplication is the operation for which, in an emergency, the role break-glass is enough.
	bypassApplication = "bypass-application"
)

// ruleOf returns the rule of an operation; that of an unknown one lets no client through.
func ruleOf(operation string) access.Rule {
	role, ok := roles[operation]
	return access.Rule{Role: role, Scoped: inWorkspaces[operation], Public: ok && role == anyone}
}

// seen returns what the client of a request sees of the fleet.
func (s *service) seen(ctx context.Context) *query.Observer {
	return Seen(s.Observer, access.From(ctx))
}

// Seen returns what a client sees of the fleet.
func Seen(o *query.Observer, who access.Identity) *query.Observer {
	scope := who.Sees()
	if scope.All() {
		return o
	}
	return o.Within(scope.Key(), func(controlPlane, workspace, environment string) bool {
		return scope.Sees(access.Place{ControlPlane: controlPlane, Workspace: workspace, Environment: environment})
	})
}

// within returns a query that is answered from what the client sees.
func within[I, T any](s *service, answer func(*query.Observer, context.Context, I) (T, error)) func(context.Context, I) (T, error) {
	return func(ctx context.Context, in I) (T, error) { return answer(s.seen(ctx), ctx, in) }
}

// mayChange decides whether the client of a request may do an operation to what belongs to a place. It returns a context for
// [Server.audit], which names the grant.
func mayChange(ctx context.Context, operation string, p access.Place) (context.Context, error) {
	grant, err := ruleOf(operation).Allow(access.From(ctx), p)
	if err != nil || grant == nil {
		return ctx, err
	}
	return context.WithValue(ctx, usedGrant{}, grant.String()), nil
}

type usedGrant struct{}

// operation describes an operation.
type operation struct {
	id, path, summary string
	// about is the description.
	about string
	// status is the status of a successful write. Default: 200.
	status int
	// most limits the body of a request, in bytes. Default: 64 KiB.
	most int64
}

// maxBody is the default of operation.most.
const maxBody = 64 << 10

// described converts an operation for huma. Its tag is the first element of its path.
func (s *service) described(method string, o operation) huma.Operation {
	role, where := roles[o.id], ""
	if inWorkspaces[o.id] {
		where = " A role in a workspace is enough for what belongs to it."
	}
	text := o.about
	if text != "" {
		text += "\n\n"
	}
	text += "Role: " + string(role) + "." + where
	if role == anyone {
		text = o.about
	}
	errorSchema := s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Problem](), true, "")
	return huma.Operation{
		OperationID: o.id, Method: method, Path: Root + o.path, Summary: o.summary, Description: text, Tags: []string{tagOf(o.path)},
		DefaultStatus: o.status, MaxBodyBytes: max(o.most, maxBody),
		Responses: map[string]*huma.Response{
			"default": {
				Description: "The error, with its location and what to do.",
				Content:     map[string]*huma.MediaType{problemType: {Schema: errorSchema}},
			},
		},
	}
}

// ask registers a query. Its answer has an ETag and, if it is a page of a list, a link to the next page.
func ask[I, T any](s *service, o operation, handle func(context.Context, I) (T, error)) {
	op := s.described(http.MethodGet, o)
	schema := s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[T](), true, "")
	text := &huma.Schema{Type: huma.TypeString}
	op.Parameters = []*huma.Param{{
		Name: "If-None-Match", In: "header", Schema: text, Description: "The ETag of the client's copy. If it is current, the answer is 304.",
	}}
	op.Responses[strconv.Itoa(http.StatusOK)] = &huma.Response{
		Description: http.StatusText(http.StatusOK), Headers: map[string]*huma.Header{
			"ETag": {Schema: text, Description: "Identifies the content of the answer."},
			"Link": {Schema: text, Description: "The address of the next page, if there is one."},
		},
		Content: map[string]*huma.MediaType{"application/json": {Schema: schema}},
	}
	op.Responses[strconv.Itoa(http.StatusNotModified)] = &huma.Response{Description: "The client's copy is current."}
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*huma.StreamResponse, error) {
		body, err := handle(ctx, *in)
		if err != nil {
			return nil, s.problem(ctx, err)
		}
		text, err := encode(body)
		if err != nil {
			return nil, s.problem(ctx, err)
		}
		return &huma.StreamResponse{Body: func(ctx huma.Context) {
			r, w := humago.Unwrap(ctx)
			writeAnswer(w, r, body, text)
		}}, nil
	})
}

// written is the answer to a write.
type written[T any] struct {
	CacheControl string `header:"Cache-Control"`
	Body         T
}

// tell registers a write.
func tell[I, T any](s *service, o operation, handle func(context.Context, *I) (T, error)) {
	tellAs(s, s.described(http.MethodPost, o), handle)
}

func tellAs[I, T any](s *service, op huma.Operation, handle func(context.Context, *I) (T, error)) {
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*written[T], error) {
		body, err := handle(ctx, in)
		if err != nil {
			return nil, s.problem(ctx, err)
		}
		return &written[T]{CacheControl: "no-store", Body: body}, nil
	})
}
