package tenant

import (
	"os"
	"testing"

	"github.com/kalypso-io/kalypso/internal/chart/sandbox"
)

// TestMain can also run the command that renders charts, like kalypso-operator.
func TestMain(m *testing.M) {
	sandbox.Main(os.Args[1:])
	os.Exit(m.Run())
}
