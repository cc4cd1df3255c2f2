package hellofleet

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/internal/schedule/bundle"
)

// The table "Who runs where" of the README.
func TestWhoRunsWhere(t *testing.T) {
	for environment, want := range map[string]map[string][]string{
		"dev": {
			"command-center": {"nginx-dev", "prometheus-dev"},
			"drone":          {"hello-world-app-functional-test", "nginx-dev", "prometheus-dev"},
			"large":          {"hello-world-app-performance-test", "nginx-dev", "prometheus-dev"},
			"small":          {"nginx-dev", "prometheus-dev"},
		},
		"stage": {
			"drone": {"hello-world-app-uat-test", "nginx-stage", "prometheus-stage"},
			"large": {"hello-world-app-uat-test", "nginx-stage", "prometheus-stage"},
		},
	} {
		b := bundle.Build(assemble(t, environment), nil, nil)
		for _, problem := range b.Problems {
			t.Errorf("%s: %s: %s", environment, problem.Position, problem.Message)
		}
		got := map[string][]string{}
		for _, folder := range b.Folders {
			got[folder.ClusterType] = list(folder.Assignments, func(a bundle.Assignment) string { return a.Target })
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", environment, diff)
		}
	}
}

// The configuration that the tutorial shows for the functional tests on a drone.
func TestPlatformConfigOfADrone(t *testing.T) {
	b := bundle.Build(assemble(t, "dev"), nil, nil)
	want := map[string]string{
		"CLUSTER_NAME":                     "Drone",
		"DATABASE_URL":                     "mysql://restricted-host:3306/mysqlrty123",
		"ENVIRONMENT":                      "Dev",
		"LOGGING":                          "level: debug\nformat: json\n",
		"REGION":                           "East US",
		"SOME_COMMON_ENVIRONMENT_VARIABLE": "false",
	}
	var got corev1.ConfigMap
	for _, folder := range b.Folders {
		for _, assignment := range folder.Assignments {
			if assignment.Name() == "drone/hello-world-app-functional-test" {
				file, _ := assignment.File("platform-config.yaml")
				if err := yaml.UnmarshalStrict(file.Content(), &got); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if diff := cmp.Diff(want, got.Data); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
