package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +kubebuilder:validation:Enum=off;inform;warn;refuse

// CheckLevel is the severity of a rule's findings.
type CheckLevel string

const (
	// CheckOff disables the rule.
	CheckOff CheckLevel = "off"
	// CheckInform reports findings as information.
	CheckInform CheckLevel = "inform"
	// CheckWarn reports findings as warnings.
	CheckWarn CheckLevel = "warn"
	// CheckRefuse blocks the pull request.
	CheckRefuse CheckLevel = "refuse"
)

// CheckPolicySpec defines which rules are checked on manifests before they are published.
type CheckPolicySpec struct {
	// Levels set the level of rules and scans by name, both those of Kalypso and those of policies.
	// +optional
	Levels map[string]CheckLevel `json:"levels,omitempty"`

	// Rules are additional rules of your own.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=256
	Rules []CheckRule `json:"rules,omitempty"`

	// Scans are programs that check images and charts. A pull request is
	// ready once they have checked the ones it adds.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Scans []CheckScan `json:"scans,omitempty"`

	// Exceptions are findings that are accepted until a date, such as a text that only looks like a credential.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1024
	Exceptions []CheckException `json:"exceptions,omitempty"`
}

// +kubebuilder:validation:XValidation:rule="has(self.file) || has(self.object)",message="an exception names a file or an object"

// CheckException accepts findings of a rule until a date. They refuse nothing, and are counted.
type CheckException struct {
	// Rule is the name of the rule.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Rule string `json:"rule"`

	// File is the path of the file on the GitOps branch. "*" stands for any text without "/".
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	File string `json:"file,omitempty"`

	// Object is the object, as findings name it: "Deployment shop/web". "*" stands for any text without "/".
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Object string `json:"object,omitempty"`

	// Key is the field, as findings name it. Default: all fields.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Key string `json:"key,omitempty"`

	// Reason says why the findings are accepted.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason"`

	// Until is the last day of the exception, such as 2027-03-31. It counts for commits that were made until the end of that day, in UTC.
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`
	Until string `json:"until"`
}

// CheckRule is a rule that is checked on each object.
type CheckRule struct {
	// Name is the name of the rule.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// Kinds are the kinds of objects that the rule checks, such as Deployment. Default: all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	Kinds []string `json:"kinds,omitempty"`

	// Variables are expressions that later ones, expression and messageExpression refer to as variables.NAME.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=32
	Variables []CheckVariable `json:"variables,omitempty"`

	// Expression is a CEL expression that is true for valid objects. object is the manifest, environment the environment's name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Expression string `json:"expression"`

	// Message describes a violation. Default: that the expression is false.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// MessageExpression is a CEL expression for the text that replaces message.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	MessageExpression string `json:"messageExpression,omitempty"`

	// Hint tells how to fix a violation.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Hint string `json:"hint,omitempty"`

	// Level is the level of the rule's findings. Default: warn.
	// +optional
	// +kubebuilder:default=warn
	Level CheckLevel `json:"level,omitempty"`
}

// CheckVariable is an expression with a name.
type CheckVariable struct {
	// Name is the name of the variable.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z_][A-Za-z0-9_]*$`
	Name string `json:"name"`

	// Expression is a CEL expression. It is evaluated when it is used.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Expression string `json:"expression"`
}

// +kubebuilder:validation:Enum=images;charts

// ScanSubject is what a scan checks.
type ScanSubject string

const (
	// ScanImages are the container images in manifests.
	ScanImages ScanSubject = "images"
	// ScanCharts are the Helm charts that manifests are rendered from.
	ScanCharts ScanSubject = "charts"
)

// CheckScan is a check of each image or chart digest, by a program or of signatures: once, unless rescanAfter is set.
// +kubebuilder:validation:XValidation:rule="has(self.command) != has(self.signatures)",message="set either command or signatures"
// +kubebuilder:validation:XValidation:rule="!has(self.signatures) || self.what == 'images'",message="signatures are those of images"
type CheckScan struct {
	// Name is the name of the scan. Levels refer to it like to the name of a rule.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`

	// What is what the scan checks.
	What ScanSubject `json:"what"`

	// Command is the program to run.
	// +optional
	Command ScanCommand `json:"command,omitzero"`

	// Signatures require that images are signed, instead of running a program.
	// +optional
	Signatures *ScanSignatures `json:"signatures,omitempty"`

	// RescanAfter is the maximum age of a result when a pull request adds the digest; older ones are scanned again.
	// At least 1h. Default: results do not expire.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	RescanAfter *metav1.Duration `json:"rescanAfter,omitempty"`

	// Level is the level of the scan's findings. Default: refuse.
	// +optional
	// +kubebuilder:default=refuse
	Level CheckLevel `json:"level,omitempty"`
}

// Placeholders in the arguments of a scan.
const (
	// ScanReference stands for the image with its digest,
	// registry.example/shop@sha256:…, or for the chart's name and version.
	ScanReference = "{reference}"
	// ScanDigest stands for the digest.
	ScanDigest = "{digest}"
	// ScanPath stands for a folder with the chart's files.
	ScanPath = "{path}"
)

// +kubebuilder:validation:Enum=signature;provenance

// SignatureKind is what keys must have signed.
type SignatureKind string

const (
	// RequireSignature requires a signature of the image, as cosign sign makes it.
	RequireSignature SignatureKind = "signature"
	// RequireProvenance requires a statement in the format of SLSA about how the image was built.
	RequireProvenance SignatureKind = "provenance"
)

// ScanSignatures are what must be signed by whom.
type ScanSignatures struct {
	// Keys are public keys in PEM: ECDSA, Ed25519 or RSA. One of them must have signed.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=4096
	// +listType=atomic
	Keys []string `json:"keys"`

	// Require is what must be signed. Default: signature.
	// +optional
	// +kubebuilder:default=signature
	Require SignatureKind `json:"require,omitempty"`
}

// ScanCommand is the command line of a scan.
type ScanCommand struct {
	// Args are the program and its arguments; they do not pass through a shell. In arguments, {reference} stands for
	// the image with its digest or the chart with its version, {digest} for the digest, and {path} for a folder with
	// the chart's files. The program is an absolute path, or a name that
	// the server's configuration maps to a program.
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

	// ExitCodes are the exit codes that mean that the program found something. Default: 1. Exit code 0 means that it
	// found nothing; with any other code the scan failed, and is run again.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Minimum=1
	// +kubebuilder:validation:items:Maximum=255
	ExitCodes []int32 `json:"exitCodes,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=checkpolicies,categories=kalypso
// +kubebuilder:printcolumn:name="Rules",type=string,JSONPath=`.spec.rules[*].name`
// +kubebuilder:printcolumn:name="Scans",type=string,JSONPath=`.spec.scans[*].name`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// CheckPolicy defines which rules are checked on manifests before they are published: on main for all environments,
// on an environment's branch for that environment. If both set the same
// rule, the environment's branch takes precedence.
type CheckPolicy struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   CheckPolicySpec `json:"spec,omitempty"`
	Status Status          `json:"status,omitempty"`
}
