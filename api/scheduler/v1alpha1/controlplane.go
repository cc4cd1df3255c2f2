package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Conditions of a ControlPlane.
const (
	// ConditionReady is True if the last round of every environment, and of promotion, succeeded. It is False if a round failed, with the first
	// error as its message, and Unknown before the first round. It is always present after the operator has seen the object.
	// Problems of documents do not make it False: they hold what depends on them, and are counted in the status of the environment.
	// Neither do commits that fail or wait: they are in the promotion of the environment.
	ConditionReady = "Ready"
	// ConditionReconciling is True while the operator works towards a generation, a reconcile request or a retry. It is absent otherwise.
	ConditionReconciling = "Reconciling"
	// ConditionStalled is True if the rounds cannot succeed until the spec or the operator's configuration changes. It is absent otherwise.
	ConditionStalled = "Stalled"
)

// AnnotationRequestedAt requests a round now, with a value that differs from status.lastHandledReconcileAt.
const AnnotationRequestedAt = "reconcile.kalypso.io/requestedAt"

// +kubebuilder:validation:XValidation:rule="has(self.repository) != has(self.objects)",message="set either repository or objects"
// +kubebuilder:validation:XValidation:rule="!has(self.secretRef) || has(self.repository)",message="secretRef goes with repository; the forge's secret is used for other repositories"

