package wiring

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/git"
	"github.com/kalypso-io/kalypso/internal/serve"
	"github.com/kalypso-io/kalypso/internal/serve/web"
)

// TestEachCauseIsOneAlert has seven repositories on a host that does not answer, and one with another error.
func TestEachCauseIsOneAlert(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	sources := []git.Unavailable{{Repository: "https://fast.example/x", Since: noon, Err: errors.New("it sends too slowly")}}
	for i := range 7 {
		url := fmt.Sprintf("https://slow.example/app-%d", i)
		sources = append(sources, git.Unavailable{Repository: url, Since: noon.Add(-time.Duration(i) * time.Minute), Err: fmt.Errorf("%s does not answer", url)})
	}
	got := append(sourceAlerts(sources), overdueAlerts([]serve.Overdue{
		{ControlPlane: "https://git.example/fleet", Environment: "dev", Since: noon}, {ControlPlane: "https://git.example/fleet", Environment: "stage", Since: noon.Add(-time.Hour)},
	})...)
	for i := range got {
		got[i].Next = ""
	}
	want := []web.Alert{
		{What: "1 repository does not answer in time: https://fast.example/x", Why: "it sends too slowly", Since: noon},
		{
			What: "7 repositories do not answer in time: https://slow.example/app-0, https://slow.example/app-1, https://slow.example/app-2, " +
				"https://slow.example/app-3, https://slow.example/app-4 and 2 more",
			Why: "https://slow.example/app-0 does not answer", Since: noon.Add(-6 * time.Minute),
		},
		{What: "2 environments have had no successful round: dev, stage", Since: noon.Add(-time.Hour)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
