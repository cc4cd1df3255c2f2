// Command kalypso-agent reports the reconcilers of a cluster to the server. It is "kalypso agent" as a program of its own, which
// links only what that command needs.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // windows of clusters name time zones, and a container may have no time zone files

	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/clusteragent"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks to stop. A second one is not caught and ends the process.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program. env has entries of the form "NAME=value".
func run(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	t := terminal.New(env, stdin, stdout, stderr)
	root := clusteragent.New(t, "kalypso-agent")
	root.Version = cli.Version()
	root.CompletionOptions.DisableDefaultCmd = true
	cli.Prepare(root, t)
	return int(cli.Execute(ctx, t, root, args))
}
