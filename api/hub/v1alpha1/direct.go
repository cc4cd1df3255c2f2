package v1alpha1

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	scheduler "github.com/kalypso-io/kalypso/api/scheduler/v1alpha1"
)

// KindDirectDelivery is the kind of a [DirectDelivery].
const KindDirectDelivery = "DirectDelivery"

// DirectDeliverySpec says what the agent of a cluster applies, where, and with whose rights.
type DirectDeliverySpec struct {
	// Source is the folder of manifests.
	Source DirectSource `json:"source"`

	// TargetNamespace moves every object that has a namespace into this one. Without it, objects keep their namespace, and those
	// that name none get the namespace of the document.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	TargetNamespace string `json:"targetNamespace,omitempty"`

	// ServiceAccount is the service account, in the namespace of the document, with whose rights the objects are applied and removed.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	ServiceAccount string `json:"serviceAccount"`

	// DependsOn are documents, by name, whose objects must be healthy before a new version is applied.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	DependsOn []string `json:"dependsOn,omitempty"`

	// Timeout is how long a new version may take to become healthy. Default: 3m.
	// +optional
	Timeout metav1.Duration `json:"timeout,omitempty"`

	// Rollback applies the last version that was healthy again if a new one does not become healthy in time. The new version is reported as failed.
	// +optional
	Rollback bool `json:"rollback,omitempty"`
}

// DirectSource is a folder of a Git repository, at the head of a branch, at a tag, or at a commit.
type DirectSource struct {
	// Repository is the URL of the repository. The server reads it, not the cluster.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Repository string `json:"repository"`

	// Branch is the branch to follow. Default: the repository's default branch.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Branch string `json:"branch,omitempty"`

	// Tag is the tag to apply instead of a branch.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Tag string `json:"tag,omitempty"`

	// Commit is the full hash of the commit to apply instead of the head of the branch.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Commit string `json:"commit,omitempty"`

	// Path is the folder. Default: the root.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	Path string `json:"path,omitempty"`
}

// +kubebuilder:object:root=true
// +kubebuilder:resource:categories=kalypso
// +kubebuilder:printcolumn:name="Repository",type=string,JSONPath=`.spec.source.repository`
// +kubebuilder:printcolumn:name="Branch",type=string,JSONPath=`.spec.source.branch`
// +kubebuilder:printcolumn:name="Namespace",type=string,JSONPath=`.spec.targetNamespace`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`

// DirectDelivery is what the reconciler of an assignment is to a cluster that has no reconciler: it says what the cluster's agent applies
// itself. It is a document in the platform's GitOps repository. The server reads it and tells the agent; it is never sent to the API
// server of the cluster.
type DirectDelivery struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +required
	Spec DirectDeliverySpec `json:"spec,omitempty"`
}

// Limits of deliveries.
const (
	// MaxDeliveries is how many deliveries a cluster can have.
	MaxDeliveries = 1000
	// MaxDeliveriesBytes is the size of [Deliveries] in their envelope.
	MaxDeliveriesBytes = 8 << 20
	// MaxDeliveryBytes is the size of the archive of a delivery.
	MaxDeliveryBytes = 4 << 20
	// MaxDeliveryWait is how long the server holds a request until something changes.
	MaxDeliveryWait = 50 * time.Second
	// MaxWindows is how many windows a cluster can have.
	MaxWindows = 32
)

// DeliveriesPayloadType is the payload type of sealed [Deliveries]; see [Seal].
const DeliveriesPayloadType = "application/vnd.kalypso.deliveries+json"

// KindDeliveries is the kind of [Deliveries].
const KindDeliveries = "Deliveries"

// Deliveries are what a cluster without a reconciler should run now, as the merged branches say it. The server signs them.
//
// +kubebuilder:object:generate=false
type Deliveries struct {
	// APIVersion is "hub.kalypso.io/v1alpha1", Kind is "Deliveries".
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Cluster is the name of the cluster that they are for.
	Cluster string `json:"cluster"`
	// Number is larger in later answers: an agent refuses a smaller one than it has seen. The ledger of the servers gives it out.
	Number int64 `json:"number"`
	// Deliveries are in the order of applying: those of the platform come first. At most [MaxDeliveries].
	Deliveries []Delivery `json:"deliveries"`
}

