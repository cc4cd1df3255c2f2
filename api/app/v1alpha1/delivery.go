package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	scheduler "github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// +kubebuilder:validation:XValidation:rule="[has(self.chart), has(self.kustomization), has(self.manifests), has(self.services) && self.services.size() > 0].filter(x, x).size() <= 1",message="only one of chart, kustomization, manifests and services is rendered"

// DeliverySpec says what is rendered, with what, and where it goes.
// Of chart, kustomization, manifests and services at most one is set; without any, the chart in the folder helm is rendered.
type DeliverySpec struct {
	// Workload is the name of the Workload that is delivered. Default: the name of the Delivery.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Workload string `json:"workload,omitempty"`

	// Chart is the Helm chart to render. Default: the folder helm of the source repository.
	// +optional
	Chart *Chart `json:"chart,omitempty"`

	// Kustomization is the folder of a kustomization in the source repository.
	// "{environment}" and "{target}" stand for the environment and the target that is rendered: "overlays/{target}".
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Kustomization string `json:"kustomization,omitempty"`

	// Manifests is a folder with plain manifests in the source repository; placeholders are those of kustomization.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Manifests string `json:"manifests,omitempty"`

	// Services are charts of others, one a service; this is a platform team's services repository then.
	// The configuration folders below the one named like a service are the targets of that service.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	Services []Service `json:"services,omitempty"`

	// Release is the name that a chart sees as its release. Default: the name of the Workload, or of the service.
	// +optional
	// +kubebuilder:validation:MaxLength=53
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Release string `json:"release,omitempty"`

	// Config says where the configuration of the environments is.
	// +optional
	Config Config `json:"config,omitempty"`

	// GitOps says where the rendered manifests go.
	// +optional
	GitOps GitOps `json:"gitops,omitempty"`

	// Images say which values of the chart get the image that was built.
	// Default: one, whose repository, tag and digest are the values image.repository, image.tag and image.digest.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Images []Image `json:"images,omitempty"`

	// Environments is the chain that a commit of the source goes through, in its order.
	// Default: the environments of the Workload's targets, dev first and the others in the order they are named,
	// each after the one before it; only the first merges by itself.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Environments []Environment `json:"environments,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=deliveries
// +kubebuilder:validation:XValidation:rule="!self.metadata.name.contains('.') && self.metadata.name.size() <= 63",message="the name is a DNS label: at most 63 characters, and no dots"

// Delivery says how a workload gets from a commit of its source to the manifests of its targets.
// It lies next to the Workload in the source repository.
type Delivery struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   DeliverySpec     `json:"spec,omitempty"`
	Status scheduler.Status `json:"status,omitempty"`
}

// +kubebuilder:object:root=true

// DeliveryList is a list of Delivery objects.
type DeliveryList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Delivery `json:"items"`
}

// +kubebuilder:validation:XValidation:rule="!(has(self.path) && (has(self.repository) || has(self.name) || has(self.version)))",message="a chart has a path in the source, or a repository, name and version"
// +kubebuilder:validation:XValidation:rule="has(self.path) || (has(self.repository) && has(self.version))",message="a chart has a path in the source, or a repository and a version"

// Chart is where a Helm chart is: a folder of the source repository, or a chart in a repository of charts.
type Chart struct {
	// Path is the folder of the chart in the source repository.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path,omitempty"`

	// Repository is the URL of a repository of charts: https://, or oci:// with the chart's name as last element.
	// +optional
	// +kubebuilder:validation:Pattern=`^(https?|oci)://`
	// +kubebuilder:validation:MaxLength=2048
	Repository string `json:"repository,omitempty"`

	// Name is the chart's name in the repository. Default with oci://: the last element of the URL.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// Version is a version, or a range of versions such as "~1.4", of which the newest is taken.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Version string `json:"version,omitempty"`
}

