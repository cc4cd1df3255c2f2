package render_test

import (
	"fmt"

	"github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/schedule/render"
)

// A library holds the templates of an environment; a worker renders them for one assignment after another.
func Example() {
	library, _ := render.NewLibrary(&fleet.Snapshot{Environment: "dev"}, nil)
	template, problem := library.Find(v1alpha1.ConfigTemplate, "configmap")
	fmt.Println(problem.Severity, problem.Message)

	data := render.NewData("dev", &fleet.ClusterType{Name: "drone"}, &fleet.Target{
		Name: "hello-world-app-functional-test", Workload: "hello-world-app", Workspace: "kaizen-app-team",
	})
	data.ConfigData = map[string]any{"REGION": "west"}
	file, _, err := library.Worker().Render(template, &data)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(file))
	// Output:
	// notice template "configmap" of type config does not exist; the built-in one is used
	// apiVersion: v1
	// kind: ConfigMap
	// metadata:
	//   name: platform-config
	//   namespace: "dev-drone-hello-world-app-functional-test"
	// data:
	//   REGION: west
}
