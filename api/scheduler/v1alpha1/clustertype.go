package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterTypeSpec defines how clusters of a type receive what is scheduled onto them.
type ClusterTypeSpec struct {
	// Extends names another cluster type of the environment. Whatever this one
	// does not set, including labels, is inherited from it.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Extends string `json:"extends,omitempty"`

	// Reconciler names the Template of type reconciler that writes the reconciler's resources,
	// such as flux, argocd, fleet or zarf.
	// +optional
	Reconciler string `json:"reconciler,omitempty"`

	// NamespaceService names the Template of type namespace that writes the namespace of an assignment.
	// +optional
	NamespaceService string `json:"namespaceService,omitempty"`

	// ConfigType names the Template of type config that writes the platform configuration.
	// Empty means "configmap"; "none" means that no configuration is written.
	// +optional
	ConfigType string `json:"configType,omitempty"`

	// Pull is the reconciler by which the clusters pull their folder, in an environment with rings: flux, argocd, fleet or direct; "none" if
	// the objects for that are written by hand. Default: the reconciler, if it is one of these. The label git-secret of a cluster or
	// of the type names the Secret with the credential for the GitOps repository.
	// +optional
	// +kubebuilder:validation:Enum=flux;argocd;fleet;direct;none
	Pull string `json:"pull,omitempty"`

	// Taints keep assignments away, except those of policies that tolerate them. They are inherited as a whole.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Taints []Taint `json:"taints,omitempty"`

	// Features are what the clusters have: the name of each feature, and its version, which can be empty. Inherited
	// features are kept, and overridden by name.
	// +optional
	// +kubebuilder:validation:MaxProperties=256
	Features map[string]string `json:"features,omitempty"`

	// Capacity is how much of each resource the assignments together may request on a cluster: cpu, memory, or any other
	// name. The resource "assignments" counts assignments. A resource that is not listed is not limited. Inherited resources
	// are kept, and overridden by name.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	Capacity map[string]resource.Quantity `json:"capacity,omitempty"`
}

// Taint keeps assignments away from a cluster type, as in Kubernetes.
type Taint struct {
	// Key is a name such as maintenance or example.com/gpu.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	Key string `json:"key"`

	// Value is compared by tolerations.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Value string `json:"value,omitempty"`

	// Effect is "NoSchedule": nothing new is assigned, what is published stays; "PreferNoSchedule": other cluster types are
	// chosen first; or "NoExecute": what is published is removed, too.
	Effect TaintEffect `json:"effect"`
}

// TaintEffect is what a taint does.
// +kubebuilder:validation:Enum=NoSchedule;PreferNoSchedule;NoExecute
type TaintEffect string

// Effects of taints.
const (
	NoSchedule       TaintEffect = "NoSchedule"
	PreferNoSchedule TaintEffect = "PreferNoSchedule"
	NoExecute        TaintEffect = "NoExecute"
)

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=kalypso
// +kubebuilder:printcolumn:name="Reconciler",type=string,JSONPath=`.spec.reconciler`
// +kubebuilder:printcolumn:name="Namespace",type=string,JSONPath=`.spec.namespaceService`
// +kubebuilder:printcolumn:name="Config",type=string,JSONPath=`.spec.configType`
// +kubebuilder:printcolumn:name="Extends",type=string,JSONPath=`.spec.extends`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="!self.metadata.name.contains('.') && self.metadata.name.size() <= 63",message="the name is a DNS label: at most 63 characters, and no dots"

// ClusterType is a group of clusters with the same configuration. Policies select it by its labels.
type ClusterType struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ClusterTypeSpec `json:"spec,omitempty"`
	Status Status          `json:"status,omitempty"`
}
