package main

import (
	"cmp"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"

	"github.com/kalypso-io/kalypso/internal/cli/terminal"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/text/secret"
)

// newLogger logs to stderr: text for people, JSON for programs. Credentials are taken out of every line.
func newLogger(t *terminal.Terminal, c serve.LogConfig, secrets []secret.Value) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(cmp.Or(c.Level, "info"))); err != nil {
		return nil, err
	}
	hide := hider(secrets)
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

// hider takes credentials out of a text: those in URLs, and known ones in every spelling in which they travel.
// Whoever made the text should have done so; this is for what they overlooked.
func hider(secrets []secret.Value) func(string) string {
	var pairs []string
	for _, s := range secrets {
		if len(s.Reveal()) < 4 {
			continue // it would garble the text, and is none worth the name
		}
		for _, spelling := range []string{s.Reveal(), url.QueryEscape(s.Reveal()), url.PathEscape(s.Reveal())} {
			pairs = append(pairs, spelling, "***")
		}
	}
	known := strings.NewReplacer(pairs...)
	return func(text string) string { return secret.Redact(known.Replace(text)) }
}

// secretsOf are all credentials that the server uses. One that cannot be read is reported by whoever needs it.
func secretsOf(config *serve.Config, env map[string]string) []secret.Value {
	names := []string{
		"KALYPSO_GIT_TOKEN", "KALYPSO_GIT_PASSWORD", "KALYPSO_SIGNING_PASSPHRASE", envChartPassword, "GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "CI_JOB_TOKEN",
	}
	var secrets []secret.Value
	for _, f := range config.Forges {
		names = append(names, f.TokenEnv, f.WebhookSecretEnv)
		if text, err := os.ReadFile(f.TokenFile); err == nil {
			secrets = append(secrets, secret.New(strings.TrimSpace(string(text))))
		}
	}
	if o := config.Access.OIDC; o != nil {
		names = append(names, o.ClientSecretEnv)
	}
	for _, name := range names {
		secrets = append(secrets, secret.New(env[name]))
	}
	return secrets
}
