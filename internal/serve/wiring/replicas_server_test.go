package wiring

import (
	"context"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge/gitea/giteatest"
	"github.com/kalypso-io/kalypso/internal/serve"
)

// replicaVariable makes the test program a server with the configuration in a file; see TestMain.
const replicaVariable = "KALYPSO_TEST_REPLICA"

// In these tests, replicas wait as little as they can: what they wait for is tested, not for how long.
const (
	replicaLease = 2 * time.Second
	replicaPoll  = 500 * time.Millisecond // less than the configuration allows
)

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
	config.Poll.Duration = replicaPoll
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	s, err := New(ctx, Options{
		Config: config, Env: map[string]string{"TOKEN": giteatest.Token}, Log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Listen: func() (net.Listener, error) { return net.Listen("tcp", config.Listen) },
		Lease:  replicaLease,
	})
	if err != nil {
		return err
	}
	defer s.Close()
	return s.Run(ctx)
}
