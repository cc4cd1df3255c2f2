package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// +kubebuilder:validation:XValidation:rule="[has(self.selector), has(self.percent), has(self.clusters)].filter(set, set).size() <= 1",message="a ring has a selector, a percentage or a list of clusters"

// Ring is a part of an environment's clusters. A merged commit is rolled out ring by ring, in the order of the list.
// A cluster is in the ring that its Cluster object names, else in the first ring that selects it. The last ring selects all
// others.
type Ring struct {
	// Name is the name of the ring, such as canary. The clusters of the ring follow the branch <environment>-ring-<name>.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=40
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// Selector selects clusters by the labels of their Cluster objects, which include those of their types.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`

	// Percent is the percentage of the environment's clusters that have a commit after this ring: clusters of earlier rings
	// count. Which clusters these are depends on a hash of their names, so that 5 is contained in 25, and a cluster that joins or
	// leaves moves no other cluster.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	Percent int `json:"percent,omitempty"`

	// Clusters lists clusters by name.
	// +optional
	// +listType=set
	Clusters []string `json:"clusters,omitempty"`

	// Soak is how long this ring must have run a commit without failure before the commit enters the next ring, such as 90m or
	// 24h. Default: none. The last ring has none.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	Soak *metav1.Duration `json:"soak,omitempty"`

	// Approval defines whether a commit enters the ring by itself. Default: automatic.
	// +optional
	// +kubebuilder:default=automatic
	Approval RingApproval `json:"approval,omitempty"`

	// Windows are the times during which a commit can enter the ring. Default: those of the environment.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Windows []Window `json:"windows,omitempty"`

	// Gate defines when enough clusters of the ring run the commit. Default: the gate of the environment.
	// +optional
	Gate *Gate `json:"gate,omitempty"`

	// Verify lists checks that must pass after the gate, in order.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Verify []Verification `json:"verify,omitempty"`

	// MaxUnavailable is how many clusters of the ring change at the same time, as a number or a percentage of the ring. They
	// change in batches of at most this size. Default: all.
	// +optional
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`

	// MaxFailures is how many clusters may fail before the rollout stops, as a number or a percentage of those that change at the
	// same time. Default: 0.
	// +optional
	MaxFailures *intstr.IntOrString `json:"maxFailures,omitempty"`

	// MaxDelay is how long a rollout goes on without a cluster that waits for its windows, is on hold, or whose reconciler is
	// suspended. Later rings wait for the cluster afterwards. Default: 24h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	MaxDelay *metav1.Duration `json:"maxDelay,omitempty"`

	// OnFailure defines what happens when a commit fails in the ring. Default: stop.
	// With rollback, this ring and all earlier ones go back to the last commit that they ran without failure.
	// +optional
	// +kubebuilder:default=stop
	OnFailure FailureAction `json:"onFailure,omitempty"`
}

// +kubebuilder:validation:Enum=automatic;manual

// RingApproval defines how a commit enters a ring.
type RingApproval string

const (
	// RingAutomatic lets commits enter as soon as the other rules allow it.
	RingAutomatic RingApproval = "automatic"
	// RingManual lets a commit enter only when a user requests it.
	RingManual RingApproval = "manual"
)
