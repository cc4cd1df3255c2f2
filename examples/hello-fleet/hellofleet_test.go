package hellofleet

import (
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/fleet/fleettest"
)

// names are what one environment of the example consists of.
type names struct {
	ClusterTypes, Targets, Policies, Configs, Schemas []string
}

func TestSnapshots(t *testing.T) {
	for environment, want := range map[string]names{
		"dev": {
			ClusterTypes: []string{"command-center", "drone", "large", "small"},
			Targets: []string{
				"hello-world-app-functional-test", "hello-world-app-performance-test", "nginx-dev", "prometheus-dev",
			},
			Policies: []string{"functional-test-policy", "performance-test-policy", "platform-services-policy"},
			Configs: []string{
				"command-center-config", "dev-config", "drone-config", "east-us-config", "large-config",
				"restricted-config", "small-config", "west-us-config",
			},
			Schemas: []string{"hello-world-app-schema"},
		},
		"stage": {
			ClusterTypes: []string{"drone", "large"},
			Targets:      []string{"hello-world-app-uat-test", "nginx-stage", "prometheus-stage"},
			Policies:     []string{"platform-services-policy", "uat-test-policy"},
			Configs: []string{
				"drone-config", "east-us-config", "large-config", "restricted-config", "stage-config", "west-us-config",
			},
			Schemas: []string{"hello-world-app-schema"},
		},
	} {
		snapshot := assemble(t, environment)
		if len(snapshot.Problems)+len(snapshot.Unreadable) > 0 {
			t.Errorf("%s has problems: %v, unreadable: %v", environment, snapshot.Problems, snapshot.Unreadable)
		}
		got := names{
			ClusterTypes: list(snapshot.ClusterTypes, func(c *fleet.ClusterType) string { return c.Name }),
			Targets:      list(snapshot.Targets, func(t *fleet.Target) string { return t.Name }),
			Policies:     list(snapshot.Policies, func(p *fleet.Policy) string { return p.Name }),
			Configs:      list(snapshot.Configs, func(c *fleet.ConfigMap) string { return c.Name }),
			Schemas:      list(snapshot.Schemas, func(s *fleet.Schema) string { return s.Name }),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", environment, diff)
		}
		if gitops := snapshot.GitOps; gitops == nil || gitops.Repo != "../gitops" || gitops.Branch != environment {
			t.Errorf("%s goes to %+v, want ../gitops on the branch %s", environment, gitops, environment)
		}
	}
}

// assemble reads an environment of the example the way a flow does: registrations lead to the workloads.
func assemble(t *testing.T, environment string) *fleet.Snapshot {
	t.Helper()
	in := fleet.Inputs{
		Environment: environment,
		Main:        read(t, "control-plane", "main", ""),
		Branch:      read(t, "control-plane", environment, ""),
		Workloads:   map[string]fleet.Fetched{},
	}
	for _, registration := range in.Main.Registrations {
		at := registration.Value.Spec.Workload
		in.Workloads[registration.Value.Name] = fleet.Fetched{
			Objects: read(t, strings.TrimPrefix(at.Repo, "../"), at.Branch, path.Clean(at.Path)),
		}
	}
	return fleet.Assemble(in)
}

func read(t *testing.T, repository, branch, below string) *fleet.Objects {
	t.Helper()
	files := map[string]string{}
	for name, content := range contents(t, Files(), repository+"/"+branch) {
		if strings.HasPrefix(name, below) {
			files[name] = string(content)
		}
	}
	return fleet.Read(&fleet.Cache{}, fleettest.Source(repository, files))
}

func list[T any](all []T, name func(T) string) []string {
	var result []string
	for _, one := range all {
		result = append(result, name(one))
	}
	return result
}
