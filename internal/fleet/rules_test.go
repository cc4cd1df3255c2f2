package fleet_test

import (
	"testing"

	"github.com/kalypso-io/kalypso/internal/fleet/casetest"
	"github.com/kalypso-io/kalypso/internal/fleet/fleettest"
)

const golden = "snapshot"

// TestRules assembles the environment "dev" of each case and compares it with the case's golden snapshot. Each case
// is named after the rule that it shows.
func TestRules(t *testing.T) {
	casetest.Run(t, "testdata/*.txtar", func(t *testing.T, c casetest.Case) {
		c.Golden(t, golden, fleettest.Format(fleettest.FromTxtar(c.Archive, "dev")))
	})
}
