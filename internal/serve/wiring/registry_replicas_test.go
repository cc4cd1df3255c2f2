//go:build unix

package wiring

import (
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/postgres"
	"github.com/kalypso-io/kalypso/internal/ledger/postgrestest"
	"github.com/kalypso-io/kalypso/internal/serve"
)

// TestTheRegistryIsOfOneServer: the artifacts are in one data folder, so that a server with them starts beside no other one.
func TestTheRegistryIsOfOneServer(t *testing.T) {
	t.Parallel()
	database := postgrestest.Start(t)
	for i, tc := range []struct {
		name, config string
		alone        bool
		want         string
	}{
		{"with a registry, beside another server", "registry: {}\n", false, "a server with the embedded registry cannot share it"},
		{"beside a server with a registry", "", true, "has the embedded forge or registry and cannot share it"},
		{"beside another server", "", false, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			url := database.Create(t, fmt.Sprintf("ledger_%d", i))
			l, err := postgres.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close() //nolint:errcheck // the database ends with the test
			if err := l.Join(t.Context(), ledger.Replica{ID: "1", Name: "other", Alone: tc.alone}, time.Hour, false); err != nil {
				t.Fatal(err)
			}
			config, err := serve.ParseConfig([]byte(tc.config+"forges: [{url: https://git.example.com, kind: gitea, tokenEnv: TOKEN}]\n"), func(c *serve.Config) {
				c.Data, c.Ledger, c.ControlPlanes = t.TempDir(), url, []string{"https://git.example.com/platform/control-plane"}
			})
			if err != nil {
				t.Fatal(err)
			}
			s, err := New(t.Context(), Options{
				Config: config, Env: map[string]string{"TOKEN": "token"}, Log: slog.New(slog.DiscardHandler),
				Listen: func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") },
			})
			if err == nil {
				s.Close()
			}
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
