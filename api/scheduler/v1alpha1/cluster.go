package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// ClusterSpec says what a cluster is, for platform configuration with values of its own.
type ClusterSpec struct {
	// ClusterType names the ClusterType of the cluster. What runs on the cluster is what is assigned to its type.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	ClusterType string `json:"clusterType"`

	// Labels select platform configuration for the cluster, in addition to the labels of its type, which they override.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="!self.exists(key, key in ['cluster', 'cluster-type', 'deployment-target', 'workload', 'ring'])",message="cluster, cluster-type, deployment-target, workload and ring match names"
	Labels map[string]string `json:"labels,omitempty"`

	// Ring is the ring of the cluster, such as canary. Platform configuration matches it as the label "ring".
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Ring string `json:"ring,omitempty"`

	// Windows are the times during which a rollout in rings may change the cluster. The agent of a cluster without a reconciler keeps them in every
	// environment: it downloads and verifies what is new, and applies it in the next window. Default: any time at which its ring or branch is changed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Windows []Window `json:"windows,omitempty"`

	// Hold asks rollouts in rings, and the agent of a cluster without a reconciler, to leave the cluster as it is for now.
	// +optional
	Hold *Hold `json:"hold,omitempty"`
}

// Hold keeps rollouts in rings away from a cluster.
type Hold struct {
	// Reason is shown where a rollout waits.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	Reason string `json:"reason"`

	// Until is when the hold ends, exclusive. Default: when it is removed.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=kalypso
// +kubebuilder:printcolumn:name="Cluster Type",type=string,JSONPath=`.spec.clusterType`
// +kubebuilder:printcolumn:name="Ring",type=string,JSONPath=`.spec.ring`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="!self.metadata.name.contains('.') && self.metadata.name.size() <= 63",message="the name is a DNS label: at most 63 characters, and no dots"

// Cluster is one cluster, by the name with which it is registered. It has a folder of its own if platform configuration matches its
// name or labels, and shares the folder of its type otherwise. Its labels are in the spec: those in metadata are not allowed.
type Cluster struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   ClusterSpec `json:"spec"`
	Status Status      `json:"status,omitempty"`
}
