package main

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/serve/wiring"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

func TestLogsHideCredentials(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("t0ken-of-the-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := &serve.Config{Forges: []forge.Connection{{TokenEnv: "BOT", WebhookSecretEnv: "HOOK"}, {TokenFile: file}}}
	env := map[string]string{"BOT": "t0ken+of/the bot", "HOOK": "s3cret-of-the-hook", "KALYPSO_GIT_TOKEN": "t0ken-of-git"}
	for _, format := range []string{"text", "json"} {
		var lines bytes.Buffer
		log, err := cli.NewLogger(&terminal.Terminal{Err: &lines}, format, "", wiring.Secrets(config, env)...)
		if err != nil {
			t.Fatal(err)
		}
		log.Error("the forge says t0ken-of-git", "error", fmt.Errorf("wrapped: %w", errors.New("bad token t0ken+of/the bot")))
		log.With("url", "https://bot:pass-w0rd@example.com/x?token=t0ken+of%2Fthe+bot").Info("asked", "header", []string{"t0ken-of-the-file"})
		log.Info("delivered", slog.Group("hook", "secret", "s3cret-of-the-hook", "value", secret.New("n3w")))
		for _, hidden := range []string{"t0ken", "s3cret", "pass-w0rd", "n3w"} {
			if strings.Contains(lines.String(), hidden) {
				t.Errorf("%s shows %q:\n%s", format, hidden, &lines)
			}
		}
		if !strings.Contains(lines.String(), "wrapped: bad token ***") {
			t.Errorf("%s hides too much:\n%s", format, &lines)
		}
	}
}
