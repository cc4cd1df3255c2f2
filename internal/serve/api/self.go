package api

import (
	"cmp"
	"context"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/serve/access"
)

type auditInput struct {
	By   string    `query:"by" maxLength:"300" doc:"Only entries of this identity, as in the trail."`
	From time.Time `query:"from" doc:"Only entries at this time or later."`
	To   time.Time `query:"to" doc:"Only entries before this time."`
	query.Paging
}

// registerSelf registers the operations about the server itself: the caller's identity, the audit trail and events.
func registerSelf(s *service) {
	ask(s, operation{
		id: "whoami", path: "/whoami", summary: "Get the caller's identity and role",
		about: "Requires no role. An invalid token is an error.",
	}, func(ctx context.Context, _ struct{}) (access.Identity, error) { return access.From(ctx), nil })
	ask(s, operation{
		id: "list-audit", path: "/audit", summary: "List the audit trail, newest first",
		about: "Every write is recorded before it is done, except reports of clusters.",
	}, s.auditTrail)
	s.registerListen()
}

// auditTrail returns a page of the audit trail. Entries have no unique key, so a cursor is the time of a page's last entry,
// and the number of entries of that time that were on this and earlier pages.
func (s *service) auditTrail(ctx context.Context, in auditInput) (page query.Page[ledger.AuditEntry], err error) {
	limit := cmp.Or(in.Limit, query.DefaultLimit)
	q := ledger.AuditQuery{By: in.By, From: in.From, To: in.To}
	after, err := in.Place()
	if err != nil {
		return page, err
	}
	at, skip := auditPlace(after)
	if !at.IsZero() {
		q.To = at.Add(time.Microsecond) // the resolution of the ledger
	}
	q.Limit = skip + limit + 1
	all, err := s.Ledger.AuditEntries(ctx, q)
	if err != nil {
		return page, err
	}
	all = all[min(skip, len(all)):]
	page.Items = append([]ledger.AuditEntry{}, all[:min(limit, len(all))]...)
	if len(all) > limit {
		last := page.Items[limit-1].At
		seen := 0
		for _, e := range page.Items {
			if e.At.Equal(last) {
				seen++
			}
		}
		if last.Equal(at) {
			seen += skip
		}
		page.Next = query.Cursor(strconv.FormatInt(last.UnixMicro(), 10) + "/" + strconv.Itoa(seen))
	}
	return page, nil
}

// auditPlace parses the key of a cursor. An invalid key selects the first page.
func auditPlace(after string) (at time.Time, skip int) {
	micros, count, _ := strings.Cut(after, "/")
	n, err := strconv.ParseInt(micros, 10, 64)
	skip, err2 := strconv.Atoi(count)
	if err != nil || err2 != nil || skip < 0 || skip > 1<<20 {
		return time.Time{}, 0
	}
	return time.UnixMicro(n).UTC(), skip
}

type listenInput struct {
	LastEventID string `header:"Last-Event-ID" maxLength:"100" doc:"ID of the last event that was received. The stream continues after it."`
}

func (s *service) registerListen() {
	op := s.described("GET", operation{
		id: listen, path: "/events", summary: "Stream events",
		about: "Server-sent events of the types environment, application, promotion, report, cluster and reset. Each names what changed, and the " +
			"addresses to fetch again. reset means that events were missed: fetch everything again. " +
			"A comment is sent every 15 seconds while nothing happens.",
	})
	schema := s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Signal](), true, "")
	op.Responses["200"] = &huma.Response{
		Description: "An endless stream. The data of each event is JSON of this schema.",
		Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: schema}},
	}
	huma.Register(s.api, op, func(ctx context.Context, _ *listenInput) (*huma.StreamResponse, error) {
		done, ok := s.stream.admit()
		if !ok {
			p := newProblem(503, "too many clients listen to events", "try again later")
			p.retryAfter = heartbeat
			return nil, s.problem(ctx, p)
		}
		return &huma.StreamResponse{Body: func(ctx huma.Context) {
			defer done()
			r, w := humago.Unwrap(ctx)
			s.stream.serve(w, r)
		}}, nil
	})
}

// mayListen reports whether a client may still listen. Its token or its grants may have ended.
func (s *service) mayListen(r *http.Request) bool {
	who, err := s.Guard.Identify(r)
	return err == nil && ruleOf(listen).Admit(who) == nil
}

// restrict returns what the client of a request may know of a signal: whether it is about what the client sees, and not what else has
// changed. It is nil for clients with a role of the server.
func (s *service) restrict(r *http.Request) func(Signal) (Signal, bool) {
	who, err := s.Guard.Identify(r)
	if err != nil {
		who = access.Identity{} // which sees nothing
	}
	if who.Sees().All() {
		return nil
	}
	o := Seen(s.Observer, who)
	return func(all Signal) (Signal, bool) {
		about := query.Mentioned{ControlPlane: all.ControlPlane, Environment: all.Environment, Application: all.Application, Cluster: all.Cluster}
		part := Signal{Type: all.Type, Application: all.Application, Cluster: all.Cluster, Commit: all.Commit}
		if o.Concerns(query.Mentioned{ControlPlane: all.ControlPlane, Environment: all.Environment}) {
			part.ControlPlane, part.Environment = all.ControlPlane, all.Environment
		}
		return part, all.Type == SignalReset || o.Concerns(about)
	}
}
