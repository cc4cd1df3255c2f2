package wiring

import (
	"fmt"
	"os"
	"runtime/debug"
	"testing"

	"github.com/kalypso-io/kalypso/internal/chart/sandbox"
)

// TestMain can also run the command that renders charts, like kalypso, and a server for the tests of replicas.
func TestMain(m *testing.M) {
	sandbox.Main(os.Args[1:])
	if file := os.Getenv(replicaVariable); file != "" {
		if err := runReplica(file); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	debug.SetGCPercent(200) // a sixth of the processor time was to collect garbage
	os.Exit(m.Run())
}
