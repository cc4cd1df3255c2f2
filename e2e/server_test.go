package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/e2e/harness"
)

// server is "kalypso serve" of a fleet.
type server struct {
	*harness.Process
	url string
	// token is the administrator's.
	token string
	// ledger is the file in which it keeps what ran where.
	ledger string
}

// serve starts the server for the fleet, and has Gitea tell it about everything that happens.
// It polls once an hour, so that whatever it does, an event caused.
func (f *fleet) serve(t *testing.T) *server {
	t.Helper()
	return f.servePolling(t, "1h")
}

// servePolling starts a server that also looks by itself.
func (f *fleet) servePolling(t *testing.T, every string) *server {
	t.Helper()
	const secret = "the secret that signs deliveries" //nolint:gosec // of this test alone
	at, err := stack.Address()
	must(t, err)
	folder := t.TempDir()
	config := filepath.Join(folder, "kalypso.yaml")
	must(t, os.WriteFile(config, fmt.Appendf(nil, `
controlPlanes: [%s]
listen: %s
data: %s
poll: %s
forges:
  - {kind: gitea, url: %s, settle: 1s, tokenEnv: GITEA_TOKEN, webhookSecretEnv: GITEA_WEBHOOK_SECRET}
%s`, f.repositories["control-plane"].URL(), at, folder, every, stack.Gitea.URL, f.configuration), 0o600))
	for _, name := range []string{"control-plane", "gitops", "hello-world-app", "platform-services"} {
		if r := f.repositories[name]; r != nil {
			must(t, r.Hook(t.Context(), "http://"+at+"/webhooks/gitea", secret))
		}
	}
	environment := append(f.credentials(), "GITEA_TOKEN="+f.bot.Token, "GITEA_WEBHOOK_SECRET="+secret, "MESSAGE_SECRET="+messageSecret)
	process, err := kalypso.With(environment...).Start("kalypso-"+f.organization, "serve", "--config", config)
	must(t, err)
	t.Cleanup(func() { _ = process.Stop(context.Background()) }) // it has ended already, unless the test ends early
	s := &server{Process: process, url: "http://" + at, ledger: filepath.Join(folder, "ledger.db")}
	must(t, s.WaitServing(t.Context(), s.url+"/readyz"))
	token, err := os.ReadFile(filepath.Join(folder, "admin-token"))
	must(t, err)
	s.token = strings.TrimSpace(string(token))
	return s
}

// ask runs a command against the server as its administrator, wants an exit code and returns what it prints.
func (s *server) ask(t *testing.T, code int, args ...string) string {
	t.Helper()
	result, err := kalypso.With("KALYPSO_SERVER="+s.url, "KALYPSO_TOKEN="+s.token).Run(t.Context(), args...)
	must(t, err)
	if strings.Contains(result.Stdout+result.Stderr, s.token) {
		t.Error("the administrator's token is printed")
	}
	if result.Code != code {
		t.Fatalf("kalypso %s ended with %d, want %d\n%s%s", strings.Join(args, " "), result.Code, code, result.Stdout, result.Stderr)
	}
	return result.Stdout
}
