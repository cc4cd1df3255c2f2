package api

import (
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
	By   string    `query:"by" maxLength:"300" doc:"Only what this identity asked for, as the trail has it."`
	From time.Time `query:"from" doc:"Only what was asked for then or later."`
	To   time.Time `query:"to" doc:"Only what was asked for before."`
	Paging
}

// registerSelf registers what is about the server itself: who asks, who asked for what, and what changes.
func registerSelf(s *service) {
	ask(s, operation{
		id: "whoami", path: "/whoami", summary: "Who is asking, and what they may do",
		about: "Needs no role; a token that is not valid is an error here as everywhere.",
	}, func(ctx context.Context, _ *struct{}) (access.Identity, error) { return access.From(ctx), nil })
	askList(s, operation{
		id: "list-audit", path: "/audit", summary: "What people and programs asked for, the newest first",
		about: "Every write is here, before it is done, except reports of clusters: those are facts of their own.",
	}, s.auditTrail)
	s.registerListen()
}

// auditTrail returns a page of the audit trail. Entries have no names: a page begins at the time of the last entry of the
// one before, after as many of that instant as were there.
func (s *service) auditTrail(ctx context.Context, in *auditInput) (page query.Page[ledger.AuditEntry], err error) {
	paging, err := in.of()
	if err != nil {
		return page, err
	}
	limit := paging.Limit
	if limit == 0 {
		limit = query.DefaultLimit
	}
	q := ledger.AuditQuery{By: in.By, From: in.From, To: in.To}
	at, skip := auditPlace(paging.After)
	if !at.IsZero() {
		q.To = at.Add(time.Microsecond) // the resolution of the ledger
	}
	q.Limit = skip + limit + 1
	all, err := s.Ledger.AuditEntries(ctx, q)
	if err != nil {
		return page, err
	}
	all = all[min(skip, len(all)):]
	page.Items = all[:min(limit, len(all))]
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
		page.Next = strconv.FormatInt(last.UnixMicro(), 10) + "/" + strconv.Itoa(seen)
	}
	return page, nil
}

// auditPlace reads the place where a page of the audit trail begins; one that is none is the beginning.
func auditPlace(after string) (at time.Time, skip int) {
	micros, count, _ := strings.Cut(after, "/")
	n, err := strconv.ParseInt(micros, 10, 64)
	skip, err2 := strconv.Atoi(count)
	if err != nil || err2 != nil || skip < 0 || skip > 1<<20 {
		return time.Time{}, 0
	}
	return time.UnixMicro(n).UTC(), skip
}

// Listening are the headers of who listens.
type Listening struct {
	LastEventID string `header:"Last-Event-ID" maxLength:"100" doc:"The ID of the last event that was received: go on after it."`
}

func (s *service) registerListen() {
	op := s.described("GET", operation{
		id: listen, path: "/events", summary: "Changes, as they happen",
		about: "Server-sent events of the types environment, promotion, report, cluster and reset. Each says what changed and which " +
			"addresses to fetch again; reset says that events were missed, and everything shown has to be fetched again. " +
			"A comment comes every 15 seconds when nothing happens.",
	})
	schema := s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Signal](), true, "")
	op.Responses["200"] = &huma.Response{
		Description: "A stream without an end. The data of each event is JSON of this schema.",
		Content:     map[string]*huma.MediaType{"text/event-stream": {Schema: schema}},
	}
	huma.Register(s.api, op, func(ctx context.Context, _ *Listening) (*huma.StreamResponse, error) {
		done, ok := s.stream.admit()
		if !ok {
			p := newProblem(503, "too many listen already", "ask again later")
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

// mayListen says whether who listens still may: their token may have ended meanwhile.
func (s *service) mayListen(r *http.Request) bool {
	who, err := s.Guard.Identify(r)
	return err == nil && allow(listen, who) == nil
}
