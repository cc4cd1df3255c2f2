package api

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kalypso-io/kalypso/internal/hub/assistant"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// AssistantPath answers assistants over the Model Context Protocol.
const AssistantPath = "/mcp"

// assist returns the handler of assistants. Each request stands alone, so that it can go to any server, and has the role of its own credential.
func (s *service) assist() http.Handler {
	schemas := mcp.NewSchemaCache()
	protocol := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		who := access.From(r.Context())
		o := assistant.Options{Questions: Seen(s.Observer, who), Version: s.config().Info.Version, Schemas: schemas}
		if who.Sees().All() { // drafts are of whole control planes
			o.Drafts = drafts{s, who}
		}
		if ruleOf("pause").Admit(who) == nil || ruleOf("pause-application").Admit(who) == nil {
			o.Pause = s.pausing(who)
		}
		return assistant.New(o)
	}, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxBody, PropagateRequestCancellation: true,
		// A proxy on this machine sends the host that users see. The role and the origin are checked below.
		DisableLocalhostProtection: true,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := s.Guard.Identify(r)
		if err == nil {
			err = access.Rule{Role: access.Reader, Scoped: true}.Admit(who)
		}
		if err == nil && s.browsers.Check(r) != nil {
			err = newProblem(http.StatusForbidden, "the request comes from a page of another site", "use a program")
		}
		if err != nil {
			s.problem(r.Context(), err).write(w, r)
			return
		}
		r = r.WithContext(access.With(r.Context(), who))
		request, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			writeRefusal(w, http.StatusRequestEntityTooLarge, assistant.Refuse(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the request is larger than %d KiB", maxBody>>10)))
			return
		}
		if refusal := assistant.Check(request); refusal != nil && r.Method == http.MethodPost {
			writeRefusal(w, http.StatusBadRequest, refusal)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(request))
		protocol.ServeHTTP(&refusals{ResponseWriter: w, request: request}, r)
	})
}

// refusals turns errors that are plain text into answers of the protocol. An assistant reads only those.
type refusals struct {
	http.ResponseWriter
	request []byte
	// status is that of an error that is not sent yet; 0 for other answers.
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (w *refusals) WriteHeader(status int) {
	if plain := strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain"); plain && status >= http.StatusBadRequest {
		w.status = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter]. Errors are written at once.
func (w *refusals) Write(text []byte) (int, error) {
	if w.status == 0 {
		return w.ResponseWriter.Write(text)
	}
	var request struct{ Method string }
	_ = json.Unmarshal(w.request, &request) // it was checked
	reason, code := strings.TrimSpace(string(text)), int64(jsonrpc.CodeInvalidRequest)
	if strings.HasSuffix(reason, strconv.Quote(request.Method)+" unsupported") {
		reason, code = "unknown method "+strconv.Quote(request.Method), jsonrpc.CodeMethodNotFound
	}
	writeRefusal(w.ResponseWriter, w.status, assistant.Refuse(w.request, code, reason))
	w.status = 0
	return len(text), nil
}

// Unwrap returns the writer, for [http.ResponseController].
func (w *refusals) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func writeRefusal(w http.ResponseWriter, status int, refusal *assistant.Refusal) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Del("Content-Length")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(refusal) // the client may be gone
}

// drafts implements [assistant.Drafts] for a user: those of the last rounds, and plans of imagined changes.
type drafts struct {
	*service
	who access.Identity
}

// Draft implements [assistant.Drafts].
func (d drafts) Draft(ctx context.Context, request assistant.DraftRequest) (*schedule.Draft, error) {
	standing, err := d.Observer.Standing(request.Environment, request.ControlPlane)
	switch {
	case err != nil:
		return nil, err
	case len(request.WhatIf) == 0:
		return standing.Draft()
	case d.Plans == nil:
		return nil, errors.New("this server does not plan imagined changes")
	}
	texts := make([]string, len(request.WhatIf))
	for i, change := range request.WhatIf {
		texts[i] = change.String()
	}
	preview, err := d.Plans(ctx, schedule.PlanRequest{
		ControlPlane: standing.ControlPlane, Environment: request.Environment, WhatIf: strings.Join(texts, " "),
	}, d.who.Role.Includes(access.Operator))
	if err != nil {
		return nil, err
	}
	return preview.Drafts[0], nil
}

// pausing pauses promotions in the name of a user, by the rules of the operations that do the same.
func (s *service) pausing(who access.Identity) *assistant.Pausing {
	return &assistant.Pausing{
		Caller: who.String(), Key: s.confirmKey, Now: s.now,
		Check: func(ctx context.Context, p assistant.Promotions) (string, error) {
			subject, name, err := s.pausable(access.With(ctx, who), p)
			if err != nil {
				return "", err
			}
			last, err := s.Ledger.Steps(ctx, ledger.StepQuery{Subject: ledger.CleanSubject(subject), Environment: name, Kind: string(promote.Paused), Limit: 1})
			if err != nil || len(last) == 0 {
				return "", err
			}
			return last[0].At.UTC().Format(time.RFC3339Nano), nil
		},
		Pause: func(ctx context.Context, p assistant.Promotions, why string) (err error) {
			ctx = access.With(ctx, who)
			if p.Application != "" {
				_, err = s.applicationCommand(ctx, "pause", applicationOf(p), "", why, false, Control.Pause)
				return err
			}
			if err = ruleOf("pause").Admit(who); err == nil {
				_, err = s.command(ctx, "pause", ringOf(p), "", why, false, Control.Pause)
			}
			return err
		},
	}
}

// pausable returns the subject and the environment of promotions that the client of a request may pause.
func (s *service) pausable(ctx context.Context, p assistant.Promotions) (subject, environment string, err error) {
	if p.Application != "" {
		_, a, err := s.changing(ctx, "pause", applicationOf(p))
		return a.Subject, p.Environment, err
	}
	who := access.From(ctx)
	if err := ruleOf("pause").Admit(who); err != nil {
		var refusal *access.Refusal
		if errors.As(err, &refusal) && ruleOf("pause-application").Admit(who) == nil {
			err = &access.Refusal{Kind: refusal.Kind, What: refusal.What, Next: "name an application, to pause its promotions"}
		}
		return "", "", err
	}
	standing, name, _, err := s.subject(ctx, "pause", ringOf(p), "")
	return standing.ControlPlane, name, err
}

func applicationOf(p assistant.Promotions) ApplicationPath {
	return ApplicationPath{query.ApplicationQuery{Name: p.Application}, p.Environment}
}

func ringOf(p assistant.Promotions) RingPath {
	name, ring := decide.SplitRing(p.Environment)
	return RingPath{EnvironmentPath{name, p.ControlPlane}, ring}
}

// confirmKey derives the key that signs the codes by which assistants confirm; a random one without a secret.
func confirmKey(from secret.Value) []byte {
	if from.IsZero() {
		from = secret.New(rand.Text())
	}
	mac := hmac.New(sha256.New, []byte(from.Reveal()))
	mac.Write([]byte("kalypso confirmation"))
	return mac.Sum(nil)
}