// Delivery is one folder of manifests that a cluster should run.
//
// +kubebuilder:object:generate=false
type Delivery struct {
	// Namespace and Name are those of the [DirectDelivery]. The platform's own folder is named platform-ENVIRONMENT.
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Of is the name of the platform's delivery whose folder has the document; empty for the platform's.
	Of   string             `json:"of,omitempty"`
	Spec DirectDeliverySpec `json:"spec"`
	// Windows and Hold say when the cluster may be changed, for the platform's folder and all documents in it: those of the Cluster object. Only a
	// platform's delivery has them.
	Windows []scheduler.Window `json:"windows,omitempty"`
	Hold    *scheduler.Hold    `json:"hold,omitempty"`
	// Commit is the commit of the source; empty if it could not be read.
	Commit string `json:"commit,omitempty"`
	// Digest is the SHA-256 of the archive in hexadecimal, and Size its length in bytes.
	Digest string `json:"digest,omitempty"`
	Size   int64  `json:"size,omitempty"`
	// Error says why there is no archive. The cluster keeps what it has.
	Error string `json:"error,omitempty"`
}

// ID identifies a delivery on its cluster: namespace and name.
func (d *Delivery) ID() string { return d.Namespace + "/" + d.Name }

// Platform reports whether it is a folder of the platform, which is applied with the agent's own rights.
func (d *Delivery) Platform() bool { return d.Of == "" }

// Version identifies what is applied and how, and its commit: the same text means that there is nothing new.
func (d *Delivery) Version() string { return d.Commit + " " + d.Content() }

// Content identifies what is applied and how: several commits can have the same.
func (d *Delivery) Content() string {
	return fmt.Sprint(d.Digest, " ", d.Spec.TargetNamespace, " ", d.Spec.ServiceAccount, " ", d.Spec.Timeout.Duration, " ", d.Spec.Rollback)
}

// Timeout returns how long a version may take to become healthy.
func (d *Delivery) Timeout() time.Duration {
	if d.Spec.Timeout.Duration > 0 {
		return d.Spec.Timeout.Duration
	}
	return 3 * time.Minute
}

// Reference returns what the source names: a branch, refs/tags/<name> for a tag, or nothing for the default branch.
func (s *DirectSource) Reference() string {
	if s.Tag != "" {
		return "refs/tags/" + s.Tag
	}
	return s.Branch
}

// Folder returns the path of the folder; the root is the empty path.
func (s *DirectSource) Folder() string { return strings.TrimPrefix(path.Clean("/"+s.Path), "/") }

// Source returns what reports name.
func (d *Delivery) Source() Source {
	return Source{Repository: d.Spec.Source.Repository, Ref: d.Spec.Source.Reference(), Path: d.Spec.Source.Folder()}
}

var (
	hexDigest = regexp.MustCompile(`^[0-9a-f]{64}$`)
	hexCommit = regexp.MustCompile(`^[0-9a-f]{40}([0-9a-f]{24})?$`)
	dnsLabel  = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)
	dnsName   = regexp.MustCompile(`^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$`)
)

// Check returns what is wrong with deliveries of a cluster; nil if they are for it, complete, and within the limits.
func (d *Deliveries) Check(cluster string) error {
	if want := GroupVersion.String(); d.APIVersion != want || d.Kind != KindDeliveries {
		return fmt.Errorf("it is a %.100q of %.100q, want %s of %s", d.Kind, d.APIVersion, KindDeliveries, want)
	}
	if d.Cluster != cluster {
		return fmt.Errorf("it is for cluster %.253q, and this is %q", d.Cluster, cluster)
	}
	if d.Number <= 0 || len(d.Deliveries) > MaxDeliveries {
		return fmt.Errorf("it has number %d and %d deliveries, want a number and at most %d", d.Number, len(d.Deliveries), MaxDeliveries)
	}
	seen := map[string]bool{}
	for i := range d.Deliveries {
		one := &d.Deliveries[i]
		if err := one.Check(); err != nil {
			return fmt.Errorf("deliveries[%d]: %w", i, err)
		}
		if seen[one.ID()] {
			return fmt.Errorf("deliveries[%d]: %q is there twice", i, one.ID())
		}
		seen[one.ID()] = true
	}
	return nil
}

