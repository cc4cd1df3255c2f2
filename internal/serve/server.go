package serve

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"
)

// Server serves HTTP and runs the keeper.
type Server struct {
	// Keeper runs the rounds. // required
	Keeper *Keeper
	// Hooks receive webhooks of forges.
	Hooks []Hook
	// Metrics serves /metrics. Optional.
	Metrics http.Handler
	// API serves all paths below /api. Optional.
	API http.Handler
	// Pages adds the pages of the fleet to a mux. Optional.
	Pages func(*http.ServeMux)
	// Forge is the embedded forge, which serves all other paths. Optional.
	Forge http.Handler
	// Stopping is called when the server begins to stop, to end streams. Optional.
	Stopping func()
	// Around wraps all handlers, for example to renew sessions. Optional.
	Around func(http.Handler) http.Handler
	// Health returns what is wrong with the server itself. Optional.
	Health func() Health
	// Log receives what happens. // required
	Log *slog.Logger
}

// Health is what is wrong with a server. It contains no names of repositories, because /readyz is public.
type Health struct {
	// Unready are reasons to send requests elsewhere.
	Unready []string
	// Warnings are problems that an operator should check.
	Warnings []string
}

// shutdown is the time for open requests to end when the server stops.
const shutdown = 10 * time.Second

// Serve serves and runs rounds until the context ends. Then it ends open requests and cancels rounds. Nothing is lost:
// the next start reads everything again.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: 10 * time.Second,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
	}
	if s.Stopping != nil {
		server.RegisterOnShutdown(s.Stopping)
	}
	kept := make(chan struct{})
	go func() {
		defer close(kept)
		s.Keeper.Run(ctx)
	}()
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	s.Log.Info("serving", "address", l.Addr().String())

	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	s.Log.Info("stopping")
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdown)
	defer cancel()
	err := server.Shutdown(bounded)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	<-kept
	return err
}

// Handler returns the handler of all paths.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.Handle("POST /webhooks/{name}", newWebhooks(s.Hooks, s.Keeper.HandleEvent, s.Keeper.Metrics))
	// Clients of the API and assistants look for metadata of OAuth there. The pages would send them to the form for signing in.
	mux.HandleFunc("/.well-known/", func(w http.ResponseWriter, _ *http.Request) {
		text(w, http.StatusNotFound, "There is nothing here: this server takes tokens, and has no metadata for OAuth.\n")
	})
	if s.Metrics != nil {
		mux.Handle("GET /metrics", s.Metrics)
	}
	if s.API != nil {
		mux.Handle("/api/", s.API)
		mux.Handle("/api", s.API)
		mux.Handle("/mcp", s.API)
	}
	if s.Pages != nil {
		s.Pages(mux)
	}
	if s.Forge != nil {
		mux.Handle("/", s.Forge)
	}
	if s.Around != nil {
		return withReadTimeout(s.Around(mux), readTimeout)
	}
	return withReadTimeout(mux, readTimeout)
}

// ready serves /readyz.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	var health Health
	if s.Health != nil {
		health = s.Health()
	}
	if !s.Keeper.Ready() {
		text(w, http.StatusServiceUnavailable, strings.Join(append(health.Unready, "not all control planes have been read yet"), "\n")+"\n")
		return
	}
	status, lines := http.StatusOK, []string{"ok"}
	if len(health.Unready) > 0 {
		status, lines = http.StatusServiceUnavailable, health.Unready
		w.Header().Set("Retry-After", "30")
	}
	for _, warning := range health.Warnings {
		lines = append(lines, "warning: "+warning)
	}
	text(w, status, strings.Join(lines, "\n")+"\n")
}

func text(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body)) // the client may be gone
}
