package wiring

import (
	"slices"
	"testing"

	"github.com/kalypso-io/kalypso/internal/serve/wiring/fleettest"
)

// TestAnEnvironmentThatCannotBeReadDoesNotVanish has one that does not decode, and then one whose name is unknown.
func TestAnEnvironmentThatCannotBeReadDoesNotVanish(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"does not decode": "apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Environment\nmetadata: {name: stage}\nspec: {promotion: 5}\n",
		"is not YAML":     "kind: Environment\nmetadata: {name: [stage\n",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			url := w.URL + "/" + fleettest.ControlPlane
			environments := func() []string {
				t.Helper()
				names, err := w.flows.Environments(t.Context(), url)
				if err != nil {
					t.Fatal(err)
				}
				return names
			}
			before := environments()
			w.Push(fleettest.ControlPlane, "main", map[string]string{".environments/stage.yaml": content})
			if after := environments(); !slices.Equal(before, after) {
				t.Errorf("before %q, after %q", before, after)
			}
			if _, err := w.try("stage"); err == nil {
				t.Error("it was scheduled")
			}
			if s := w.flows.board.ControlPlanes()[0].Scheduling["stage"]; s == nil || s.Err == nil {
				t.Errorf("it is shown without an error: %+v", s)
			}
			w.Push(fleettest.ControlPlane, "main", map[string]string{".environments/stage.yaml": ""})
			if after := environments(); slices.Contains(after, "stage") {
				t.Errorf("it was deleted, and is listed: %q", after)
			}
		})
	}
}