// Check returns what is wrong with a delivery; nil if it can be applied, or says why there is no archive.
func (d *Delivery) Check() error {
	var problems []error
	if !dnsLabel.MatchString(d.Namespace) || !dnsName.MatchString(d.Name) || d.Of != "" && !dnsName.MatchString(d.Of) {
		problems = append(problems, fmt.Errorf("%.100q is not a namespace and a name", d.ID()))
	}
	if !d.Platform() {
		problems = append(problems, d.Spec.Check())
	}
	if len(d.Windows) > MaxWindows || !d.Platform() && (len(d.Windows) > 0 || d.Hold != nil) {
		problems = append(problems, fmt.Errorf("it has %d windows, want at most %d, and only for the platform's folder", len(d.Windows), MaxWindows))
	}
	if d.Commit != "" && !hexCommit.MatchString(d.Commit) {
		problems = append(problems, fmt.Errorf("commit %.100q is not a hash", d.Commit))
	}
	problems = append(problems, bounded("error", d.Error, MaxMessage))
	if d.Error == "" && (d.Commit == "" || !hexDigest.MatchString(d.Digest) || d.Size <= 0 || d.Size > MaxDeliveryBytes) {
		problems = append(problems, fmt.Errorf("it has commit %.100q, digest %.100q and %d bytes, want all of them and at most %d bytes", d.Commit, d.Digest, d.Size, MaxDeliveryBytes))
	}
	return errors.Join(problems...)
}

// Check returns what is wrong with the specification of a document.
func (s *DirectDeliverySpec) Check() error {
	var problems []error
	if s.Source.Repository == "" {
		problems = append(problems, errors.New("spec.source.repository is required"))
	}
	problems = append(problems, bounded("spec.source.repository", s.Source.Repository, MaxAddress), bounded("spec.source.path", s.Source.Path, MaxAddress),
		bounded("spec.source.branch", s.Source.Branch, MaxName), bounded("spec.source.tag", s.Source.Tag, MaxName))
	if slices.Contains(strings.Split(s.Source.Path, "/"), "..") {
		problems = append(problems, fmt.Errorf("spec.source.path %.100q leads out of the repository", s.Source.Path))
	}
	if s.Source.Commit != "" && !hexCommit.MatchString(s.Source.Commit) {
		problems = append(problems, fmt.Errorf("spec.source.commit %.100q is not the full hash of a commit", s.Source.Commit))
	}
	if s.Source.Tag != "" && (s.Source.Branch != "" || s.Source.Commit != "") {
		problems = append(problems, errors.New("spec.source has a tag, and a branch or commit; want one of them"))
	}
	if s.TargetNamespace != "" && !dnsLabel.MatchString(s.TargetNamespace) {
		problems = append(problems, fmt.Errorf("spec.targetNamespace %.100q is not a namespace", s.TargetNamespace))
	}
	if !dnsName.MatchString(s.ServiceAccount) {
		problems = append(problems, fmt.Errorf("spec.serviceAccount %.100q is not the name of a service account, which is required", s.ServiceAccount))
	}
	if len(s.DependsOn) > 100 || s.Timeout.Duration < 0 || s.Timeout.Duration > 24*time.Hour {
		problems = append(problems, errors.New("spec.dependsOn has at most 100 names, and spec.timeout at most 24h"))
	}
	for _, name := range s.DependsOn {
		problems = append(problems, bounded("spec.dependsOn", name, MaxName))
	}
	return errors.Join(problems...)
}
