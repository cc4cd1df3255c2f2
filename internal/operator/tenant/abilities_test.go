package tenant

import (
	"path/filepath"
	"testing"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
	"github.com/kalypso-io/kalypso/internal/plane/planetest"
)

func TestOperatorHasTheAbilitiesOfTheTable(t *testing.T) {
	const server = "https://git.example.com"
	a := access("shop", server, "token")
	a.Spec.PlanPullRequests = v1alpha1.PlanAll
	open, err := New(Options{Folder: t.TempDir(), Allowed: Allowed{server}}).Open(a)
	if err != nil {
		t.Fatal(err)
	}
	l, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	tenant := open.(*Tenant)
	t.Cleanup(func() { tenant.close(true) })
	tenant.promotion.plane = tenant.promotionOf(l)
	if err := tenant.openApplications(); err != nil {
		t.Fatal(err)
	}
	planetest.Check(t, planetest.Operator, tenant.plane())
}
