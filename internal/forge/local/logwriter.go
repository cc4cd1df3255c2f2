package local

import (
	"log/slog"

	"github.com/kalypso-io/kalypso/internal/secret"
)

// logWriter logs what a program complains about.
type logWriter struct {
	log        *slog.Logger
	repository string
}

// Write logs one line.
func (l logWriter) Write(text []byte) (int, error) {
	l.log.Warn("git says", "repository", l.repository, "text", secret.Scrub(string(text)))
	return len(text), nil
}
