package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	scheduler "github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// +kubebuilder:validation:XValidation:rule="[has(self.chart), has(self.kustomization), has(self.manifests), has(self.services) && self.services.size() > 0].filter(x, x).size() <= 1",message="only one of chart, kustomization, manifests and services is rendered"

// DeliverySpec defines what is rendered, with which configuration, and where the manifests are written. At most one
// of chart, kustomization, manifests and services is set. Default: the chart in the folder helm.
type DeliverySpec struct {
	// Workload is the name of the Workload that is delivered. Default: the name of the Delivery.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Workload string `json:"workload,omitempty"`

	// Chart is the Helm chart to render. Default: the folder helm of the source repository.
	// +optional
	Chart *Chart `json:"chart,omitempty"`

	// Kustomization is the folder of a kustomization in the source repository. "{environment}" and "{target}" stand
	// for the environment and target being rendered, as in "overlays/{target}".
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Kustomization string `json:"kustomization,omitempty"`

	// Manifests is a folder with plain manifests in the source repository.
	// It may contain the placeholders of kustomization.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Manifests string `json:"manifests,omitempty"`

	// Services are third-party charts, one per service. They make this a platform team's services repository: the
	// configuration folders below the folder with a service's name are the targets of that service.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	Services []Service `json:"services,omitempty"`

	// Release is the release name that the chart sees. Default: the name of the Workload or service.
	// +optional
	// +kubebuilder:validation:MaxLength=53
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Release string `json:"release,omitempty"`

	// Secrets say where the values come from that charts would make up with random functions, which Kalypso does not render: the same
	// commits must give the same manifests. An entry with the name of a Secret comes before those without one. Default: a chart that
	// makes up values is refused.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	Secrets []ChartSecret `json:"secrets,omitempty"`

	// Config defines where the configuration of the environments is.
	// +optional
	Config Config `json:"config,omitempty"`

	// GitOps defines where the rendered manifests are written.
	// +optional
	GitOps GitOps `json:"gitops,omitempty"`

	// Images define which chart values receive the image that was built. Default: one image that sets
	// image.repository, image.tag and image.digest.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	Images []Image `json:"images,omitempty"`

	// Environments are the environments that a commit of the source is promoted through, in order. Default: the
	// environments of the Workload's targets, dev first and the others in order of appearance, each after the one
	// before it. Only the first one merges automatically.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Environments []Environment `json:"environments,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=deliveries,categories=kalypso
// +kubebuilder:printcolumn:name="Workload",type=string,JSONPath=`.spec.workload`
// +kubebuilder:printcolumn:name="Environments",type=string,JSONPath=`.spec.environments[*].name`
// +kubebuilder:printcolumn:name="Chart",type=string,JSONPath=`.spec.chart.path`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="!self.metadata.name.contains('.') && self.metadata.name.size() <= 63",message="the name is a DNS label: at most 63 characters, and no dots"

// Delivery defines how a workload gets from a commit of its source to the manifests of its targets. The file is next
// to the Workload in the source repository.
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

// Chart locates a Helm chart: a folder of the source repository, or a chart in a chart repository.
type Chart struct {
	// Path is the folder of the chart in the source repository.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path,omitempty"`

	// Repository is the URL of a chart repository: https://, or oci:// with the chart's name as last element.
	// +optional
	// +kubebuilder:validation:Pattern=`^(https?|oci)://`
	// +kubebuilder:validation:MaxLength=2048
	Repository string `json:"repository,omitempty"`

	// Name is the chart's name in the repository. Default for oci://: the last element of the URL.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// Version is a version, or a range such as "~1.4", which selects the newest matching version.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Version string `json:"version,omitempty"`

	// Namespace is what the chart sees as .Release.Namespace: the namespace that the objects get in the clusters. "{environment}" and
	// "{target}" stand for the environment and target being rendered. Default: empty, because reconcilers set the namespace of
	// objects; a chart that uses it elsewhere causes a warning.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Namespace string `json:"namespace,omitempty"`

	// Namespaces override the namespace for environments and targets. The last entry that matches is used.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1024
	Namespaces []ChartNamespace `json:"namespaces,omitempty"`
}

// ChartNamespace is the namespace that a chart sees in an environment, for a target, or both.
type ChartNamespace struct {
	// Environment is the name of an environment. Default: all.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Environment string `json:"environment,omitempty"`

	// Target is the name of a target. Default: all.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Target string `json:"target,omitempty"`

	// Namespace is the namespace. It can contain the placeholders of the chart's namespace.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Namespace string `json:"namespace"`
}

// Service is a platform service: a third-party chart that is delivered like an application.
type Service struct {
	// Name is the name of the service, and of its configuration folder.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// Chart is the chart of the service.
	Chart Chart `json:"chart"`

	// Namespace is the namespace that the chart sees. Default: that of the chart.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace,omitempty"`
}

// SecretSource is where the values of a Secret come from.
// +kubebuilder:validation:Enum=Existing;ExternalSecrets;CertManager;Job
type SecretSource string

// The sources of Secrets.
const (
	FromExisting        SecretSource = "Existing"
	FromExternalSecrets SecretSource = "ExternalSecrets"
	FromCertManager     SecretSource = "CertManager"
	FromJob             SecretSource = "Job"
)

// +kubebuilder:validation:XValidation:rule="self.from == 'Existing' ? has(self.value) && has(self.secret) : !has(self.value) && !has(self.secret)",message="Existing needs a value and a secret, and the other sources have none"
// +kubebuilder:validation:XValidation:rule="self.from == 'Job' ? has(self.image) : !has(self.image) && !has(self.rotation)",message="Job needs an image, and the other sources have neither image nor rotation"

// ChartSecret says where the values of a Secret come from that a chart would make up.
type ChartSecret struct {
	// Name is the name of the Secret that the chart makes. Default: all Secrets with values that the source can make.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// From is Existing for a Secret that is in the clusters; ExternalSecrets for generators of the External Secrets Operator;
	// CertManager for certificates of cert-manager; or Job for a Job among the manifests, which creates the Secret once. No value is
	// ever in Git.
	From SecretSource `json:"from"`

	// Value is the chart's value that receives the name of an existing Secret, as a dotted path: "auth.existingSecret".
	// "kalypso app secrets" finds it.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Value string `json:"value,omitempty"`

	// Secret is the name of the existing Secret.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Secret string `json:"secret,omitempty"`

	// Image is the image of kalypso-agent that the Job runs. One Job makes all Secrets of a target, so all entries have the same image.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Image string `json:"image,omitempty"`

	// Rotation changes when the Job makes the values of the Secret again. "kalypso app secrets rotate" increases it. Default: 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Rotation int `json:"rotation,omitempty"`
}

// Config defines where the configuration of the environments is, and how it is validated.
type Config struct {
	// Repo is the repository with the configuration. A relative path is resolved against the source repository.
	// Default, if branch is empty, too: the repository "<name>-configs" next to the source if it exists, else the
	// source itself. <name> is the name of the source repository without "-src" or "-source".
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Repo string `json:"repo,omitempty"`

	// Branch is an environment's branch; "{environment}" stands for its name. Default: "{environment}" in a separate
	// repository, "{environment}-configs" in the source.
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Branch string `json:"branch,omitempty"`

	// Path is the folder with the configuration. Default: the root of the repository.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path,omitempty"`

	// Targets map deployment targets to configuration folders. Default: the folder whose last path element is the
	// name of the target.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=1024
	Targets []ConfigTarget `json:"targets,omitempty"`

	// Schema is the path, in the source repository, of a JSON Schema that the values of all targets must satisfy, in
	// addition to the chart's own values.schema.json. Default: none.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Schema string `json:"schema,omitempty"`

	// Levels name the folders of the configuration, from the top: country, region, site, line. Expressions read the name of a target's
	// folder as level.NAME. Default: folders have no names.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Levels []ConfigLevel `json:"levels,omitempty"`
}

// ConfigLevel is a level of the hierarchy of folders.
type ConfigLevel struct {
	// Name is the name of the level, as expressions read it.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z_][a-zA-Z0-9_]*$`
	Name string `json:"name"`

	// Template is the path, in the source repository, of a file with expressions. They apply to every folder of the level, like a file
	// values.cel.yaml in each; the folder's own files take precedence. Default: none.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Template string `json:"template,omitempty"`
}

// ConfigTarget maps a deployment target to a configuration folder with a different name.
type ConfigTarget struct {
	// Name is the name of the target in the Workload.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// Folder is the path of the folder, relative to the path of the configuration.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Folder string `json:"folder"`
}

// GitOps defines where rendered manifests are written.
type GitOps struct {
	// Repo is the GitOps repository. A relative path is resolved against the source repository. Default: the
	// repository that the Workload's targets name, else "<name>-gitops"
	// next to the source; <name> as for config.repo.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Repo string `json:"repo,omitempty"`

	// Branch is an environment's branch; "{environment}" stands for its name. Default: "{environment}".
	// +optional
	// +kubebuilder:validation:MaxLength=255
	Branch string `json:"branch,omitempty"`

	// Path is the folder that contains the targets' folders. Default: the root of the repository.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Path string `json:"path,omitempty"`

	// DeletionBudget is how many targets one pull request may remove without approval: a number, or a percentage of
	// the environment's targets. A target that loses all its objects counts as removed. 0: every removal needs approval. Default: 20%, and at least 5.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:Pattern=`^(100|[0-9]{1,2})%$`
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self >= 0",message="deletionBudget is a number from 0 or a percentage"
	DeletionBudget *intstr.IntOrString `json:"deletionBudget,omitempty"`
}

// Image defines which chart values receive an image that was built. Values whose field is empty are not set.
type Image struct {
	// Name is what CI calls the image. If CI names no image, the first one is used.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// Repository is the value that receives the image without tag and digest, as a dotted path: "image.repository".
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Repository string `json:"repository,omitempty"`

	// Tag is the value that receives the tag.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Tag string `json:"tag,omitempty"`

	// Digest is the value that receives the digest, if it is known.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Digest string `json:"digest,omitempty"`

	// Version is the value that receives the workload's version, such as 1.4.0.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Version string `json:"version,omitempty"`
}

// Environment is one step of the promotion order.
type Environment struct {
	// Name is the name of the environment in the Workload's targets.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// AutoMerge merges the generated pull request when its checks pass. Default: false.
	// +optional
	AutoMerge bool `json:"autoMerge,omitempty"`

	// Promotion defines when a commit of the source is promoted to this environment, and when it counts as deployed.
	// Default: after the previous environment in the list, once all its clusters run the commit and are healthy.
	// +optional
	Promotion *scheduler.Promotion `json:"promotion,omitempty"`

	// Kubernetes describes this environment's clusters to charts.
	// +optional
	Kubernetes Kubernetes `json:"kubernetes,omitempty"`
}

// Kubernetes describes clusters to charts whose output depends on the version or API of the cluster.
type Kubernetes struct {
	// Version is the Kubernetes version, such as 1.33. Default: a recent version, fixed for each Kalypso release.
	// +optional
	// +kubebuilder:validation:Pattern=`^v?[0-9]+\.[0-9]+(\.[0-9]+)?([-+][-.+0-9A-Za-z]+)?$`
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version,omitempty"`

	// APIVersions are served in addition to those of Kubernetes:
	// "monitoring.coreos.com/v1", optionally followed by a kind.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=512
	APIVersions []string `json:"apiVersions,omitempty"`
}
