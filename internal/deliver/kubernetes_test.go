package deliver_test

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/chart"
	"github.com/kalypso-io/kalypso/internal/check"
)

// Charts see the version of Kubernetes whose schemas check their objects.
func TestChartsAndChecksHaveOneKubernetes(t *testing.T) {
	schemas, _ := check.NewSchemas(nil)
	if !strings.HasPrefix(chart.DefaultKubernetes, "v"+schemas.Version()+".") {
		t.Errorf("charts see %s, and checks have the schemas of %s", chart.DefaultKubernetes, schemas.Version())
	}
}
