package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// SchedulingPolicySpec assigns the targets it selects to the cluster types it selects.
type SchedulingPolicySpec struct {
	// DeploymentTargetSelector selects deployment targets. Empty selects every target.
	// +optional
	DeploymentTargetSelector DeploymentTargetSelector `json:"deploymentTargetSelector,omitempty"`

	// ClusterTypeSelector selects cluster types. Empty selects every cluster type.
	// +optional
	ClusterTypeSelector ClusterTypeSelector `json:"clusterTypeSelector,omitempty"`

	// Mode is what the policy does with the pairs that it selects: "include", the default, assigns them; "exclude" makes
	// sure that no policy assigns them; "exclusive" assigns them, and no policy of another mode, and none of this mode with
	// a lower priority, assigns its targets; "onDemand" assigns those that another assignment depends on.
	// +optional
	Mode PolicyMode `json:"mode,omitempty"`

	// Priority orders policies where capacity is short, and among those of mode exclusive: higher is first. Default: 0.
	// +optional
	// +kubebuilder:validation:Minimum=-1000000
	// +kubebuilder:validation:Maximum=1000000
	Priority int32 `json:"priority,omitempty"`

	// Preemption is what happens if a cluster type has no capacity left: "Never", the default, or "LowerPriority", which
	// removes assignments of policies with a lower priority from it, the lowest first.
	// +optional
	Preemption Preemption `json:"preemption,omitempty"`

	// Filters are conditions that a pair must meet, in addition to the selectors. All must hold.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	Filters []PolicyFilter `json:"filters,omitempty"`

	// Tolerations are the taints of cluster types that the policy accepts.
	// +optional
	// +kubebuilder:validation:MaxItems=64
	Tolerations []Toleration `json:"tolerations,omitempty"`

	// RequiredFeatures are features that a cluster type must have.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=64
	RequiredFeatures []RequiredFeature `json:"requiredFeatures,omitempty"`

	// MaxClusterTypes is the number of cluster types that a target is assigned to: those with the highest score, but what
	// is published stays, see moveThreshold. Default: all.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxClusterTypes *int32 `json:"maxClusterTypes,omitempty"`

	// Preferences give points to cluster types. The score of a pair is their sum. They need maxClusterTypes.
	// +optional
	// +kubebuilder:validation:MaxItems=32
	Preferences []Preference `json:"preferences,omitempty"`

	// Spread distributes the cluster types of a target over the values of labels. It needs maxClusterTypes.
	// +optional
	// +listType=map
	// +listMapKey=key
	// +kubebuilder:validation:MaxItems=8
	Spread []Spread `json:"spread,omitempty"`

	// MoveThreshold is how many points more another cluster type must have, at least, for a published assignment to move there.
	// Default: an assignment never moves for points. It needs preferences.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MoveThreshold *int32 `json:"moveThreshold,omitempty"`

	// SchedulerName names the scheduler that chooses among the pairs that the policy selects. Default: "default", which is
	// part of Kalypso. The operator of the server configures others.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	SchedulerName string `json:"schedulerName,omitempty"`

	// Extenders are external filters and scores that take part in the decisions of the default scheduler.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=8
	Extenders []Extender `json:"extenders,omitempty"`
}

// PolicyMode is what a policy does with the pairs that it selects.
// +kubebuilder:validation:Enum=include;exclude;exclusive;onDemand
type PolicyMode string

// Modes of policies.
const (
	PolicyInclude   PolicyMode = "include"
	PolicyExclude   PolicyMode = "exclude"
	PolicyExclusive PolicyMode = "exclusive"
	PolicyOnDemand  PolicyMode = "onDemand"
)

// Preemption is whether a policy may remove assignments of others where capacity is short.
// +kubebuilder:validation:Enum=Never;LowerPriority
type Preemption string

// Values of Preemption.
const (
	PreemptNever         Preemption = "Never"
	PreemptLowerPriority Preemption = "LowerPriority"
)

// PolicyFilter is a condition for a pair of a target and a cluster type.
type PolicyFilter struct {
	// Expression is a CEL expression that is true for the pairs that the filter lets through. Its variables are target and
	// clusterType: clusterType.labels.region in target.labels.regions.split(','). A label that does not exist makes it false.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Expression string `json:"expression"`

	// Message explains to readers of an explanation what the filter requires. Default: the expression.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	Message string `json:"message,omitempty"`
}

