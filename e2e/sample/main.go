// Command sample plays the tutorial on real things of this machine: a Gitea, three API servers with a Flux each, and agents.
// It says how to reach them, waits until it is interrupted, and leaves nothing behind.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/kalypso-io/kalypso/e2e/harness"
	"github.com/kalypso-io/kalypso/e2e/tools"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run starts everything, and ends it when the context does. It is started in the folder e2e.
func run(ctx context.Context) (err error) {
	say := func(what string) { fmt.Println(what) }
	programs, err := tools.Build(ctx, "tools", say)
	if err != nil {
		return err
	}
	lab, err := harness.NewLab()
	if err != nil {
		return err
	}
	defer func() {
		say("ending Gitea and the clusters, and removing " + lab.Dir())
		err = errors.Join(err, lab.Close(false))
	}()
	say("building kalypso")
	kalypso, err := harness.BuildKalypso(ctx, lab, "..")
	if err != nil {
		return err
	}
	say("starting Gitea, and three clusters with Flux")
	stack, err := harness.StartStack(ctx, lab, programs, "edge-1", "edge-2", "west")
	if err != nil {
		return err
	}
	for _, c := range stack.Clusters {
		if err := stack.AddNode(ctx, c); err != nil {
			return err
		}
	}
	play, err := newPlay(ctx, stack, kalypso)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, play.down()) }()
	if err := play.up(ctx); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case <-play.process.Ended():
		return errors.New("the sample has ended, by kalypso sample down or by a mistake: " + play.log())
	}
}
