package wiring

import (
	"context"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"

	"github.com/kalypso-io/kalypso/internal/forge/gitea/giteatest"
	"github.com/kalypso-io/kalypso/internal/serve"
)

// replicaVariable makes the test program a server with the configuration in a file; see TestMain.
const replicaVariable = "KALYPSO_TEST_REPLICA"

// runReplica is a server among others, in a process of its own that can be killed and paused.
func runReplica(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	config, err := serve.ParseConfig(text, nil)
	if err != nil {
		return err
	}
	if err := config.Check(); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	s, err := New(ctx, Options{
		Config: config, Env: map[string]string{"TOKEN": giteatest.Token}, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Listen: func() (net.Listener, error) { return net.Listen("tcp", config.Listen) },
	})
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Run(ctx)
}
