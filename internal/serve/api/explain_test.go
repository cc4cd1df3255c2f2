package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	fleetpkg "github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/fleettest"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

const stageFleet = `
apiVersion: scheduler.kalypso.io/v1alpha1
kind: ClusterType
metadata: {name: large, labels: {region: west}}
spec: {reconciler: flux, namespaceService: default}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Template
metadata: {name: default}
spec: {type: namespace, manifests: ["{apiVersion: v1, kind: Namespace, metadata: {name: '{{ .Namespace }}'}}"]}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Template
metadata: {name: flux}
spec: {type: reconciler, manifests: ["{apiVersion: v1, kind: ConfigMap, metadata: {name: reconciler, namespace: '{{ .Namespace }}'}}"]}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: DeploymentTarget
metadata: {name: shop-web, labels: {workload: shop}}
spec: {environment: stage}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: SchedulingPolicy
metadata: {name: all}
spec: {deploymentTargetSelector: {}, clusterTypeSelector: {}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: everywhere, labels: {platform-config: "true"}}
data: {PORT: "80"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: west, labels: {platform-config: "true", region: west}}
data: {PORT: "8080"}
`

// explainStage adds a round that has read stage.
func (w *world) explainStage() {
	s := fleetpkg.Assemble(fleettest.Inputs("stage", map[string]string{"env/fleet.yaml": stageFleet}))
	b := bundle.Build(s, nil, nil)
	known := w.server.Observer.Fleet.ControlPlanes()
	known[0].Scheduling = map[string]*query.Scheduled{"stage": {At: time.Now(), Snapshot: s, Decisions: b.Decisions, Outcome: &schedule.Outcome{
		Bundle: b, Loaded: &schedule.Loaded{Snapshot: s, Inputs: schedule.Inputs{Branch: schedule.Input{Name: "stage", Repo: controlPlane, Branch: "stage", Commit: commit("5")}}},
	}}}
}

func TestExplain(t *testing.T) {
	w := newWorld(t)
	const stage = "/api/v1/environments/stage/explain?target=shop/web"
	if a := w.get(stage); a.status != http.StatusServiceUnavailable || !strings.Contains(string(a.body), "has not been read yet") {
		t.Errorf("before the first round: got %d: %s", a.status, a.body)
	}
	w.explainStage()
	for path, want := range map[string]struct {
		status int
		text   string
	}{
		stage + "&clusterType=large&config=PORT": {http.StatusOK, `"path":"PORT","value":"8080"`},
		stage:                                    {http.StatusOK, `"commit":"` + commit("5") + `"`},
		stage + "&config=PORT":                   {http.StatusUnprocessableEntity, "one cluster type or cluster"},
		stage + "&clusterType=lrage":             {http.StatusNotFound, `did you mean \"large\"`},
		"/api/v1/environments/prod/explain?target=shop/web": {http.StatusConflict, "controlPlane"},
		"/api/v1/environments/nope/explain?target=shop/web": {http.StatusNotFound, "nope"},
	} {
		if a := w.get(path); a.status != want.status || !strings.Contains(string(a.body), want.text) {
			t.Errorf("%s: got %d: %s, want %d and %s", path, a.status, a.body, want.status, want.text)
		}
	}
}
