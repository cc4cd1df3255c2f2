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
	"slices"
	"strings"
	"syscall"
	_ "time/tzdata" // promotion windows name time zones, and a container may have no time zone files

	"github.com/spf13/cobra"

	"github.com/kalypso-io/kalypso/internal/chart/sandbox"
	"github.com/kalypso-io/kalypso/internal/cli"
	"github.com/kalypso-io/kalypso/internal/cli/garbage"
	"github.com/kalypso-io/kalypso/internal/cli/terminal"
)

func main() {
	if !short(os.Args[1:]) {
		garbage.Usual()
	}
	sandbox.Main(os.Args[1:])
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks to stop. A second one is not caught and ends the process.
	context.AfterFunc(ctx, stop)
	code := execute(ctx, terminal.New(os.Environ(), os.Stdin, os.Stdout, os.Stderr), os.Args[0], os.Args[1:])
	os.Exit(code)
}

// short reports whether a command line is not that of a program that runs on and on, or of one of several that a server runs at once.
func short(args []string) bool {
	return len(args) > 0 && !slices.Contains([]string{"serve", "agent", "sample", "render-chart"}, args[0])
}

// run is the whole program; it uses no global state of the process. env has entries of the form "NAME=value".
func run(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	t := terminal.New(env, stdin, stdout, stderr)
	return execute(ctx, t, "", args)
}

// execute runs a command line of a program that is called by a name, which may be a path.
func execute(ctx context.Context, t *terminal.Terminal, program string, args []string) int {
	root := newRoot(t)
	if len(args) > 0 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		completeNoFiles(root) // it walks all flags of all commands, which takes other commands a third of their start
	}
	// As a plugin of kubectl, the program is called by another name: https://kubernetes.io/docs/tasks/extend-kubectl/kubectl-plugins/.
	if name := strings.TrimSuffix(filepath.Base(program), ".exe"); name == "kubectl-kalypso" {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl kalypso"}
	}
	return int(cli.Execute(ctx, t, root, args))
}
