package wiring

import (
	"log/slog"
	"net"
	"testing"

	"github.com/kalypso-io/kalypso/internal/plane/planetest"
	"github.com/kalypso-io/kalypso/internal/serve"
)

func TestServerHasTheAbilitiesOfTheTable(t *testing.T) {
	t.Parallel()
	const text = "publish: {to: oci://registry.example.com/solutions}\npreviewForks: true\n"
	controlPlane := "https://forge.example.com/platform/control-plane"
	config, err := serve.ParseConfig([]byte(text), func(c *serve.Config) {
		c.Data, c.URL, c.ControlPlanes = t.TempDir(), "http://kalypso.example.com", []string{controlPlane}
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(t.Context(), Options{
		Config: config, Log: slog.New(slog.DiscardHandler),
		Listen: func() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	planetest.Check(t, planetest.Server, s.Flows.plane(controlPlane))
}