// Service is a platform service: a chart of somebody else, delivered like an application.
type Service struct {
	// Name is the name of the service, and of its configuration folder.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// Chart is the chart of the service.
	Chart Chart `json:"chart"`

	// Namespace is what the chart sees as its namespace. Default: empty, since reconcilers set the namespace.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// Config says where the configuration of the environments is, and how it is checked.
type Config struct {
	// Repo is the repository with the configuration. A relative path counts from the source repository.
	// Default, together with an empty branch: the repository "<name>-configs" next to the source if there is one,
	// else the source itself; <name> is the name of the source repository without "-src" or "-source".
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Repo string `json:"repo,omitempty"`

	// Branch is the branch of an environment; "{environment}" stands for its name.
	// Default: "{environment}" in a repository of its own, "{environment}-configs" in the source.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Branch string `json:"branch,omitempty"`

	// Path is the folder below which configuration is read. Default: the root of the repository.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path,omitempty"`

	// Targets say which configuration folder belongs to which deployment target.
	// Default: the folder whose last element is the name of the target.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1024
	Targets []ConfigTarget `json:"targets,omitempty"`

	// Schema is the path, in the source repository, of a JSON Schema that all values of the targets have to satisfy,
	// in addition to the chart's own values.schema.json. Default: none.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Schema string `json:"schema,omitempty"`
}

// ConfigTarget joins a deployment target with a configuration folder of another name.
type ConfigTarget struct {
	// Name is the name of the target in the Workload.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// Folder is the path of the folder, from the path of the configuration.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Folder string `json:"folder"`
}

// GitOps says where rendered manifests go.
type GitOps struct {
	// Repo is the repository. A relative path counts from the source repository.
	// Default: the repository that the Workload's targets name, else "<name>-gitops" next to the source;
	// <name> is that of config.repo.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Repo string `json:"repo,omitempty"`

	// Branch is the branch of an environment; "{environment}" stands for its name. Default: "{environment}".
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Branch string `json:"branch,omitempty"`

	// Path is the folder that the targets' folders are written to. Default: the root of the repository.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path,omitempty"`

	// DeletionBudget is how many targets one change may remove before a person has to agree:
	// a number, or a percentage of the environment's targets.
	// Whatever it says, 5 removals are always within it. Default: 20%.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^(100|[0-9]{1,2})%$`
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self >= 0",message="deletionBudget is a number from 0 or a percentage"
	DeletionBudget *intstr.IntOrString `json:"deletionBudget,omitempty"`
}

// Image says which values of the chart get an image that was built. What is left empty is not set.
type Image struct {
	// Name is what CI calls the image. The first one is meant where CI names none.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// Repository is the value that gets the image without tag and digest, as a dotted path: "image.repository".
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Repository string `json:"repository,omitempty"`

	// Tag is the value that gets the tag.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Tag string `json:"tag,omitempty"`

	// Digest is the value that gets the digest, when one is known.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Digest string `json:"digest,omitempty"`

	// Version is the value that gets the version of the workload, such as 1.4.0.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Version string `json:"version,omitempty"`
}

// Environment is one step of the chain.
type Environment struct {
	// Name is the name of the environment, as the Workload's targets have it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// AutoMerge merges the generated pull request when its checks pass. Default: false.
	// +optional
	AutoMerge bool `json:"autoMerge,omitempty"`

	// Promotion says when a commit of the source enters, and when it counts as arrived.
	// Default: after the environment before this one in the list, when all clusters run it.
	// +optional
	Promotion *scheduler.Promotion `json:"promotion,omitempty"`

	// Kubernetes is what charts see of the clusters of this environment.
	// +optional
	Kubernetes Kubernetes `json:"kubernetes,omitempty"`
}

// Kubernetes describes clusters to charts that render differently for different ones.
type Kubernetes struct {
	// Version is the version of Kubernetes, such as 1.33. Default: a recent one that is fixed in each release of Kalypso.
	// +optional
	// +kubebuilder:validation:Pattern=`^v?[0-9]+\.[0-9]+(\.[0-9]+)?([-+][-.+0-9A-Za-z]+)?$`
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version,omitempty"`

	// APIVersions are served besides Kubernetes' own: "monitoring.coreos.com/v1", or with a kind behind it.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=512
	APIVersions []string `json:"apiVersions,omitempty"`
}
