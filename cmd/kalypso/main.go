// Command kalypso schedules applications onto a fleet of Kubernetes clusters, through Git.
//
// It is the only place that wires edges to flows. Each command is a file, cmd_<name>.go, and a struct whose fields are
// its flags; it parses what was typed into a request, calls a flow, and shows the result.
// It holds no policy of its own.
//
// What commands are made of has packages of its own: cli is what they have in common, asking finds whom they ask, terminal
// and answer write for people, repository lets flows read and write Git, scaffold has what init writes.
// Beside the commands there is here
//
//	app_flags.go, source_flags.go, session.go   which repositories a command reads
//	serv*.go, delivery_serve.go, promoting.go,  the wiring of the server, and of the commands that do one of its rounds
//	app_rounds.go, forges.go, gitaccess.go
//
// The result goes to stdout and everything else to stderr.
// The exit code is 0 when the work is done, 1 when it failed, 2 when the command line makes no sense,
// and 3 when the work is done and the answer is no; see [cli.ExitCode].
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	_ "time/tzdata" // windows of promotion name time zones, which a container without any files does not know

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/chart/sandbox"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == sandbox.Command {
		renderChart()
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks to stop, a second one is not caught and ends the process.
	context.AfterFunc(ctx, stop)
	unused := spareMemory(os.Args[1:])
	code := run(ctx, os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr)
	runtime.KeepAlive(unused)
	os.Exit(code)
}

// spareMemory returns memory that is to be kept as long as a command runs, and never touched: then the system gives none for it, and
// the collector waits until the heap has grown by that much. A command that is over after a second spends a third of its time
// on collecting otherwise, and needs at most this much more in turn, however large the fleet is. What runs for long has none.
func spareMemory(args []string) []byte {
	if len(args) == 0 || slices.Contains([]string{"serve", "agent", "sample"}, args[0]) {
		return nil
	}
	return make([]byte, 128<<20)
}

// renderChart is this program as a process with limits, in which a server renders the charts of others, and nothing else.
func renderChart() {
	if err := sandbox.Serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(int(cli.ExitFailed))
	}
	os.Exit(int(cli.ExitDone))
}

// run is the whole program: it touches nothing of the process but its arguments, and files.
// env holds entries of the form "NAME=value".
func run(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	t := terminal.New(env, stdin, stdout, stderr)
	root := newRoot(t)
	root.SetArgs(args)

	// Cobra has no type for its complaints about a command line.
	// Whatever fails before a command starts is one of them.
	started := false
	root.PersistentPreRun = func(*cobra.Command, []string) { started = true }

	cmd, err := root.ExecuteContextC(ctx)
	if err != nil && !started {
		err = cli.AsUsage(cmd, err)
	}
	return int(cli.Report(t, err))
}
