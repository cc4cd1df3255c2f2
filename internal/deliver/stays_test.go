package deliver

import (
	"slices"
	"testing"

	app "github.com/kalypso-io/kalypso/api/app/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
)

// Secrets stay in the clusters when what made them is removed: those of a Job, of External Secrets and of cert-manager.
func TestSecretsThatStay(t *testing.T) {
	const job = `apiVersion: batch/v1
kind: Job
spec: {template: {spec: {containers: [{args: [make-secrets, --recipe, '{"secrets":[{"name":"b"},{"name":"a"}]}']}]}}}
`
	const external = `---
kind: ExternalSecret
spec: {target: {name: c, creationPolicy: Orphan}}
---
kind: ExternalSecret
spec: {target: {name: owned}}
---
kind: Certificate
spec: {secretName: d}
`
	for _, test := range []struct {
		old, now string
		want     []string
	}{
		{job + external, "", []string{"a", "b", "c", "d"}},
		{job + external, external, []string{"a", "b"}},
		{job, job, nil},
		{"", job, nil},
		{"kind: Job\nspec: {template: {spec: {containers: [{args: [make-secrets, --recipe, '{']}]}}}\n", "", nil},
	} {
		if got := staying([]byte(test.old), []byte(test.now)); !slices.Equal(got, test.want) {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

// A rotation changes one number, and nothing else of the file. A Secret of an entry without a name gets an entry.
func TestRotate(t *testing.T) {
	const before = `kind: Workload
---
# the application
kind: Delivery
spec:
  secrets:
    - {name: db, from: Job, image: "r/agent:v1"} # by us
`
	a := &Application{Delivery: &app.Delivery{}, DeliveryAt: fleet.Position{File: "workload/app.yaml", Line: 4}}
	a.Delivery.Spec.Secrets = []app.ChartSecret{{Name: "db", From: app.FromJob, Image: "r/agent:v1"}}
	r, text, err := a.Rotate("db", []byte(before))
	if want := before[:len(before)-len("} # by us\n")] + ", rotation: 1} # by us\n"; err != nil || string(text) != want || r.Rotation != 1 || r.File != "workload/app.yaml" {
		t.Errorf("%v, %v, got\n%swant\n%s", err, r, text, want)
	}
	a.Delivery.Spec.Secrets = []app.ChartSecret{{From: app.FromJob, Image: "r/agent:v1", Rotation: 3}}
	r, text, err = a.Rotate("cache", []byte("kind: Workload\n---\n\nkind: Delivery\nspec:\n  secrets:\n    - from: Job\n      image: r/agent:v1\n      rotation: 3\n"))
	if want := "kind: Workload\n---\n\nkind: Delivery\nspec:\n  secrets:\n    - from: Job\n      image: r/agent:v1\n      rotation: 3\n    - name: cache\n      from: Job\n      image: r/agent:v1\n      rotation: 4\n"; err != nil || string(text) != want || r.Rotation != 4 {
		t.Errorf("%v, %v, got\n%swant\n%s", err, r, text, want)
	}
	a.Delivery.Spec.Secrets = []app.ChartSecret{{From: app.FromExternalSecrets}}
	if _, _, err := a.Rotate("db", []byte(before)); err == nil {
		t.Error("External Secrets were rotated")
	}
}