// ControlPlaneSource defines where the documents of a control plane are.
type ControlPlaneSource struct {
	// Repository is the https URL of the control plane repository.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://[^\s@]+$`
	Repository string `json:"repository,omitempty"`

	// SecretRef names the Secret with the fields username and password for the repository. Default: the forge's credential.
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`

	// Objects reads the documents from the namespace of the ControlPlane instead of a repository.
	// +optional
	Objects *ObjectsSource `json:"objects,omitempty"`
}

// ObjectsSource defines which objects of a namespace are the documents of one environment.
type ObjectsSource struct {
	// Environment is the environment that the objects describe.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Environment string `json:"environment"`

	// Repository is the https URL of the repository that the objects come from. Relative URLs in the objects refer to it.
	// Without it, the objects cannot have relative URLs.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://[^\s@]+$`
	Repository string `json:"repository,omitempty"`

	// Selector selects the objects by their labels. Default: all objects of the namespace.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// SecretReference names a Secret in the namespace of the object.
type SecretReference struct {
	// Name of the Secret.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// +kubebuilder:validation:Enum=github;gitlab;gitea;azuredevops;bitbucket;bitbucketserver

// ForgeKind is the kind of a forge.
type ForgeKind string

// ControlPlaneForge defines the forge with the GitOps repositories.
type ControlPlaneForge struct {
	// Kind is the kind of the forge.
	Kind ForgeKind `json:"kind"`

	// URL is the https address of the forge, such as https://github.com.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:Pattern=`^https?://[^\s@]+$`
	URL string `json:"url"`

	// SecretRef names the Secret with the field token.
	SecretRef SecretReference `json:"secretRef"`
}

// AssignmentObjects defines whether assignments are written as objects.
type AssignmentObjects struct {
	// Objects writes an Assignment object for each assignment, in the namespace of the ControlPlane. Default: false.
	// Above the operator's limit for an environment, which is 200 unless it is configured otherwise, no objects are written.
	// +optional
	Objects bool `json:"objects,omitempty"`
}

// ControlPlaneLedger defines the ledger by which commits are promoted. It has what clusters report, and the steps of promotions.
type ControlPlaneLedger struct {
	// SecretRef names the Secret with the field url, the URL of a PostgreSQL database: postgres://user:password@host:5432/database.
	// The operator's configuration must allow its server. The operator creates the tables of the ledger.
	SecretRef SecretReference `json:"secretRef"`

	// Chain lists environments without promotion rules in the order in which commits are promoted. Default: commits are promoted only to
	// environments with rules.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	Chain []string `json:"chain,omitempty"`
}

// ControlPlaneApplications defines whether the applications of a control plane are delivered.
type ControlPlaneApplications struct {
	// Deliver delivers the applications that the control plane registers and that have a Delivery next to their Workload: it keeps their pull
	// requests up to date, and promotes their commits. Default: false.
	// +optional
	Deliver bool `json:"deliver,omitempty"`
}

// +kubebuilder:validation:Enum=Branches;All;None

// PlannedPullRequests is which pull requests of a control plane are planned.
type PlannedPullRequests string

const (
	// PlanBranches plans those from branches of the repository. It is the default.
	PlanBranches PlannedPullRequests = "Branches"
	// PlanAll also plans those from forks, which can name any repository and template: the operator reads what they choose, with the
	// credentials of the control plane.
	PlanAll PlannedPullRequests = "All"
	// PlanNone plans none.
	PlanNone PlannedPullRequests = "None"
)

// +kubebuilder:validation:XValidation:rule="!has(self.ledger) || has(self.source.repository)",message="a ledger goes with source.repository: objects have no commits to promote"
// +kubebuilder:validation:XValidation:rule="!has(self.ledger) || !has(self.environments)",message="a ledger goes with all environments: a chain cannot be promoted in parts"
// +kubebuilder:validation:XValidation:rule="!has(self.applications) || has(self.ledger)",message="applications are delivered with a ledger: it has their builds"

// ControlPlaneSpec defines which environments the operator schedules, from which documents, and where it opens pull requests.
type ControlPlaneSpec struct {
	// Source is where the documents are.
	Source ControlPlaneSource `json:"source"`

	// Forge hosts the GitOps repositories.
	Forge ControlPlaneForge `json:"forge"`

	// Environments are the environments to schedule. Default: all environments of the control plane.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=63
	Environments []string `json:"environments,omitempty"`

	// Interval is the time between two rounds, at least ten seconds. Default: 1m.
	// +optional
	// +kubebuilder:default="1m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') && duration(self) <= duration('24h')",message="the interval is between 10s and 24h"
	Interval *metav1.Duration `json:"interval,omitempty"`

	// Suspend stops all rounds. Pull requests and deployments stay as they are. Default: false.
	// +optional
	Suspend bool `json:"suspend,omitempty"`

	// Assignments defines whether the assignments are written as objects.
	// +optional
	Assignments *AssignmentObjects `json:"assignments,omitempty"`

	// PlanPullRequests is which open pull requests of the control plane's repository get a comment and the status kalypso/plan with what they
	// change: those from its own branches (Branches), also those from forks (All), or none (None). Those from forks get a status
	// that says that they are not planned. Default: Branches.
	// +optional
	PlanPullRequests PlannedPullRequests `json:"planPullRequests,omitempty"`

	// Ledger promotes the commits of the control plane along the chain of its environments. Default: nothing is promoted.
	// +optional
	Ledger *ControlPlaneLedger `json:"ledger,omitempty"`

	// Applications defines whether the applications of the control plane are delivered, which needs a ledger.
	// +optional
	Applications *ControlPlaneApplications `json:"applications,omitempty"`
}

// EnvironmentCounts are the numbers of an environment's last round.
type EnvironmentCounts struct {
	// Assignments is the number of assignments.
	Assignments int32 `json:"assignments"`
	// Held is the number of assignments that keep their published files.
	Held int32 `json:"held"`
	// Errors and Warnings are the numbers of problems.
	Errors   int32 `json:"errors"`
	Warnings int32 `json:"warnings"`
	// Files is the number of files that differ from the GitOps branch.
	Files int32 `json:"files"`
}

// EnvironmentPromotion is what is promoted to an environment, and what the next commit waits for.
type EnvironmentPromotion struct {
	// Phase is the state of the promoted commit: outside, proposed, rejected, applying, checking, awaiting, soaking, good, unproven, drifted,
	// failed, superseded, takenBack, goingBack or noClusters. It is unknown if the environment could not be read.
	Phase string `json:"phase"`

	// Commit is the promoted commit of the base branch.
	// +optional
	Commit string `json:"commit,omitempty"`

	// Next is the commit that is promoted next.
	// +optional
	Next string `json:"next,omitempty"`

	// Reason describes the state of the commit, and what the next one waits for.
	// +optional
	Reason string `json:"reason,omitempty"`

	// PullRequest is the URL of the open pull request that promotes a commit.
	// +optional
	PullRequest string `json:"pullRequest,omitempty"`

	// Rings are the first ten rings and batches that are neither soaking nor good, in the order of rollouts.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=10
	Rings []RingPromotion `json:"rings,omitempty"`
}

// RingPromotion is the state of a ring, or of a batch of a ring.
type RingPromotion struct {
	// Name is that of the ring, or RING.BATCH.
	Name string `json:"name"`

	// Phase is the progress of the ring's commit.
	Phase string `json:"phase"`

	// Commit is the ring's commit of the GitOps branch.
	// +optional
	Commit string `json:"commit,omitempty"`

	// Reason describes the state of the commit, and what the next one waits for.
	// +optional
	Reason string `json:"reason,omitempty"`
}

// ApplicationStatus is the result of an application's last round.
type ApplicationStatus struct {
	// Name is that of its Workload.
	Name string `json:"name"`

	// Workspace owns the application.
	// +optional
	Workspace string `json:"workspace,omitempty"`

	// Environments are the first eight environments of its chain.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	Environments []ApplicationEnvironmentStatus `json:"environments,omitempty"`

	// Error is why the last round failed. The other fields are those of the last successful round.
	// +optional
	Error string `json:"error,omitempty"`
}

// ApplicationEnvironmentStatus is the state of an application in an environment.
type ApplicationEnvironmentStatus struct {
	// Name of the environment.
	Name string `json:"name"`

	// Phase is the progress of the commit.
	// +optional
	Phase string `json:"phase,omitempty"`

	// Commit is the commit of the source that the environment has.
	// +optional
	Commit string `json:"commit,omitempty"`

	// Version is that of the commit's build.
	// +optional
	Version string `json:"version,omitempty"`

	// Reason describes the state of the commit, and what the next one waits for.
	// +optional
	Reason string `json:"reason,omitempty"`

	// PullRequest is the URL of the open pull request.
	// +optional
	PullRequest string `json:"pullRequest,omitempty"`

	// Error is why the last round failed in the environment.
	// +optional
	Error string `json:"error,omitempty"`
}

// EnvironmentStatus is the result of an environment's last round.
type EnvironmentStatus struct {
	// Name of the environment.
	Name string `json:"name"`

	// Inputs are the control plane's commits that the environment was read at, such as "dev@1f0c2aa, main@5523a85". For objects,
	// the commit is a hash of their content.
	// +optional
	Inputs string `json:"inputs,omitempty"`

	// Commit is the head of the GitOps branch that the files were compared with.
	// +optional
	Commit string `json:"commit,omitempty"`

	// PullRequest is the URL of the open pull request.
	// +optional
	PullRequest string `json:"pullRequest,omitempty"`

	// Waits is the reason why the pull request is not merged automatically, or not opened.
	// +optional
	Waits string `json:"waits,omitempty"`

	// Counts are the numbers of the last successful round.
	// +optional
	Counts *EnvironmentCounts `json:"counts,omitempty"`

	// Problems are the first five problems. The pull request, or "kalypso validate", has all of them.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=5
	Problems []string `json:"problems,omitempty"`

	// Promotion is what is promoted to the environment, if the control plane has a ledger and promotes to it.
	// +optional
	Promotion *EnvironmentPromotion `json:"promotion,omitempty"`

	// Error is why the last round failed. The other fields are those of the last successful round.
	// +optional
	Error string `json:"error,omitempty"`
}

// ControlPlaneStatus is the result of the last rounds.
type ControlPlaneStatus struct {
	Status `json:",inline"`

	// LastHandledReconcileAt is the last value of the annotation reconcile.kalypso.io/requestedAt that was handled.
	// +optional
	LastHandledReconcileAt string `json:"lastHandledReconcileAt,omitempty"`

	// Environments are the results by environment.
	// +optional
	// +listType=map
	// +listMapKey=name
	Environments []EnvironmentStatus `json:"environments,omitempty"`

	// Summary is one line about all environments, for lists.
	// +optional
	Summary string `json:"summary,omitempty"`

	// Assignments is how the assignments are written as objects, or why they are not.
	// +optional
	Assignments string `json:"assignments,omitempty"`

	// PlannedPullRequests is how many open pull requests of the control plane have their plan, and why others have none.
	// +optional
	PlannedPullRequests string `json:"plannedPullRequests,omitempty"`

	// Deliveries is one line about all applications, and why one is not delivered.
	// +optional
	Deliveries string `json:"deliveries,omitempty"`

	// Applications are the first fifty applications, by name.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=50
	Applications []ApplicationStatus `json:"applications,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:categories=kalypso,shortName=kalypsocp
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Status",type=string,JSONPath=`.status.summary`
// +kubebuilder:printcolumn:name="Suspended",type=boolean,JSONPath=`.spec.suspend`,priority=1
// +kubebuilder:printcolumn:name="Message",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].message`,priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// ControlPlane makes the operator schedule the environments of a control plane, as "kalypso schedule --pull-request" does, and plan the pull requests
// of its repository. With a ledger, it promotes commits, as "kalypso promote round" does, and delivers applications. Everything that it refers to is in its namespace. Deleting it removes no deployment, branch or pull request.
type ControlPlane struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec   ControlPlaneSpec   `json:"spec,omitempty"`
	Status ControlPlaneStatus `json:"status,omitempty"`
}
