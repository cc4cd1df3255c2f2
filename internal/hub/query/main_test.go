package query_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain bounds how often a property is tried: every world is a ledger of its own. Give -rapid.checks for more.
func TestMain(m *testing.M) {
	checks := flag.Lookup("rapid.checks")
	checks.DefValue = "12"
	if err := checks.Value.Set(checks.DefValue); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
