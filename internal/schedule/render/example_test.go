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
	template, problem := library.Find(v1alpha1.NamespaceTemplate, "default")
	fmt.Println(problem.Severity, problem.Message)

	data := render.NewData("dev", &fleet.ClusterType{Name: "drone"}, &fleet.Target{
		Name: "hello-world-app-functional-test", Workload: "hello-world-app", Workspace: "kaizen-app-team",
	})
	file, _, err := library.Worker().Render(template, &data)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(string(file))
	// Output:
	// notice template "default" of type namespace does not exist; the built-in one is used
	// apiVersion: v1
	// kind: Namespace
	// metadata:
	//   name: "dev-drone-hello-world-app-functional-test"
	//   labels:
	//     environment: "dev"
	//     workspace: "kaizen-app-team"
	//     workload: "hello-world-app"
	//     deploymentTarget: "hello-world-app-functional-test"
}
