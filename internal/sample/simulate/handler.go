package simulate

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// maxRequest is the largest request, in bytes.
const maxRequest = 64 << 10

// Handler controls the simulation. Bind it to loopback, behind [WithToken].
//
//	GET  /api/v1/clusters                    []Overview
//	GET  /api/v1/clusters/{name}             Overview
//	POST /api/v1/clusters/{name}/behaviour   Behaviour
//	POST /api/v1/clusters/{name}/kubectl     {"args": ["get", "configmaps", "-A"]}, answered with {"output": "..."}
//	POST /api/v1/refresh
//
// Errors are application/problem+json. [Remote] is the client.
func (s *Simulation) Handler(token secret.Value) http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, do func(*http.Request) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
			answer, err := do(r)
			if err != nil {
				refuse(w, err)
				return
			}
			writeJSON(w, http.StatusOK, "application/json", answer)
		})
	}
	handle("GET /api/v1/clusters", func(*http.Request) (any, error) { return s.Clusters(), nil })
	handle("GET /api/v1/clusters/{name}", func(r *http.Request) (any, error) { return s.Cluster(r.PathValue("name")) })
	handle("POST /api/v1/clusters/{name}/behaviour", s.handleBehaviour)
	handle("POST /api/v1/clusters/{name}/kubectl", s.handleKubectl)
	handle("POST /api/v1/refresh", func(*http.Request) (any, error) { s.Refresh(); return struct{}{}, nil })
	return WithToken(token, mux)
}

// WithToken requires "Authorization: Bearer TOKEN". An empty token admits no request.
func WithToken(token secret.Value, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(token.Reveal()))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		got := sha256.Sum256([]byte(given))
		if !bearer || given == "" || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			problem(w, http.StatusUnauthorized, "the token is missing or wrong; use the one in the file that the simulation wrote when it started")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// errRequest means that a request is invalid.
var errRequest = errors.New("invalid request")

func decodeRequest(r *http.Request, into any) error {
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("%w: %w", errRequest, err)
	}
	return nil
}

func (s *Simulation) handleBehaviour(r *http.Request) (any, error) {
	var b Behaviour
	if err := decodeRequest(r, &b); err != nil {
		return nil, err
	}
	name := r.PathValue("name")
	if err := s.Set(name, b); err != nil {
		return nil, err
	}
	return s.Cluster(name)
}

// kubectlCall and kubectlAnswer are the wire format of [Simulation.Kubectl].
type (
	kubectlCall struct {
		Args []string `json:"args"`
	}
	kubectlAnswer struct {
		Output string `json:"output"`
	}
)

func (s *Simulation) handleKubectl(r *http.Request) (any, error) {
	var call kubectlCall
	if err := decodeRequest(r, &call); err != nil {
		return nil, err
	}
	var output bytes.Buffer
	if err := s.Kubectl(&output, r.PathValue("name"), call.Args); err != nil {
		return nil, err
	}
	return kubectlAnswer{output.String()}, nil
}

func refuse(w http.ResponseWriter, err error) {
	status := http.StatusUnprocessableEntity
	switch {
	case errors.Is(err, ErrUnknownCluster):
		status = http.StatusNotFound
	case errors.Is(err, errRequest):
		status = http.StatusBadRequest
	}
	problem(w, status, err.Error())
}

func problem(w http.ResponseWriter, status int, detail string) {
	writeJSON(w, status, "application/problem+json", map[string]any{
		"title": http.StatusText(status), "status": status, "detail": secret.Line(detail),
	})
}

func writeJSON(w http.ResponseWriter, status int, contentType string, value any) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // the client may have disconnected
}

// Applications serves the pages of applications, see [Simulation.Greetings]: at /{cluster}/{namespace} the first one,
// at /{cluster}/{namespace}/{application} the one of that name. Clients that accept JSON get JSON.
func (s *Simulation) Applications() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{cluster}/{namespace}", s.serveGreeting)
	mux.HandleFunc("GET /{cluster}/{namespace}/{application}", s.serveGreeting)
	return mux
}

func (s *Simulation) serveGreeting(w http.ResponseWriter, r *http.Request) {
	all, err := s.Greetings(r.PathValue("cluster"), r.PathValue("namespace"))
	if err != nil {
		refuse(w, err)
		return
	}
	wanted := r.PathValue("application")
	for _, g := range all {
		if wanted == "" || g.Application == wanted {
			answerGreeting(w, r, g)
			return
		}
	}
	problem(w, http.StatusNotFound, "no application in this namespace answers")
}

func answerGreeting(w http.ResponseWriter, r *http.Request, g Greeting) {
	status := http.StatusOK
	if g.Waits != "" {
		status = http.StatusServiceUnavailable
	}
	w.Header().Set("Cache-Control", "no-store")
	if strings.Contains(r.Header.Get("Accept"), "application/json") {
		writeJSON(w, status, "application/json", g)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	w.WriteHeader(status)
	_ = writeGreeting(w, g) // the client may have disconnected
}
