// Command build builds the programs of package tools, so that tests find them. It is run in the folder of that package.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/kalypso-io/kalypso/e2e/tools"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	start := time.Now()
	_, err := tools.Build(ctx, ".", func(what string) {
		fmt.Printf("%6s  %s\n", time.Since(start).Round(time.Second), what)
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
