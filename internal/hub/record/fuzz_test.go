package record

import (
	"strings"
	"testing"
)

// FuzzDescriptors reads files that anybody may have written: whatever they say, what comes of it can be stored.
func FuzzDescriptors(f *testing.F) {
	const good = `apiVersion: hub.kalypso.io/v1alpha1
kind: DeploymentDescriptor
spec:
  workload: {name: shop}
  deploymentTarget: {name: east, environment: dev, manifests: {repo: r, branch: b, path: ../x}}
  workloadVersion: {version: 1.10, buildTime: now}
`
	for _, text := range []string{
		good, good + "---\n" + good, "kind: DeploymentDescriptor", "[DeploymentDescriptor]", "--- DeploymentDescriptor\n...\n--- [",
		strings.Replace(good, "shop", `"\0"`, 1), strings.Replace(good, "{name: shop}", "&a {name: *a}", 1),
		strings.Replace(good, "spec:", "spec: &s\n  <<: *s", 1), strings.Replace(good, "1.10", "{}", 1),
		strings.Replace(good, "{name: shop}", "{name: shop, ? [a]: b}", 1), good + "status: \xff",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		all, bad := parseDescriptors(content)
		if bad != nil && (len(all) > 0 || bad.message == "" || bad.hint == "") {
			t.Errorf("%d descriptors, and %+v", len(all), bad)
		}
		for _, d := range all {
			v := d.version
			if v.Workload == "" || v.Target == "" || v.Environment == "" || v.Version == "" {
				t.Errorf("a name is missing: %+v", v)
			}
			if err := checkNames(v.Workload, v.Workspace, v.Target, v.Environment, v.Path, v.Version, v.Build, v.Commit); err != nil {
				t.Error(err)
			}
		}
	})
}
