package render

import (
	"cmp"
	"slices"

	"github.com/kalypso-io/kalypso/internal/fleet"
)

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
	// Cluster is the cluster that the files are for; empty in the folder of a cluster type, which several clusters share.
	Cluster string
	// ClusterLabels are the labels of the cluster, which include those of its type; in the folder of a cluster type, those of the type.
	ClusterLabels map[string]string
	// ConfigData is the composed platform configuration. Nil while configuration values themselves are evaluated.
	// It is shared between assignments and never changed.
	ConfigData map[string]any
	// Grants are the roles that the platform team grants in addition to the rights in the namespace, sorted. They are shared
	// between assignments and never changed. Unknown while configuration values are evaluated.
	Grants []Grant
	// DependsOn are the assignments on the same cluster type that this one depends on, sorted by name. Unknown while
	// configuration values are evaluated.
	DependsOn []Dependency
	// Wave is 0 for an assignment that depends on nothing, and otherwise one more than that of what it depends on.
	Wave int
	// Repo, Branch and Path are short for Manifests.repo, Manifests.branch and Manifests.path.
	Repo, Branch, Path string

	texts map[string]string
}

// Configure sets ConfigData, and the texts that stringify returns for its keys instead of formatting their values. Neither is changed any more.
func (d *Data) Configure(data map[string]any, texts map[string]string) {
	d.ConfigData, d.texts = data, texts
}

// NewData returns the data of an assignment, without ConfigData. Namespace and ClusterType are those of the type also for a cluster
// with a folder of its own, so that a cluster that changes between the folders keeps its objects.
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
		Cluster:              ct.Cluster,
		ClusterLabels:        ct.ClusterLabels(),
		Repo:                 t.Manifests["repo"],
		Branch:               t.Manifests["branch"],
		Path:                 t.Manifests["path"],
	}
}

// Dependency is an assignment that another one depends on.
type Dependency struct {
	DeploymentTargetName string
	Workload             string
	Workspace            string
	// Namespace is the namespace of the assignment, after which the built-in templates name the reconciler's objects.
	Namespace string
	Manifests map[string]string
}

// DependenciesOf returns targets on a cluster type as templates see them.
func DependenciesOf(environment string, ct *fleet.ClusterType, targets []*fleet.Target) []Dependency {
	var all []Dependency
	for _, t := range targets {
		all = append(all, Dependency{
			DeploymentTargetName: t.Name, Workload: t.Workload, Workspace: t.Workspace,
			Namespace: Namespace(environment, ct.Name, t.Name), Manifests: t.Manifests,
		})
	}
	return all
}

// Grant is a role that the service account of an assignment gets.
type Grant struct {
	// Name is the name of the binding, unique in its namespace, or in the cluster.
	Name        string
	ClusterRole string
	// Namespace is where the rights apply, and empty if ClusterWide is true, for the whole cluster.
	Namespace   string
	ClusterWide bool
}

// maxBinding is the maximum length of the name of a binding.
const maxBinding = 253

// GrantsIn returns the roles of grants as an assignment with a namespace uses them.
func GrantsIn(namespace string, grants []*fleet.Grant) []Grant {
	var all []Grant
	for _, role := range fleet.RolesOf(grants) {
		// Namespaces have no colon, so the names of two assignments are never equal.
		g := Grant{Name: fleet.Shorten(namespace+":"+role.ClusterRole, maxBinding), ClusterRole: role.ClusterRole, ClusterWide: role.ClusterWide}
		if !role.ClusterWide {
			g.Namespace = cmp.Or(role.Namespace, namespace)
		}
		all = append(all, g)
	}
	return slices.Compact(slices.SortedFunc(slices.Values(all), func(a, b Grant) int {
		return cmp.Or(cmp.Compare(a.ClusterRole, b.ClusterRole), cmp.Compare(a.Namespace, b.Namespace))
	}))
}

// Namespace returns the namespace of an assignment, "<environment>-<clusterType>-<target>".
// A name longer than the 63 characters that Kubernetes allows is shortened, and ends with a stable hash.
func Namespace(environment, clusterType, target string) string {
	return fleet.Shorten(environment+"-"+clusterType+"-"+target, fleet.MaxLabel)
}

func (d *Data) assignment() string {
	if d.Cluster != "" {
		return fleet.ClusterFolder(d.Cluster) + "/" + d.DeploymentTargetName
	}
	return d.ClusterType + "/" + d.DeploymentTargetName
}
