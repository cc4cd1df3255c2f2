package api

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/ingest"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/serve/access"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Root is where the operations are.
const Root = "/api/v1"

// Control takes the words of people about environments.
type Control interface {
	Pause(ctx context.Context, w promote.Word) error
	Resume(ctx context.Context, w promote.Word) error
	Abort(ctx context.Context, w promote.Word) error
	Order(ctx context.Context, w promote.Word) error
}

// Ledger is what the API itself reads and writes.
type Ledger interface {
	ledger.Audits
	ledger.Tokens
	ledger.Clusters
	Steps(ctx context.Context, q ledger.StepQuery) ([]ledger.Step, error)
}

// Server answers everything below /api. It must not be changed or copied once Handler was called.
type Server struct {
	Observer  *query.Observer   // required
	Control   Control           // required
	Intake    *ingest.Intake    // required
	Registrar *ingest.Registrar // required
	Guard     *access.Guard     // required
	Ledger    Ledger            // required
	Events    *Events           // required
	Log       *slog.Logger      // required

	// FluxSecret is what the keys are made from with which clusters sign events of Flux; zero where they all send their
	// credential. See [FluxSignature].
	FluxSecret secret.Value
	// Spoken is told that a person said something about an environment, which the next round heeds; nil for nobody.
	Spoken func(controlPlane, environment string)
	// Version is that of the program; empty means unknown.
	Version string
	// Now tells the time; nil for the clock.
	Now func() time.Time
}

// Handler answers every path below /api.
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

// tokens are those of people and programs.
func (s *Server) tokens() access.Tokens { return access.Tokens{Store: s.Ledger, Guard: s.Guard} }

// audit records a write before it is done. One that is not on record is not done.
func (s *Server) audit(ctx context.Context, action, subject, detail string) error {
	trail := access.Trail{Store: s.Ledger, Now: s.Now}
	return trail.Record(ctx, access.From(ctx), action, subject, detail)
}
