package external

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	schedulingv1 "github.com/kalypso-io/kalypso/api/scheduling/v1"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// Scheduler answers requests. Ask returns when ctx is done at the latest, and can be called concurrently. Its errors do not
// contain credentials. Package schedulertest has the tests that every implementation passes.
type Scheduler interface {
	Ask(ctx context.Context, r *schedulingv1.Request) (*schedulingv1.Response, error)
}

// Observer is a [Scheduler] whose answers depend on more than the question.
type Observer interface {
	// Observe reads what else they depend on.
	Observe(ctx context.Context) (Observation, error)
}

// Observation returns the facts for a request as JSON. They become part of the question: an answer is used until they change,
// too.
type Observation func(r *schedulingv1.Request) (json.RawMessage, error)

// DefaultTimeout is how long a scheduler may take for an answer, and MaxTimeout the longest that can be configured.
const (
	DefaultTimeout = 10 * time.Second
	MaxTimeout     = 2 * time.Minute
)

// Programs runs programs: input to standard input, standard output up to limit bytes. args begins with a full path.
type Programs interface {
	Exchange(ctx context.Context, args []string, input []byte, limit int) ([]byte, error)
}

// Endpoints sends documents by POST, and returns the answer up to limit bytes.
type Endpoints interface {
	Post(ctx context.Context, address string, token secret.Value, body []byte, limit int) ([]byte, error)
}

// Program is a scheduler that is a program.
type Program struct {
	Programs Programs // required
	Args     []string // required
}

// Ask implements [Scheduler].
func (p *Program) Ask(ctx context.Context, r *schedulingv1.Request) (*schedulingv1.Response, error) {
	return exchange(r, func(text []byte) ([]byte, error) {
		return p.Programs.Exchange(ctx, p.Args, text, schedulingv1.MaxResponseBytes)
	})
}

// HTTP is a scheduler that is an HTTP endpoint.
type HTTP struct {
	Endpoints Endpoints // required
	URL       string    // required
	Token     secret.Value
}

// Ask implements [Scheduler].
func (h *HTTP) Ask(ctx context.Context, r *schedulingv1.Request) (*schedulingv1.Response, error) {
	return exchange(r, func(text []byte) ([]byte, error) {
		return h.Endpoints.Post(ctx, h.URL, h.Token, text, schedulingv1.MaxResponseBytes)
	})
}

// errAnswer is the error for an answer that breaks a rule of the protocol.
type errAnswer struct{ err error }

func (e errAnswer) Error() string { return "its answer cannot be used: " + e.err.Error() }

// exchange encodes the request, and decodes the answer.
func exchange(r *schedulingv1.Request, send func([]byte) ([]byte, error)) (*schedulingv1.Response, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	answer, err := send(append(text, '\n'))
	if err != nil {
		return nil, err
	}
	response, err := schedulingv1.ParseResponse(answer, r)
	if err != nil {
		return nil, errAnswer{err}
	}
	return response, nil
}

// WithFacts is a scheduler with facts that the operator configured, such as prices.
type WithFacts struct {
	Scheduler
	// Read returns the facts as JSON.
	Read func(ctx context.Context) ([]byte, error) // required
}

// MaxFacts is the largest size of facts, in bytes.
const MaxFacts = 1 << 20

// Observe implements [Observer].
func (f *WithFacts) Observe(ctx context.Context) (Observation, error) {
	text, err := f.Read(ctx)
	if err != nil {
		return nil, err
	}
	if len(text) > MaxFacts {
		return nil, fmt.Errorf("the facts have more than %d bytes", MaxFacts)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return nil, fmt.Errorf("the facts are not JSON: %w", err)
	}
	return func(*schedulingv1.Request) (json.RawMessage, error) { return compact.Bytes(), nil }, nil
}
