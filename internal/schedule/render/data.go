package render

import "github.com/kalypso-io/kalypso/internal/fleet"

// Data is the data of a template.
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
	// ConfigData is the composed platform configuration. Nil while configuration values themselves are evaluated.
	// It is shared between assignments and never changed.
	ConfigData map[string]any
	// Repo, Branch and Path are short for Manifests.repo, Manifests.branch and Manifests.path.
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

// Namespace returns the namespace of an assignment, "<environment>-<clusterType>-<target>".
// A name longer than the 63 characters that Kubernetes allows is shortened, and ends with a stable hash.
func Namespace(environment, clusterType, target string) string {
	return fleet.Shorten(environment+"-"+clusterType+"-"+target, fleet.MaxLabel)
}

func (d *Data) assignment() string { return d.ClusterType + "/" + d.DeploymentTargetName }
