package fleet_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/fleettest"
)

const imaginedFleet = `
apiVersion: scheduler.kalypso.io/v1alpha1
kind: ClusterType
metadata: {name: west-1, labels: {region: west}}
spec: {capacity: {cpu: 10}, taints: [{key: gpu, effect: NoSchedule}]}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: Cluster
metadata: {name: west-1-a}
spec: {clusterType: west-1}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: DeploymentTarget
metadata: {name: shop-web, labels: {workload: shop}}
spec: {environment: dev}
---
apiVersion: scheduler.kalypso.io/v1alpha1
kind: SchedulingPolicy
metadata: {name: all}
spec: {deploymentTargetSelector: {}, clusterTypeSelector: {}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: west, labels: {platform-config: "true"}}
data: {PORT: "80"}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: computed, labels: {platform-config: "true"}, annotations: {kalypso.io/values: expressions}}
data: {HOST: "'a' + 'b'"}
`

func TestWhatIf(t *testing.T) {
	s := fleet.Assemble(fleettest.Inputs("dev", map[string]string{"env/fleet.yaml": imaginedFleet}))
	describe := func(s *fleet.Snapshot) string {
		var b strings.Builder
		for _, ct := range s.ClusterTypes {
			fmt.Fprintf(&b, "%s %v", ct.Name, ct.Labels)
			for _, name := range []string{"cpu", "memory"} {
				if q, ok := ct.Capacity[name]; ok {
					fmt.Fprintf(&b, " %s %s", name, q.String())
				}
			}
			for _, taint := range ct.Taints {
				fmt.Fprintf(&b, " %s:%s", taint.Key, taint.Effect)
			}
			b.WriteString("; ")
		}
		for _, c := range s.Clusters {
			fmt.Fprintf(&b, "%s %v; ", c.Name, c.Labels)
		}
		for _, t := range s.Targets {
			fmt.Fprintf(&b, "%s %v; ", t.Name, t.Labels)
		}
		for _, p := range s.Policies {
			b.WriteString(p.Name)
		}
		for _, c := range s.Configs {
			if c.Name != "west" {
				continue
			}
			for _, e := range c.Entries {
				fmt.Fprintf(&b, " %s=%s", e.Key, e.Value.Value)
			}
		}
		return b.String()
	}
	const now = "west-1 map[region:west] cpu 10 gpu:NoSchedule; west-1-a map[]; shop-web map[workload:shop]; all PORT=80"
	tests := []struct{ change, want string }{
		{"clusterType:west-1=absent", "shop-web map[workload:shop]; all PORT=80"},
		{"cluster:west-1-a=absent", strings.Replace(now, "west-1-a map[]; ", "", 1)},
		{"target:shop/web=absent", strings.Replace(now, "shop-web map[workload:shop]; ", "", 1)},
		{"target:shop-web=absent", strings.Replace(now, "shop-web map[workload:shop]; ", "", 1)},
		{"policy:all=absent", strings.Replace(now, "all ", " ", 1)},
		{"label:clusterType/west-1/region=north", strings.Replace(now, "west]", "north]", 1)},
		{"label:clusterType/west-1/region=", strings.Replace(now, "region:west", "", 1)},
		{"label:clusterType/west-1/example.com/tier=1", strings.Replace(now, "map[", "map[example.com/tier:1 ", 1)},
		{"label:target/shop-web/a=b", strings.Replace(now, "map[workload", "map[a:b workload", 1)},
		{"label:cluster/west-1-a/a=b", strings.Replace(now, "map[];", "map[a:b];", 1)},
		{"capacity:west-1/cpu=500m", strings.Replace(now, "cpu 10", "cpu 500m", 1)},
		{"capacity:west-1/cpu=", strings.Replace(now, " cpu 10", "", 1)},
		{"capacity:west-1/memory=1Gi", strings.Replace(now, "cpu 10", "cpu 10 memory 1Gi", 1)},
		{"taint:west-1/gpu=", strings.Replace(now, " gpu:NoSchedule", "", 1)},
		{"taint:west-1/down=NoExecute", strings.Replace(now, "gpu:NoSchedule", "gpu:NoSchedule down:NoExecute", 1)},
		{"value:west/PORT=8080", strings.Replace(now, "PORT=80", "PORT=8080", 1)},
		{"value:west/HOST=a%20b%25", strings.Replace(now, "PORT", "HOST=a b% PORT", 1)},
		{"value:west/PORT=", strings.TrimSuffix(now, " PORT=80")},
		{"value:west/PORT={{.ClusterType}}", `error: "value:west/PORT={{.ClusterType}}": the value is a text, with %20 for a space and %25 for a percent sign, and no template`},
		{"value:computed/HOST=a", `error: what if value:computed/HOST=a: its values are expressions, or those of a store: only text can be imagined`},
		{"value:north/PORT=1", `error: what if value:north/PORT=1: the environment has no ConfigMap with platform configuration "north"`},
		{"clusterType:west-2=absent", `error: what if clusterType:west-2=absent: the environment has no cluster type "west-2": did you mean "west-1"?`},
		{"target:shop/wbe=absent", `error: what if target:shop/wbe=absent: the environment has no target "shop/wbe": did you mean "shop/web"?`},
		{"taint:west-1/gpu=Never", `error: "taint:west-1/gpu=Never": the effect is one of [NoSchedule PreferNoSchedule NoExecute]`},
		{"capacity:west-1/cpu=-1", `error: "capacity:west-1/cpu=-1": the quantity is 0 to 1125899906842624`},
		{"label:target/shop-web/workspace=other", `error: "label:target/shop-web/workspace=other": the label workspace cannot be changed`},
		{"value:north/=1", `error: "value:north/=1": the key is missing: name the label, the resource, the taint or the value that changes`},
		{"label:clusterType/west-1/=north", `error: "label:clusterType/west-1/=north": the key is missing: name the label, the resource, the taint or the value that changes`},
		{"west-1", `error: "west-1": write KIND:NAME=absent, label:KIND/NAME/KEY=VALUE, capacity:CLUSTERTYPE/RESOURCE=QUANTITY, taint:CLUSTERTYPE/KEY=EFFECT or value:CONFIGMAP/KEY=VALUE`},
	}
	for _, test := range tests {
		got := func() string {
			change, err := fleet.ParseWhatIf(test.change)
			if err != nil {
				return "error: " + err.Error()
			}
			imagined, err := s.WhatIf([]fleet.WhatIf{change})
			if err != nil {
				return "error: " + err.Error()
			}
			return describe(imagined)
		}()
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", test.change, diff)
		}
	}
	if diff := cmp.Diff(now, describe(s)); diff != "" {
		t.Errorf("the snapshot itself changed (-want +got):\n%s", diff)
	}
}

func TestReadableWhatIf(t *testing.T) {
	for text, want := range map[string]string{
		"value:west/SUPPORT=call%204713": "value:west/SUPPORT=call 4713",
		"value:west/SHARE=5%25":          "value:west/SHARE=5%",
		"clusterType:west-1=absent":      "clusterType:west-1=absent",
		"value:west/SHARE=5%":            "value:west/SHARE=5%", // not a change
	} {
		if got := fleet.ReadableWhatIf(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
