package cli

import (
	"cmp"
	"fmt"
	"log/slog"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/text/secret"
	"github.com/kalypso-io/kalypso/internal/text/secret/known"
)

// NewLogger logs to stderr. The format is text or json; by default, text on a terminal and JSON elsewhere. The level is by default info.
// Credentials are hidden in every line: the given ones, and those that the program reads and sends meanwhile.
func NewLogger(t *terminal.Terminal, format, level string, secrets ...secret.Value) (*slog.Logger, error) {
	var from slog.Level
	if err := from.UnmarshalText([]byte(cmp.Or(level, "info"))); err != nil {
		return nil, err
	}
	hide := secret.Hider(secrets...)
	options := &slog.HandlerOptions{Level: from, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		switch kind := a.Value.Kind(); {
		case kind == slog.KindString, kind == slog.KindAny && a.Key != slog.LevelKey:
			a.Value = slog.StringValue(known.Hide(hide(fmt.Sprint(a.Value.Any()))))
		}
		return a
	}}
	if format == "text" || format == "" && terminal.IsTerminal(t.Err) {
		return slog.New(slog.NewTextHandler(t.Err, options)), nil
	}
	return slog.New(slog.NewJSONHandler(t.Err, options)), nil
}
