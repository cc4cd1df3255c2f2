package config

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/fleettest"
)

// A text that one layer sets stays as it is written, also if it is a map. Where layers merge, numbers keep their digits.
func TestValuesStayAsTheyAreWritten(t *testing.T) {
	s := fleet.Assemble(fleettest.Inputs("dev", map[string]string{
		"env/a.yaml": `
apiVersion: v1
kind: ConfigMap
metadata: {name: a, labels: {platform-config: "true"}}
data:
  TEXT: "1.10"
  ONE: |
    # kept
    version: 1.10
    phone: 012345
  JSON: '{"a": 1.0, "b": [True]}'
  BOTH: |
    version: 1.10
    big: 12345678901234567890123
    mode: 0755
    flag: True
    list: [1.50]
    plain: 7
`,
		"env/b.yaml": `
apiVersion: v1
kind: ConfigMap
metadata: {name: b, labels: {platform-config: "true", region: west}}
data:
  BOTH: |
    more: 2.00
`,
		"env/types.yaml":   "{apiVersion: scheduler.kalypso.io/v1alpha1, kind: ClusterType, metadata: {name: west, labels: {region: west}}, spec: {reconciler: flux, namespaceService: default}}",
		"env/targets.yaml": "{apiVersion: scheduler.kalypso.io/v1alpha1, kind: DeploymentTarget, metadata: {name: shop-web, labels: {workload: shop}}, spec: {environment: dev}}",
	}))
	c, _ := NewComposer(s)
	got := c.Stack(s.ClusterTypes[0]).Compose(s.Targets[0], nil)
	want := map[string]string{
		"ONE":  "# kept\nversion: 1.10\nphone: 012345\n",
		"JSON": `{"a": 1.0, "b": [True]}`,
		"BOTH": "big: 12345678901234567890123\nflag: True\nlist:\n    - 1.50\nmode: 0755\nmore: 2.00\nplain: 7\nversion: 1.10",
	}
	if diff := cmp.Diff(want, got.Texts); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got.Data["TEXT"] != "1.10" {
		t.Errorf("a text that is not a map became %v", got.Data["TEXT"])
	}
}
