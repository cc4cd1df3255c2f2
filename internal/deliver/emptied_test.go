package deliver_test

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/chart/charttest"
	"github.com/kalypso-io/kalypso/internal/deliver"
)

// Targets that stay and lose all their objects count as removals: clusters delete everything that they run of them.
func TestEmptiedTargetsNeedApproval(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(chart map[string]string)
		want string
	}{
		"a chart without output": {func(chart map[string]string) { chart["helm/templates/m00.yaml"] = "" }, "all 6 targets would be removed"},
		"other names": {
			func(chart map[string]string) {
				chart["helm/templates/m00.yaml"] = strings.Replace(chart["helm/templates/m00.yaml"], "shop-0", "shop-1", 1)
			}, "6 removals exceed the deletion budget of 5",
		},
		"another value": {
			func(chart map[string]string) {
				chart["helm/templates/m00.yaml"] = strings.Replace(chart["helm/templates/m00.yaml"], "100m", "200m", 1)
			}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := shop(6)
			d := &deliver.Drafter{Renderer: charttest.InProcess{}, Loader: &deliver.Loader{Repositories: r, Charts: localCharts{}}}
			request := deliver.DraftRequest{Request: deliver.Request{Source: "https://git.example/shop"}, Environment: "dev"}
			draft, err := d.Draft(t.Context(), request)
			if err != nil {
				t.Fatal(err)
			}
			r.publish(draft)
			c.edit(r["https://git.example/shop main"])
			d.Loader = &deliver.Loader{Repositories: r, Charts: localCharts{}}
			if draft, err = d.Draft(t.Context(), request); err != nil {
				t.Fatal(err)
			}
			if draft.Plan.Counts.Changed != 6 {
				t.Fatalf("got %+v", draft.Plan.Counts)
			}
			if got := strings.Join(draft.Plan.Refusals, "\n"); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got refusals %q, want %q", got, c.want)
			}
		})
	}
}
