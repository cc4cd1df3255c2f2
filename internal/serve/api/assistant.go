package api

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/hub/assistant"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve/access"
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
		if ruleOf("pause").Admit(who) == nil {
			o.Pause = s.pause(who)
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
		protocol.ServeHTTP(w, r.WithContext(access.With(r.Context(), who)))
	})
}

// drafts implements [assistant.Drafts] for a user: those of the last rounds, and plans of imagined changes.
type drafts struct {
	*service
	who access.Identity
}

// Draft implements [assistant.Drafts].
func (d drafts) Draft(ctx context.Context, environment string, whatIf []fleet.WhatIf, _ bool) (*schedule.Draft, error) {
	standing, err := d.Observer.Standing(environment, "")
	switch {
	case err != nil:
		return nil, err
	case len(whatIf) == 0:
		return standing.Draft()
	case d.Plans == nil:
		return nil, errors.New("this server does not plan imagined changes")
	}
	texts := make([]string, len(whatIf))
	for i, change := range whatIf {
		texts[i] = change.String()
	}
	preview, err := d.Plans(ctx, schedule.PlanRequest{
		ControlPlane: standing.ControlPlane, Environment: environment, WhatIf: strings.Join(texts, " "),
	}, d.who.Role.Includes(access.Operator))
	if err != nil {
		return nil, err
	}
	return preview.Drafts[0], nil
}

// pause pauses promotions in the name of a user.
func (s *service) pause(who access.Identity) func(ctx context.Context, environment, controlPlane, why string) error {
	return func(ctx context.Context, environment, controlPlane, why string) error {
		name, ring := decide.SplitRing(environment)
		_, err := s.command(access.With(ctx, who), "pause", RingPath{EnvironmentPath{name, controlPlane}, ring}, "", why, s.Control.Pause)
		return err
	}
}
