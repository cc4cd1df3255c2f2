// Command kalypso-operator schedules the control planes that ControlPlane objects of a Kubernetes cluster describe. It is a program of its own because
// it links the libraries of Kubernetes controllers, which nothing else needs.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	_ "time/tzdata" // promotion windows name time zones, and a container may have no time zone files

	"github.com/kalypso-io/kalypso/internal/chart/sandbox"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
)

func main() {
	sandbox.Main(os.Args[1:])
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks to stop. A second one is not caught and ends the process.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program. env has entries of the form "NAME=value".
func run(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	t := terminal.New(env, stdin, stdout, stderr)
	root := newOperator(t)
	root.Version = cli.Version()
	root.CompletionOptions.DisableDefaultCmd = true
	cli.Prepare(root, t)
	return int(cli.Execute(ctx, t, root, args))
}
