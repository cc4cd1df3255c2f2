package largefleet

import (
	"embed"
	"fmt"
)

//go:embed templates/*.yaml
var templates embed.FS

// Relative URLs are resolved against the location of the control plane, like those of Git submodules, so that a fleet
// works in any folder.
const (
	controlPlaneURL = "." // itself, independent of the folder's name
	gitOpsURL       = "../platform-gitops"
	appsURL         = "../apps/"
)

// addMain adds the promoted documents, except for the configuration.
func (s Spec) addMain(f Files) {
	f.Main[".environments/"+s.Environment+".yaml"] = header("Environment", s.Environment) +
		fmt.Sprintf("spec:\n  controlPlane:\n    repo: %s\n    branch: %s\n    path: .\n", controlPlaneURL, s.Environment)
	entries, _ := templates.ReadDir("templates") // cannot fail: it is embedded
	for _, e := range entries {
		if s.BuiltIn {
			break
		}
		text, _ := templates.ReadFile("templates/" + e.Name())
		f.Main["templates/"+e.Name()] = string(text)
	}
	for i := range s.workloads() {
		name := workloadName(i)
		f.Main["workloads/"+name+".yaml"] = header("WorkloadRegistration", name) +
			fmt.Sprintf("spec:\n  workload:\n    repo: %s\n    branch: main\n    path: .\n  workspace: %s\n", appsURL+name, s.team(i))
	}
}

// addEnvironment adds the documents of the environment, except for the configuration.
func (s Spec) addEnvironment(f Files) {
	f.Env["main.yaml"] = header("BaseRepo", "main") +
		fmt.Sprintf("spec:\n  repo: %s\n  branch: main\n  path: .\n", controlPlaneURL)
	f.Env["gitops.yaml"] = header("GitOpsRepo", s.Environment) +
		fmt.Sprintf("spec:\n  repo: %s\n  branch: %s\n  path: .\n", gitOpsURL, s.Environment)
	for i := range s.Policies {
		f.Env["policies/"+s.team(i)+".yaml"] = s.policy(s.team(i))
	}
	for i := range s.ClusterTypes {
		ct := s.clusterType(i)
		f.Env[ct.folder()+"cluster-type.yaml"] = header("ClusterType", ct.name) +
			fmt.Sprintf("  labels:\n    region: %s\n    size: %s\n    managed: \"true\"\n", ct.region, ct.size) +
			"spec:\n  reconciler: flux\n  namespaceService: default\n  configType: configmap\n"
		if s.Rules {
			f.Env[ct.folder()+"cluster-type.yaml"] += fmt.Sprintf("  capacity:\n    assignments: %d\n", s.Targets)
		}
	}
}

func (s Spec) policy(team string) string {
	return header("SchedulingPolicy", team+"-policy") + fmt.Sprintf(`spec:
  deploymentTargetSelector:
    workspace: %s
    labelSelector:
      matchLabels:
        type: application
  clusterTypeSelector:
    labelSelector:
      matchLabels:
        managed: "true"
`, team) + s.rules()
}

func (s Spec) rules() string {
	if !s.Rules {
		return ""
	}
	return fmt.Sprintf(`  maxClusterTypes: %d
  filters:
  - expression: clusterType.labels.managed == 'true' && target.workspace != clusterType.name
  preferences:
  - weight: 50
    expression: clusterType.labels.region.startsWith(target.workspace.substring(0, 1))
  - weight: 30
    clusterTypeSelector:
      matchLabels:
        size: large
  spread:
  - key: region
    maxSkew: %d
`, s.ClusterTypes, s.ClusterTypes)
}

func header(kind, name string) string {
	return fmt.Sprintf("apiVersion: scheduler.kalypso.io/v1alpha1\nkind: %s\nmetadata:\n  name: %s\n", kind, name)
}

func regionFolder(ct clusterType) string { return "cluster-types/" + ct.region + "/" }

func (ct clusterType) folder() string { return regionFolder(ct) + ct.name + "/" }

func (ct clusterType) configFile() string { return ct.folder() + "config.yaml" }
