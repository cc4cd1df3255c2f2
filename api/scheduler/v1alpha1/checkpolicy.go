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
	// Levels are the levels of rules, by their names: those that come with Kalypso, and rules and scans of policies.
	// +optional
	Levels map[string]CheckLevel `json:"levels,omitempty"`

	// Rules are the teams' own.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	Rules []CheckRule `json:"rules,omitempty"`

	// Scans are programs that look at each image or chart before a change that brings it is ready.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Scans []CheckScan `json:"scans,omitempty"`
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

// +kubebuilder:validation:Enum=images;charts

// ScanSubject says what a scan looks at.
type ScanSubject string

const (
	// ScanImages are the container images that manifests name.
	ScanImages ScanSubject = "images"
	// ScanCharts are the Helm charts that manifests are rendered from.
	ScanCharts ScanSubject = "charts"
)

// CheckScan is a program that is run for each digest of an image or chart: once, unless it says otherwise.
type CheckScan struct {
	// Name is the name of the scan; levels speak of it as of a rule.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// What says what it looks at.
	What ScanSubject `json:"what"`

	// Command is what is run.
	Command ScanCommand `json:"command"`

	// RescanAfter is how old what it found may be for a change that brings the digest; then it is run again. At least 1h.
	// Default: what it found counts for ever.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	RescanAfter *metav1.Duration `json:"rescanAfter,omitempty"`

	// Level is that of what it finds. Default: refuse.
	// +optional
	// +kubebuilder:default=refuse
	Level CheckLevel `json:"level,omitempty"`
}

// Placeholders in the arguments of a scan.
const (
	// ScanReference stands for the image by its digest, registry.example/shop@sha256:…, or for name and version of the chart.
	ScanReference = "{reference}"
	// ScanDigest stands for the digest.
	ScanDigest = "{digest}"
	// ScanPath stands for a folder with the files of the chart.
	ScanPath = "{path}"
)

// ScanCommand is the program of a scan.
type ScanCommand struct {
	// Args are the program and its arguments; no shell is involved. In arguments, {reference} stands for the image by its digest or the
	// chart by its version, {digest} for its digest, and {path} for a folder with the files of the chart.
	// The program is named by its whole path, or by a name that the server lists one program of.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=4096
	// +listType=atomic
	Args []string `json:"args"`

	// Timeout of one run, at most 1h. Default: 10m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// ExitCodes are those by which the program says that it found something. Default: 1. With 0 it found nothing; with any other
	// it did not come to an end, and is run again.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=255
	ExitCodes []int32 `json:"exitCodes,omitempty"`
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
