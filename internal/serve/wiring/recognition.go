package wiring

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/open"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// recognition is whether the ledger is the one that was used with the data folder. If it is another one, what ran, who approved it and what
// was taken back is lost: the server then works on nothing until an administrator accepts the ledger, or starts it with the right one.
type recognition struct {
	ledger   ledger.Ledger
	config   *serve.Config
	log      *slog.Logger
	since    time.Time
	accepted chan struct{} // is closed when the ledger is the right one
}

// acceptInterval is how often a server looks whether its ledger was accepted.
const acceptInterval = time.Second

// recognize compares the ledger with the one that the data folder knows.
func (s *Server) recognize(ctx context.Context, used bool) error {
	r := &recognition{ledger: s.Ledger, config: s.Config, log: s.Log, since: time.Now(), accepted: make(chan struct{})}
	s.recognition = r
	found, err := open.Recognize(ctx, s.Ledger, s.Config.Data)
	if err != nil {
		return err
	}
	switch {
	case found == open.Other:
		s.Log.Error("the server does nothing: "+r.what(), "next", r.next())
		return nil
	case found == open.First && used:
		s.Log.Warn("the data folder was used before, and did not say with which ledger: it knows the present one from now on", "data", s.Config.Data, "ledger", r.at())
	}
	close(r.accepted)
	return nil
}

// usedBefore reports whether a server used a data folder before.
func usedBefore(folder string) bool {
	_, err := os.Stat(filepath.Join(folder, AdminTokenFile))
	return !errors.Is(err, fs.ErrNotExist)
}

func (r *recognition) at() string { return secret.Redact(r.config.Ledger) }

func (r *recognition) what() string {
	return fmt.Sprintf("the ledger %q is not the one that was used with the data folder %q", r.at(), r.config.Data)
}

func (r *recognition) next() string {
	return fmt.Sprintf("restore the lost ledger and restart the server, or accept this one: kalypso ledger accept --ledger '%s' --data '%s'", r.at(), r.config.Data)
}

// waiting reports whether the ledger has to be accepted.
func (r *recognition) waiting() bool {
	if r == nil {
		return false
	}
	select {
	case <-r.accepted:
		return false
	default:
		return true
	}
}

// wait waits until the ledger is the right one. It returns false if the context ends before.
func (r *recognition) wait(ctx context.Context) bool {
	select {
	case <-r.accepted:
		return true
	case <-ctx.Done():
		return false
	}
}

// watch looks whether the ledger was accepted, until it was or the context ends.
func (r *recognition) watch(ctx context.Context) {
	if !r.waiting() {
		return
	}
	ticker := time.NewTicker(acceptInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		switch found, err := open.Recognize(ctx, r.ledger, r.config.Data); {
		case err != nil && ctx.Err() == nil:
			r.log.Error("find out whether the ledger was accepted", "error", err)
		case found == open.Same:
			r.log.Info("the ledger was accepted: the server begins to work", "ledger", r.at())
			close(r.accepted)
			return
		}
	}
}

// refusal says why writes are refused; empty if they are not.
func (r *recognition) refusal() (what, next string) {
	if !r.waiting() {
		return "", ""
	}
	return "the server does nothing until an administrator confirms its ledger, because it is not the one that was used with the data folder",
		"restore the lost ledger, or run kalypso ledger accept on the server; its log and the page of the fleet have the command"
}
