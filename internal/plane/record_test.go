package plane

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/hub/record"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/ledger/sqlite"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// TestOtherFollowedBranchesAreRecordedLater checks that other branches are recorded only after the branches of all
// environments: before, a branch of an environment would be taken for an application's.
func TestOtherFollowedBranchesAreRecordedLater(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	err = store.Report(t.Context(), ledger.Report{
		Reconciler: ledger.ReconcilerID{Cluster: "large-01", Kind: "Kustomization", Name: "other"}, Observed: noon,
		Received: noon,
		Outcome: ledger.Outcome{
			Source: ledger.Source{Repository: "https://git.example/other", Ref: "main"}, Revision: strings.Repeat("1", 40), State: ledger.StateReady,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := &Promotion{Ledger: store, Hosts: &record.Hosts{}}
	c.Hosts.Add("https://git.example")
	if early := c.followedBranches(t.Context(), &record.Summary{}); len(early) > 0 {
		t.Errorf("right after the start: %+v", early)
	}
	c.followed.at = c.followed.at.Add(-followedDelay)
	later := c.followedBranches(t.Context(), &record.Summary{})
	if len(later) != 1 || later[0].Repository != "https://git.example/other" || later[0].Branch != "main" {
		t.Errorf("later: %+v", later)
	}
	if again := c.followedBranches(t.Context(), &record.Summary{}); len(again) > 0 {
		t.Errorf("a moment later: %+v", again)
	}
}
