package serve

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Server is the process: the keeper, and what it shows over HTTP.
type Server struct {
	// Keeper does the work. // required
	Keeper *Keeper
	// Hooks receive what forges deliver.
	Hooks []Hook
	// Metrics is what /metrics answers; nil for none.
	Metrics http.Handler
	// API answers every path below /api; nil for none.
	API http.Handler
	// Pages puts the pages of the fleet into a mux; nil for none.
	Pages func(*http.ServeMux)
	// Forge is the local forge, which takes every path that is not the server's own; nil for none.
	Forge http.Handler
	// Stopping is called when the server begins to stop, to end answers that would go on for ever; nil for none.
	Stopping func()
	// Around goes around every answer, such as what keeps sessions of browsers alive; nil for nothing.
	Around func(http.Handler) http.Handler
	// Log is told what happens. // required
	Log *slog.Logger
}

// shutdown is how long requests under way may take to end when the server stops.
const shutdown = 10 * time.Second

// Serve answers on a listener and keeps the fleets scheduled until the context ends. Then it takes no more requests,
// ends those under way, and abandons the rounds, which lose nothing: the next server starts from what Git says.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: 10 * time.Second,
		WriteTimeout:      fetching,
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

// Handler answers the paths of the server, and leaves the others to the local forge.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { text(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", s.ready)
	mux.Handle("POST /webhooks/{name}", newWebhooks(s.Hooks, s.Keeper.Handle, s.Keeper.Metrics))
	if s.Metrics != nil {
		mux.Handle("GET /metrics", s.Metrics)
	}
	if s.API != nil {
		mux.Handle("/api/", s.API)
		mux.Handle("/api", s.API)
	}
	if s.Pages != nil {
		s.Pages(mux)
	}
	if s.Forge != nil {
		mux.Handle("/", s.Forge)
	}
	if s.Around != nil {
		return hurried(s.Around(mux), sending)
	}
	return hurried(mux, sending)
}

// ready answers whether every control plane was read since the start.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if !s.Keeper.Ready() {
		text(w, http.StatusServiceUnavailable, "not every control plane was read yet\n")
		return
	}
	text(w, http.StatusOK, "ok\n")
}

func text(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body)) // whoever asked may be gone
}
