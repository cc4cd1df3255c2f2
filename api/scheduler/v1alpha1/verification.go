package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// +kubebuilder:validation:XValidation:rule="[has(self.http), has(self.command), has(self.prometheus), has(self.commitStatus), has(self.job), has(self.approval)].filter(set, set).size() == 1",message="a verification is one of http, command, prometheus, commitStatus, job and approval"

// Verification is one check after the gate. Exactly one of http, command, prometheus, commitStatus, job and approval is
// set.
//
// http, command, prometheus and job are measured, again and again if count or failureLimit is set: each measurement passes or fails,
// and the verification passes when count of them passed. An answer without data is a failed measurement.
// commitStatus and approval wait for others.
type Verification struct {
	// Name is shown with the result. It is the last part of the verification's own commit status.
	// Default: "verification" and the position in the list.
	// +optional
	// +kubebuilder:validation:MaxLength=100
	Name string `json:"name,omitempty"`

	// Interval is the time between two measurements. Default: 1m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	Interval *metav1.Duration `json:"interval,omitempty"`

	// Count is how many measurements must pass. Default: 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	Count int `json:"count,omitempty"`

	// FailureLimit is how many measurements may fail. One more, and the verification has failed. Default: 0.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000
	FailureLimit int `json:"failureLimit,omitempty"`

	// Timeout is how long the verification may take in all, from its begin. Then it has failed. Default: no limit.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// HTTP sends a GET request and expects a status below 400, or what its expression says.
	// +optional
	HTTP *HTTPVerification `json:"http,omitempty"`
	// Command runs a program and expects exit code 0.
	// +optional
	Command *CommandVerification `json:"command,omitempty"`
	// Prometheus runs a query and expects what its expression says.
	// +optional
	Prometheus *PrometheusVerification `json:"prometheus,omitempty"`
	// CommitStatus waits until a status of the promoted commit succeeds, which any other program can post.
	// +optional
	CommitStatus *CommitStatusVerification `json:"commitStatus,omitempty"`
	// Job runs a template as a Job on each cluster, by its agent, and expects that it succeeds.
	// +optional
	Job *JobVerification `json:"job,omitempty"`
	// Approval waits until users approve the commit in this environment.
	// +optional
	Approval *ApprovalVerification `json:"approval,omitempty"`
}

// HTTPVerification is a GET request.
type HTTPVerification struct {
	// URL is the URL to request.
	// +kubebuilder:validation:Pattern=`^https?://`
	URL string `json:"url"`
	// Expression is a CEL expression that must be true for the response. Its variables are status, a number; headers, a map of
	// strings with names in lower case; body, a string; and json, the parsed body. Default: status < 400.
	// +optional
	// +kubebuilder:validation:MaxLength=4096
	Expression string `json:"expression,omitempty"`
	// Timeout of the request. Default: 30s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// CommandVerification runs a program.
type CommandVerification struct {
	// Args are the program and its arguments; they do not pass through a shell.
	// +kubebuilder:validation:MinItems=1
	// +listType=atomic
	Args []string `json:"args"`
	// Timeout of the run. Default: 10m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// PrometheusVerification is an instant query to a server with the HTTP API of Prometheus.
type PrometheusVerification struct {
	// URL is the URL of the server, without /api/v1.
	// +kubebuilder:validation:Pattern=`^https?://`
	URL string `json:"url"`
	// Query is the query in PromQL. It can contain {{.Commit}}, {{.Environment}}, {{.Ring}} and {{.Revision}}.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Query string `json:"query"`
	// Expression is a CEL expression that must be true for the answer. Its variables are result, the number of an answer with
	// exactly one; results, a list of all, each with value and labels; and, with a baseline, baseline and hasBaseline.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Expression string `json:"expression"`
	// Baseline is the number to compare with: that of the last measurement of a verification with this name, of the commit that
	// was deployed here before (previous), or of the same commit in an earlier ring (ring:NAME). Default: none.
	// +optional
	// +kubebuilder:validation:Pattern=`^(previous|ring:[a-z0-9]([-a-z0-9]*[a-z0-9])?)$`
	Baseline string `json:"baseline,omitempty"`
	// Timeout of the query. Default: 30s.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// BaselinePrevious compares with the commit that was deployed in the environment before. BaselineRing begins the name of a ring.
const (
	BaselinePrevious = "previous"
	BaselineRing     = "ring:"
)

// CommitStatusVerification waits for a status of the promoted commit. A missing or pending one is waited for;
// one that failed is a failed measurement.
type CommitStatusVerification struct {
	// Context is the context of the status, such as "load-test".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=255
	Context string `json:"context"`
}

// JobVerification runs a Job on each cluster that runs the commit. As many clusters must succeed as the gate requires.
type JobVerification struct {
	// Template is the value of the label kalypso.io/job-template of a suspended CronJob in the namespace of an assignment. Its Job
	// template is run, with the service account that it names.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`
	Template string `json:"template"`
	// Timeout of a Job, up to an hour. Default: 10m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

// ApprovalVerification waits for users.
type ApprovalVerification struct {
	// Groups are the groups of the sign-on whose members may approve. Default: every user with the role operator.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	Groups []string `json:"groups,omitempty"`
	// Count is how many users must approve. Default: 1.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	Count int `json:"count,omitempty"`
	// NotAuthor does not count the approval of the commit's author. Default: false.
	// +optional
	NotAuthor bool `json:"notAuthor,omitempty"`
}
