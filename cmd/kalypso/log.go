package main

import (
	"cmp"
	"fmt"
	"log/slog"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// newLogger logs to stderr: by default, text on a terminal and JSON elsewhere. Credentials are hidden in every line.
func newLogger(t *terminal.Terminal, c serve.LogConfig, secrets []secret.Value) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cmp.Or(c.Level, "info"))); err != nil {
		return nil, err
	}
	hide := secret.Hider(secrets...)
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch kind := a.Value.Kind(); {
		case kind == slog.KindString, kind == slog.KindAny && a.Key != slog.LevelKey:
			a.Value = slog.StringValue(hide(fmt.Sprint(a.Value.Any())))
		}
		return a
	}}
	if c.Format == "text" || c.Format == "" && terminal.IsTerminal(t.Err) {
		return slog.New(slog.NewTextHandler(t.Err, options)), nil
	}
	return slog.New(slog.NewJSONHandler(t.Err, options)), nil
}
