package wiring

import (
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// hostileChart is a template whose chart would use all memory.
var hostileChart = map[string]string{
	"templates/default.yaml":                "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Template\nmetadata: {name: default}\nspec: {type: namespace, chart: charts/hostile}\n",
	"charts/hostile/Chart.yaml":             "apiVersion: v2\nname: hostile\nversion: 0.1.0\n",
	"charts/hostile/templates/without.yaml": `{{ $a := "aaaaaaaaaaaaaaaa" }}{{ range until 60 }}{{ $a = print $a $a }}{{ end }}`,
}

// Anyone who can open a pull request can propose a chart. If the server rendered this one in its own process,
// the server and its forge would crash, also after each restart.
func TestServerSurvivesHostileChart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	// One assignment is enough to use a gigabyte.
	w.Push(fleettest.ControlPlane, "main", map[string]string{".environments/stage.yaml": ""})
	w.Push(fleettest.ControlPlane, "dev", map[string]string{
		"scheduling/platform/platform-services-policy.yaml": "", "scheduling/kaizen/functional-test-policy.yaml": "",
	})
	controlPlane := w.URL + "/" + fleettest.ControlPlane
	repo := w.Repo(fleettest.ControlPlane)
	if err := repo.(forge.Brancher).CreateBranch(t.Context(), "topic", w.Head(fleettest.ControlPlane, "main")); err != nil {
		t.Fatal(err)
	}
	w.Push(fleettest.ControlPlane, "topic", hostileChart)
	change, err := repo.OpenPullRequest(t.Context(), forge.NewPullRequest{Head: "topic", Base: "main", Title: "a better namespace"})
	if err != nil {
		t.Fatal(err)
	}
	preview, err := w.flows.Preview(t.Context(), controlPlane, change)
	if err != nil {
		t.Fatal(err)
	}
	held := 0
	for _, d := range preview.Drafts {
		held += d.Plan.Counts.Held
	}
	status, err := repo.Statuses(t.Context(), change.Head.Commit)
	if err != nil || held != 1 || len(status) != 1 || status[0].State != forge.Failure {
		t.Errorf("preview: got %d held, statuses %+v, %v", held, status, err)
	}

	w.Push(fleettest.ControlPlane, "main", hostileChart)
	outcome := w.round("dev")
	problems := 0
	for _, p := range outcome.Plan.Problems {
		if strings.Contains(p.Message, "print makes a value of more than") {
			problems++
		}
	}
	if problems == 0 {
		t.Errorf("round: got %+v", outcome.Plan.Problems)
	}
}
