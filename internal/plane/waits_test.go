package plane

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/check/scan"
	"github.com/kalypso-io/kalypso/internal/deliver"
)

// TestApplicationsAreWokenWhenTheirScansEnd checks that only applications that wait for scans are woken, even if a scan
// ends during the round.
func TestApplicationsAreWokenWhenTheirScansEnd(t *testing.T) {
	t.Parallel()
	var woken []string
	w := &Waits{Wake: func(_, application string) { woken = append(woken, application) }}
	found := func(state scan.State) *deliver.Delivered {
		return &deliver.Delivered{Environments: map[string]*deliver.Outcome{
			"dev":  {Draft: &deliver.Draft{Scans: []scan.Result{{Level: check.Refuse, State: state}}}},
			"prod": nil,
		}}
	}
	says := func(want string) {
		t.Helper()
		if got := strings.Join(woken, " "); got != want {
			t.Errorf("woke %q, want %q", got, want)
		}
		woken = nil
	}
	before := w.begin()
	w.note(registration{"cp", "shop"}, found(scan.Running), before)
	w.note(registration{"cp", "cart"}, found(scan.Passed), before)
	says("")
	w.Changed()
	says("shop")
	w.note(registration{"cp", "shop"}, found(scan.Running), before)
	says("shop")
	w.note(registration{"cp", "shop"}, found(scan.Waiting), w.begin())
	w.Changed()
	says("")
	old := found(scan.Found)
	old.Environments["dev"].Draft.Scans[0].Again = true
	w.note(registration{"cp", "shop"}, old, w.begin())
	w.Changed()
	says("shop")
}
