package query_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain limits how often properties are checked, because every world
// has its own ledger. Use -rapid.checks for more.
func TestMain(m *testing.M) {
	checks := flag.Lookup("rapid.checks")
	checks.DefValue = "12"
	if err := checks.Value.Set(checks.DefValue); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
