// Command simulated-clusters starts clusters that are only simulated: any number of them in one process, which follow the
// platform GitOps repository and what it points to, and report to a server as real clusters do.
//
//	simulated-clusters [run]         starts clusters, and goes on until it is stopped
//	simulated-clusters cluster       makes a running one fail, go offline, lag or recover
//	simulated-clusters kubectl       shows the objects of a running one
//
// The last two talk to the first through --control, which listens on loopback only and wants a token.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/hub/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks to stop, a second one is not caught and ends the process.
	context.AfterFunc(ctx, stop)
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the whole program. It returns 0 when it was stopped or is done, 1 when something failed,
// and 2 when the command line makes no sense.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRun(stdout)
	root.AddCommand(newCluster(stdout), newKubectl(stdout))
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	started := false
	root.PersistentPreRun = func(*cobra.Command, []string) { started = true }
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "error: %v\n", err)
	var refusal *client.Refusal
	if errors.As(err, &refusal) && refusal.Hint() != "" {
		fmt.Fprintf(stderr, "%s\n", refusal.Hint())
	}
	if !started || errors.Is(err, errUsage) {
		return 2
	}
	return 1
}

// errUsage means that the command line makes no sense.
var errUsage = errors.New("see --help")
