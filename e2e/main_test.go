package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/e2e/harness"
	"github.com/kalypso-io/kalypso/e2e/tools"
)

// The clusters have the names of the cluster types that they serve.
const (
	drone = "drone" // reconciled by Flux
	large = "large" // reconciled by Argo CD, of which only the definition of its kind is there
)

var (
	keep = flag.Bool("keep", false, "keep the folder with data and logs, whatever happens")
	// pagesOnly is for the tests of pages: they need a browser and simulated clusters.
	pagesOnly = flag.Bool("pages", false, "start no forge and no clusters; for -run of tests in browser_*_test.go")
)

// stack and kalypso are what all tests share. Each test has repositories of its own, and takes from the clusters what it brought.
var (
	stack   *harness.Stack
	kalypso *harness.Kalypso
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	lab, err := harness.NewLab()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if code != 0 {
			lab.QuoteLogs(os.Stderr)
		}
		if code != 0 || *keep {
			fmt.Fprintf(os.Stderr, "\ndata and logs are kept in %s\n", lab.Dir())
		}
		if err := lab.Close(code != 0 || *keep); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	if err := start(ctx, lab); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// start builds what is to be built and starts what all tests share.
func start(ctx context.Context, lab *harness.Lab) (err error) {
	if *pagesOnly {
		stack = &harness.Stack{Lab: lab}
		kalypso, err = harness.BuildKalypso(ctx, lab, "..")
		return err
	}
	programs, err := tools.Build(ctx, "tools", func(what string) { fmt.Println(what) })
	if err != nil {
		return err
	}
	if kalypso, err = harness.BuildKalypso(ctx, lab, ".."); err != nil {
		return err
	}
	began := time.Now()
	if stack, err = harness.StartStack(ctx, lab, programs, drone, large); err != nil {
		return err
	}
	for _, c := range stack.Clusters {
		if err := stack.AddNode(ctx, c); err != nil {
			return err
		}
	}
	fmt.Printf("the fleet runs after %s\n", time.Since(began).Round(100*time.Millisecond))
	c := stack.Clusters[large]
	if err := c.Define(ctx, programs.ArgoCDDefinitions); err != nil {
		return err
	}
	if err := c.Define(ctx, programs.FleetDefinitions); err != nil {
		return err
	}
	return c.Apply(ctx, harness.Namespace("argocd"))
}