// Toleration accepts the taints that it matches, as in Kubernetes.
type Toleration struct {
	// Key is the key of the taint. Empty, with the operator Exists, matches every taint.
	// +optional
	// +kubebuilder:validation:MaxLength=316
	Key string `json:"key,omitempty"`

	// Operator is "Equal", the default, or "Exists", which matches every value.
	// +optional
	Operator TolerationOperator `json:"operator,omitempty"`

	// Value is the value of the taint.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Value string `json:"value,omitempty"`

	// Effect is the effect of the taint. Empty matches every effect.
	// +optional
	Effect TaintEffect `json:"effect,omitempty"`
}

// TolerationOperator is how a toleration compares values.
// +kubebuilder:validation:Enum=Equal;Exists
type TolerationOperator string

// Operators of tolerations.
const (
	TolerationEqual  TolerationOperator = "Equal"
	TolerationExists TolerationOperator = "Exists"
)

// RequiredFeature is a feature that a cluster type must have.
type RequiredFeature struct {
	// Name is the name of the feature.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	Name string `json:"name"`

	// Version is a constraint such as ">=1.29, <2" for the feature's version. Default: any, also none.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Version string `json:"version,omitempty"`
}

// Preference gives points to cluster types. It has a selector or an expression.
// +kubebuilder:validation:XValidation:rule="has(self.clusterTypeSelector) != has(self.expression)",message="a preference has either clusterTypeSelector or expression"
type Preference struct {
	// Weight is the number of points that a cluster type gets at most. A negative weight takes them away.
	// +kubebuilder:validation:Minimum=-100
	// +kubebuilder:validation:Maximum=100
	Weight int32 `json:"weight"`

	// ClusterTypeSelector gives all points to the cluster types that it selects.
	// +optional
	ClusterTypeSelector *metav1.LabelSelector `json:"clusterTypeSelector,omitempty"`

	// Expression is a CEL expression with the variables target and clusterType. True gives all points; a number from 0 to
	// 100 gives that percentage of them; smaller and larger numbers count as 0 and 100.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Expression string `json:"expression,omitempty"`
}

// Spread distributes the cluster types of a target over the values of a label.
type Spread struct {
	// Key is a label of cluster types, such as region. A cluster type without it is not chosen.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=316
	Key string `json:"key"`

	// MaxSkew is by how many cluster types a value may have more than the value with the fewest. Default: 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	MaxSkew int32 `json:"maxSkew,omitempty"`

	// WhenUnsatisfiable is what happens if no cluster type keeps the skew: "DoNotSchedule", the default, chooses none;
	// "ScheduleAnyway" chooses one of a value with the fewest.
	// +optional
	WhenUnsatisfiable SpreadAction `json:"whenUnsatisfiable,omitempty"`
}

// SpreadAction is what happens if no cluster type keeps the skew.
// +kubebuilder:validation:Enum=DoNotSchedule;ScheduleAnyway
type SpreadAction string

// Values of SpreadAction.
const (
	DoNotSchedule  SpreadAction = "DoNotSchedule"
	ScheduleAnyway SpreadAction = "ScheduleAnyway"
)

// Extender is an external filter or score, which the operator of the server configures by its name.
type Extender struct {
	// Name is the name of the extender.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// Weight is the number of points that a score of 100 of the extender gives. Default: 0, it only filters.
	// +optional
	// +kubebuilder:validation:Minimum=-100
	// +kubebuilder:validation:Maximum=100
	Weight int32 `json:"weight,omitempty"`
}

// DeploymentTargetSelector selects deployment targets by workspace and labels.
type DeploymentTargetSelector struct {
	// Workspace is the workspace whose targets are selected. Empty means every workspace.
	// +optional
	Workspace string `json:"workspace,omitempty"`

	// LabelSelector works as in Kubernetes; an empty one matches everything.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
}

// ClusterTypeSelector selects cluster types by labels.
type ClusterTypeSelector struct {
	// LabelSelector works as in Kubernetes; an empty one matches everything.
	// +optional
	LabelSelector *metav1.LabelSelector `json:"labelSelector,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=schedulingpolicies,categories=kalypso
// +kubebuilder:printcolumn:name="Mode",type=string,JSONPath=`.spec.mode`
// +kubebuilder:printcolumn:name="Priority",type=integer,JSONPath=`.spec.priority`
// +kubebuilder:printcolumn:name="Scheduler",type=string,JSONPath=`.spec.schedulerName`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// SchedulingPolicy schedules deployment targets onto cluster types of its environment.
// A target is assigned to a cluster type when at least one policy selects both, and none excludes them.
type SchedulingPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   SchedulingPolicySpec `json:"spec,omitempty"`
	Status Status               `json:"status,omitempty"`
}
