// Command kalypso schedules applications onto a fleet of Kubernetes clusters, through Git.
//
// Each command is a file, cmd_<name>.go, and a struct whose fields are its flags. It parses the command line into a request,
// calls a flow, and prints the result. It holds no policy. The result goes to stdout, everything else to stderr;
// see [cli.ExitCode] for the exit codes.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"syscall"
	_ "time/tzdata" // promotion windows name time zones, and a container may have no time zone files

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/chart/sandbox"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
)

func main() {
	sandbox.Main(os.Args[1:])
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks to stop. A second one is not caught and ends the process.
	context.AfterFunc(ctx, stop)
	if short(os.Args[1:]) {
		collectLater()
	}
	code := execute(ctx, terminal.New(os.Environ(), os.Stdin, os.Stdout, os.Stderr), os.Args[0], os.Args[1:])
	os.Exit(code)
}

// short reports whether a command line is not that of a program that runs on and on.
func short(args []string) bool {
	return len(args) > 0 && !slices.Contains([]string{"serve", "agent", "sample"}, args[0])
}

// Memory that a short command may use before its garbage is collected, and the size of the heap from which on it is collected as usual.
const (
	spareMemory = 128 << 20
	largeHeap   = 256 << 20
)

// collectLater makes the garbage collector start later: a short command would otherwise spend a third of its time there. It keeps memory
// untouched, for which the system provides no pages, until a collection finds a large heap.
func collectLater() {
	type collection struct{ spare []byte }
	var ended func(*collection)
	ended = func(c *collection) {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		if live[0].Value.Kind() == metrics.KindUint64 && live[0].Value.Uint64() < spareMemory+largeHeap {
			runtime.SetFinalizer(c, ended) // the next collection finds it again
		}
	}
	runtime.SetFinalizer(&collection{make([]byte, spareMemory)}, ended)
}

// run is the whole program; it uses no global state of the process. env has entries of the form "NAME=value".
func run(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	t := terminal.New(env, stdin, stdout, stderr)
	return execute(ctx, t, "", args)
}

// execute runs a command line of a program that is called by a name, which may be a path.
func execute(ctx context.Context, t *terminal.Terminal, program string, args []string) int {
	root := newRoot(t)
	// As a plugin of kubectl, the program is called by another name: https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/.
	if name := strings.TrimSuffix(filepath.Base(program), ".exe"); name == "kubectl-kalypso" {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl kalypso"}
	}
	return int(cli.Execute(ctx, t, root, args))
}
