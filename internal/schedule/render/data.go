package render

import "github.com/kalypso-io/kalypso/internal/fleet"

// Data is what a template sees.
type Data struct {
	DeploymentTargetName string
	Namespace            string
	Environment          string
	Workspace            string
	Workload             string
	Labels               map[string]string
	Manifests            map[string]string
	ClusterType          string
	ClusterTypeLabels    map[string]string
	// ConfigData is the composed platform configuration; nil while configuration values themselves are evaluated.
	// It is shared between assignments: nothing ever writes to it.
	ConfigData map[string]any
	// Repo, Branch and Path are short for the same keys of Manifests.
	Repo, Branch, Path string
}

// NewData returns the data of an assignment, without ConfigData.
func NewData(environment string, ct *fleet.ClusterType, t *fleet.Target) Data {
	return Data{
		DeploymentTargetName: t.Name,
		Namespace:            Namespace(environment, ct.Name, t.Name),
		Environment:          environment,
		Workspace:            t.Workspace,
		Workload:             t.Workload,
		Labels:               t.Labels,
		Manifests:            t.Manifests,
		ClusterType:          ct.Name,
		ClusterTypeLabels:    ct.Labels,
		Repo:                 t.Manifests["repo"],
		Branch:               t.Manifests["branch"],
		Path:                 t.Manifests["path"],
	}
}

// maxNamespace is the length of a DNS label, which is what Kubernetes allows as the name of a namespace.
const maxNamespace = 63

// Namespace returns the namespace of an assignment, "<environment>-<clusterType>-<target>",
// cut and given a stable hash when it is longer than the 63 characters that Kubernetes allows.
func Namespace(environment, clusterType, target string) string {
	return fleet.Shorten(environment+"-"+clusterType+"-"+target, maxNamespace)
}

// assignment returns the name of the assignment in problems.
func (d *Data) assignment() string { return d.ClusterType + "/" + d.DeploymentTargetName }
