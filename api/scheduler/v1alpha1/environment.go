package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// EnvironmentSpec defines where an environment is described and how commits are promoted to it.
type EnvironmentSpec struct {
	// ControlPlane is the repository and branch that describe this environment.
	ControlPlane Repository `json:"controlPlane"`

	// Promotion defines when a commit of main is promoted to this environment. If it is missing, the order of
	// environments must be given explicitly; Kalypso does not guess it.
	// +optional
	Promotion *Promotion `json:"promotion,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=kalypso
// +kubebuilder:printcolumn:name="After",type=string,JSONPath=`.spec.promotion.after[*]`
// +kubebuilder:printcolumn:name="Branch",type=string,JSONPath=`.spec.controlPlane.branch`
// +kubebuilder:printcolumn:name="Repository",type=string,JSONPath=`.spec.controlPlane.repo`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="!self.metadata.name.contains('.') && self.metadata.name.size() <= 63",message="the name is a DNS label: at most 63 characters, and no dots"

// Environment is one step on the way to production, such as dev, stage or prod. Environments are read from the head
// of the control plane's main branch.
type Environment struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   EnvironmentSpec `json:"spec,omitempty"`
	Status Status          `json:"status,omitempty"`
}

// +kubebuilder:validation:Enum=automatic;pullRequest

// Approval defines how an environment's BaseRepo moves to the next commit.
type Approval string

const (
	// ApprovalAutomatic commits the new pointer to the environment branch.
	ApprovalAutomatic Approval = "automatic"
	// ApprovalPullRequest proposes the new pointer as a pull request.
	ApprovalPullRequest Approval = "pullRequest"
)

// +kubebuilder:validation:Enum=stop;rollback

// FailureAction defines what happens when a promoted commit fails in an environment.
type FailureAction string

const (
	// FailureStop changes nothing and waits for a user.
	FailureStop FailureAction = "stop"
	// FailureRollback proposes the last state that all clusters ran.
	FailureRollback FailureAction = "rollback"
)

// +kubebuilder:validation:Enum=replaces;waits

// NewerCommits defines what newer commits do while the present one waits for users or others.
type NewerCommits string

const (
	// NewerReplaces means that the newest commit that is ready takes its place, so that a fix does not wait for users.
	NewerReplaces NewerCommits = "replaces"
	// NewerWaits means that newer commits wait until it is decided.
	NewerWaits NewerCommits = "waits"
)

// Promotion defines when a commit is promoted to an environment and when it counts as deployed there.
type Promotion struct {
	// After names the environments that must run the commit first. Empty for a first environment.
	// +optional
	// +listType=set
	After []string `json:"after,omitempty"`

	// Approval defines how the pointer to the promoted commit moves. Default: automatic.
	// +optional
	// +kubebuilder:default=automatic
	Approval Approval `json:"approval,omitempty"`

	// Soak is how long the previous environments must have run the commit
	// without failure, such as 90m or 24h. Default: none.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	Soak *metav1.Duration `json:"soak,omitempty"`

	// Windows are the times during which a commit can be promoted to this environment. Default: always.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Windows []Window `json:"windows,omitempty"`

	// Freezes are the times during which nothing is promoted, even within a window.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	Freezes []Freeze `json:"freezes,omitempty"`

	// Gate defines when enough clusters of this environment run the commit.
	// +optional
	Gate *Gate `json:"gate,omitempty"`

	// Verify lists checks that must pass after the gate, in order.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	Verify []Verification `json:"verify,omitempty"`

	// OnFailure defines what happens after a failed gate or verification. Default: stop.
	// +optional
	// +kubebuilder:default=stop
	OnFailure FailureAction `json:"onFailure,omitempty"`

	// Newer defines what a newer commit does while the present one only waits for approvals of users, or for statuses of others. While a
	// commit is applied or measured, newer ones wait in any case. Default: replaces.
	// +optional
	// +kubebuilder:default=replaces
	Newer NewerCommits `json:"newer,omitempty"`

	// RollbackWindow is how long after a commit was last known to run well a rollback to it does not wait for the soaks of rings.
	// Default: 72h.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	RollbackWindow *metav1.Duration `json:"rollbackWindow,omitempty"`

	// Rings divide the clusters of the environment. Each has a branch of its own in the GitOps repository, which is moved to a
	// merged commit when the rings before it run that commit. Default: all clusters follow the environment's branch.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Rings []Ring `json:"rings,omitempty"`
}

// Window is a recurring time span.
type Window struct {
	// Cron is the start, as five cron fields: minute, hour, day of month, month, day of week.
	// +kubebuilder:validation:Pattern=`^\S+( +\S+){4}$`
	Cron string `json:"cron"`
	// Duration is how long the window stays open.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	Duration metav1.Duration `json:"duration"`
	// TimeZone is an IANA name such as Europe/Berlin. Default: UTC.
	// +optional
	TimeZone string `json:"timeZone,omitempty"`
}

// +kubebuilder:validation:XValidation:rule="self.from < self.to",message="a freeze ends after it begins"

// Freeze is a time span during which nothing is promoted.
type Freeze struct {
	// From is the start, inclusive.
	From metav1.Time `json:"from"`
	// To is the end, exclusive.
	To metav1.Time `json:"to"`
	// Reason is shown for promotions that wait.
	// +optional
	Reason string `json:"reason,omitempty"`
}

// +kubebuilder:validation:Enum=block;ignore;wait

// OfflinePolicy defines how the gate counts a cluster that has stopped reporting.
type OfflinePolicy string

const (
	// OfflineBlock fails the gate.
	OfflineBlock OfflinePolicy = "block"
	// OfflineIgnore leaves the cluster out of the count.
	OfflineIgnore OfflinePolicy = "ignore"
	// OfflineWait waits for the cluster until the gate times out.
	OfflineWait OfflinePolicy = "wait"
)

// Gate defines when enough clusters run a commit.
type Gate struct {
	// State is what the expected reconcilers must report of the commit. Default: applied for an Environment of the platform, and
	// healthy for an environment of an application.
	// +optional
	State GateState `json:"state,omitempty"`

	// Require is how many of the expected reconcilers must run the commit: a number from 1 or a percentage from 1% to
	// 100%. Default: 100%.
	// +optional
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=4
	// +kubebuilder:validation:Pattern=`^(100|[1-9][0-9]?)%$`
	// +kubebuilder:validation:XValidation:rule="type(self) != int || self > 0",message="require is a number from 1 or a percentage"
	Require *intstr.IntOrString `json:"require,omitempty"`

	// OfflineAfter is the time without a report after which a cluster counts as offline. Default: 15m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	OfflineAfter *metav1.Duration `json:"offlineAfter,omitempty"`

	// Offline defines how offline clusters count. Default: wait.
	// +optional
	// +kubebuilder:default=wait
	Offline OfflinePolicy `json:"offline,omitempty"`

	// Timeout is how long the gate waits before it fails. Default: no limit.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// AllowNone lets the gate pass if no cluster is expected to run the commit. Default: false.
	// +optional
	AllowNone bool `json:"allowNone,omitempty"`
}

// GateState is what a gate requires of a reconciler.
// +kubebuilder:validation:Enum=applied;healthy
type GateState string

const (
	// GateApplied requires that the manifests of the commit are applied. Nothing is said about pods.
	GateApplied GateState = "applied"
	// GateHealthy also requires that the applied objects are healthy, by the reconciler's own checks. A reconciler that does not
	// report health does not pass.
	GateHealthy GateState = "healthy"
)
