package api

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/deliver"
	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Root is the path of the operations.
const Root = "/api/v1"

// Control stores commands of users.
type Control interface {
	Pause(ctx context.Context, w promote.Command) error
	Resume(ctx context.Context, w promote.Command) error
	Abort(ctx context.Context, w promote.Command) error
	Order(ctx context.Context, w promote.Command) error
	Approve(ctx context.Context, w promote.Command) error
	Bypass(ctx context.Context, w promote.Command) error
	RollBack(ctx context.Context, w promote.Command) error
	Skip(ctx context.Context, w promote.Command) error
}

// Ledger is what the API itself reads and writes.
type Ledger interface {
	ledger.Audits
	ledger.Tokens
	ledger.Clusters
	Outbox
	Holder
	Steps(ctx context.Context, q ledger.StepQuery) ([]ledger.Step, error)
	RecordStep(ctx context.Context, s ledger.Step) error
}

// Server serves all paths below /api, and assistants at /mcp. Do not change or copy it after the call of Handler.
type Server struct {
	Observer  *query.Observer   // required
	Control   Control           // required
	Intake    *ingest.Intake    // required
	Registrar *ingest.Registrar // required
	Guard     *access.Guard     // required
	Ledger    Ledger            // required
	Events    *Events           // required
	Log       *slog.Logger      // required

	// FluxSecret derives the keys with which clusters sign Flux events. Optional: without it, signatures are not accepted. See
	// [FluxSignature].
	FluxSecret secret.Value
	// SessionKey is the key that servers of a ledger share. What an assistant confirms is signed with a key that is derived from it.
	// Optional: without it, only the server that asked takes the confirmation.
	SessionKey secret.Value
	// Jobs takes what a cluster says about the Jobs of verifications, and returns those that it should run. Optional.
	Jobs func(cluster string, batch *hub.ReportBatch) []hub.JobRequest
	// Deliveries say what clusters without a reconciler should run, signed with the key that DeliveryKey verifies. Optional.
	Deliveries  Deliveries
	DeliveryKey ed25519.PublicKey
	// DeliveriesRefused says why this server does not tell clusters what to run; empty if it does.
	DeliveriesRefused string
	// Replicas returns the ID of this server, and the servers that share the ledger. Optional.
	Replicas func() (own string, living []ledger.Replica)
	// Plans plans imagined changes for assistants. Urgent ones are those of operators. Optional.
	Plans func(ctx context.Context, q schedule.PlanRequest, urgent bool) (*schedule.Preview, error)
	// Values reads and writes values that users set by hand. Optional.
	Values Values
	// Targets proposes what single targets should have. Optional.
	Targets Targets
	// Rehearse returns the state of the promotions of a control plane, and what it would be after commands, as they
	// are recorded. Optional.
	Rehearse func(ctx context.Context, controlPlane string, commands ...ledger.Step) (is, would *promote.Outcome, err error)
	// RehearseApplication is Rehearse for an application. Optional.
	RehearseApplication func(ctx context.Context, controlPlane, subject string, commands ...ledger.Step) (*deliver.Rehearsed, error)
	// OnCommand is called after a command was stored. Optional.
	OnCommand func(controlPlane, environment string)
	// OnApplication is called after a command or build of an application was stored. Optional.
	OnApplication func(controlPlane, subject string)
	// Refuses says why no write is taken at present, and what to do next; empty if writes are taken. Optional.
	Refuses func() (what, next string)
	// OnError is called with the error of each request that failed. Optional.
	OnError func(error)
	// Version is the version of the program. Optional.
	Version string
	// Now returns the time. Default: [time.Now].
	Now func() time.Time
}

// Handler returns the handler of all paths below /api, and of [AssistantPath].
func (s *Server) Handler() http.Handler {
	return &access.Shield{
		Next: newService(s), Log: s.Log,
		Broken: func(w http.ResponseWriter, r *http.Request) { broken().write(w, r) },
	}
}

func (s *Server) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

// tokens manages the tokens of people and programs.
func (s *Server) tokens() access.Tokens { return access.Tokens{Store: s.Ledger, Guard: s.Guard} }

// refused returns why no write is taken at present.
func (s *Server) refused() error {
	if s.Refuses == nil {
		return nil
	}
	if what, next := s.Refuses(); what != "" {
		return newProblem(http.StatusServiceUnavailable, what, next)
	}
	return nil
}

// audit records a write before it is done. If that fails, the write must not be done.
func (s *Server) audit(ctx context.Context, action, subject, detail string) error {
	if err := s.refused(); err != nil {
		return err
	}
	if grant, ok := ctx.Value(usedGrant{}).(string); ok {
		detail = strings.TrimSpace(detail + " grant=" + strconv.Quote(grant))
	}
	trail := access.Trail{Store: s.Ledger, Now: s.Now}
	return trail.Record(ctx, access.From(ctx), action, subject, detail)
}
