package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +kubebuilder:validation:Enum=off;inform;warn;refuse

// CheckLevel says what a finding of a rule means.
type CheckLevel string

const (
	// CheckOff does not ask the rule.
	CheckOff CheckLevel = "off"
	// CheckInform tells people.
	CheckInform CheckLevel = "inform"
	// CheckWarn tells people that they should do something.
	CheckWarn CheckLevel = "warn"
	// CheckRefuse keeps a pull request from being ready.
	CheckRefuse CheckLevel = "refuse"
)

// CheckPolicySpec says which rules hold for manifests before they are published.
type CheckPolicySpec struct {
	// Levels are the levels of rules, by their names: those that come with Kalypso, and those of policies.
	// +optional
	Levels map[string]CheckLevel `json:"levels,omitempty"`

	// Rules are the teams' own.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	Rules []CheckRule `json:"rules,omitempty"`
}

// CheckRule is a rule on one object each.
type CheckRule struct {
	// Name is the name of the rule.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// Kinds are those of the objects it is about, such as Deployment. Default: all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Kinds []string `json:"kinds,omitempty"`

	// Expression is true of objects as they should be, in CEL: object is the manifest, environment the name of the environment.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Expression string `json:"expression"`

	// Message says what is wrong with other objects. Default: that the expression is not true.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// Hint says what to do about it.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Hint string `json:"hint,omitempty"`

	// Level is that of the findings. Default: warn.
	// +optional
	// +kubebuilder:default=warn
	Level CheckLevel `json:"level,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=checkpolicies

// CheckPolicy says which rules hold for manifests before they are published, on main for all environments,
// on an environment's branch for that environment. Where both speak of one rule, the environment's branch counts.
type CheckPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   CheckPolicySpec `json:"spec,omitempty"`
	Status Status          `json:"status,omitempty"`
}
