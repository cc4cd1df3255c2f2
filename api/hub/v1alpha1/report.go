package v1alpha1

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// KindReportBatch is the kind of a [ReportBatch].
const KindReportBatch = "ReportBatch"

// Limits of a batch. The server rejects larger ones; agents truncate messages and split batches.
const (
	MaxReports       = 500
	MaxPresent       = 10_000 // reconcilers in Present
	MaxName          = 253    // of clusters, kinds, namespaces, names and revisions, in bytes
	MaxAddress       = 2048
	MaxMessage       = 1024
	MaxUnhealthy     = 10 // objects of a report
	MaxObjectMessage = 256
	MaxReportedBytes = 4 << 20 // of a batch as JSON, not compressed
)

// ReportBatch holds what a cluster reports about its reconcilers since its previous batch. It is the body of POST
// /api/v1/reports: JSON, optionally with Content-Encoding gzip, with the cluster's credential as bearer token. A
// batch without reports is a heartbeat: the cluster is alive, and nothing has changed.
//
//	{
//	  "apiVersion": "hub.kalypso.io/v1alpha1",
//	  "kind": "ReportBatch",
//	  "id": "5a1f...",
//	  "cluster": "large-07",
//	  "sent": "2026-11-20T10:02:31Z",
//	  "reports": [{
//	    "kind": "Kustomization", "namespace": "flux-system", "name": "platform-dev",
//	    "repository": "https://github.com/acme/platform-gitops", "ref": "dev", "path": "large",
//	    "revision": "c0ffee...", "state": "ready", "observed": "2026-11-20T10:02:30.123456Z"
//	  }]
//	}
//
// Batches may be repeated, late or out of order: each report carries the time of its observation. Readers ignore
// unknown fields, so that agents may be newer than the server.
//
// +kubebuilder:object:generate=false
type ReportBatch struct {
	// APIVersion is "hub.kalypso.io/v1alpha1", Kind is "ReportBatch".
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// ID identifies the batch among those of its cluster. A retry has the same ID.
	ID string `json:"id"`
	// Cluster is the name of the cluster that the reports are about: the one that the credential belongs to, or one that is registered as
	// reported by it. Required in files, which a cluster can only write about itself. Default for requests: the cluster that the
	// credential belongs to.
	Cluster string `json:"cluster,omitempty"`
	// Sent is when the batch was made, by the cluster's clock. The server
	// compares it with the time of arrival to detect clock skew.
	Sent time.Time `json:"sent"`
	// Agent is the version of the reporting program.
	Agent string `json:"agent,omitempty"`
	// Dropped counts the observations that the agent discarded before it could send them, since it was installed. All
	// of them had been superseded.
	Dropped int64 `json:"dropped,omitempty"`
	// Reports are the observations, ordered by time. At most [MaxReports].
	Reports []Report `json:"reports,omitempty"`
	// Present, if set, lists all reconcilers of the cluster at the time of Sent, except those of the kinds in Unread.
	// The server records all others that it knows as gone. Agents set it on start, because their record of earlier
	// reports can be lost, and when the server requests a full report.
	Present *Present `json:"present,omitempty"`
	// RunsJobs means that the agent may run the Jobs that the answer requests. Jobs are the states of those that the answer to an
	// earlier batch requested, at most [MaxJobs].
	RunsJobs bool        `json:"runsJobs,omitempty"`
	Jobs     []JobResult `json:"jobs,omitempty"`
}

// Present lists the reconcilers of a cluster.
//
// +kubebuilder:object:generate=false
type Present struct {
	// Reconcilers are at most [MaxPresent]. Agents with more leave out Present.
	Reconcilers []ReconcilerRef `json:"reconcilers"`
	// Unread are kinds that the agent could not read, and whose reconcilers are therefore unknown.
	Unread []string `json:"unread,omitempty"`
}

// ReconcilerRef identifies a reconciler: an object in the cluster.
//
// +kubebuilder:object:generate=false
type ReconcilerRef struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Reconciler returns the reconciler that the report is about.
func (r *Report) Reconciler() ReconcilerRef { return ReconcilerRef{r.Kind, r.Namespace, r.Name} }

// Gone returns the report that a reconciler is no longer in its cluster.
func (r ReconcilerRef) Gone(observed time.Time) Report {
	return Report{
		Kind: r.Kind, Namespace: r.Namespace, Name: r.Name,
		State: StateSuspended, Message: "no longer in the cluster", Observed: observed,
	}
}

// Report describes what one reconciler follows, at which revision, and in which state.
//
// If the reconciler is no longer in its cluster, repository, ref, path and
// revision are empty, and the state is suspended.
//
// +kubebuilder:object:generate=false
type Report struct {
	// Kind, Namespace and Name identify the reconciler: an object in the cluster. Namespace is empty for
	// cluster-scoped objects. An object with several sources is reported as several reconcilers: the second has "#2"
	// appended to its name, and so on.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`

	// Repository is the URL of the repository that the reconciler follows, without credentials; empty if unknown.
	Repository string `json:"repository,omitempty"`
	// Ref is the name of a branch, or refs/tags/<name> for a tag.
	Ref string `json:"ref,omitempty"`
	// Path is the folder in the repository, relative to the root, which is the empty path.
	Path string `json:"path,omitempty"`
	// Revision is the full hash of a commit, the digest of an artifact without its algorithm, or the version of a
	// chart. It is the revision applied last; if the reconciler is
	// progressing or failed, the revision it tried to apply.
	Revision string `json:"revision,omitempty"`

	State State `json:"state"`
	// Message explains the state, on one line of at most [MaxMessage] bytes.
	Message string `json:"message,omitempty"`

	// Applied is the revision whose manifests were applied last, all of them, in the format of Revision. It says nothing about
	// health. If it is empty, the state says it: a reconciler that is ready or suspended has applied its revision.
	Applied string `json:"applied,omitempty"`
	// Health is the health of the applied objects. Default: unknown.
	Health Health `json:"health,omitempty"`
	// Unhealthy are objects that are not healthy, the worst first: at most [MaxUnhealthy], and none if they are not known.
	Unhealthy []ObjectHealth `json:"unhealthy,omitempty"`
	// Observed is when the cluster first saw this state, by its own clock. Later observations of the same reconciler
	// have later times, even if the clock was set back.
	Observed time.Time `json:"observed"`
}

// ReportReceipt is the response to a batch that was accepted.
//
// +kubebuilder:object:generate=false
type ReportReceipt struct {
	// Resend requests the current state of every reconciler, because the server does not have it.
	Resend bool `json:"resend,omitempty"`
	// Jobs are the Jobs that the cluster should run: all of which the server does not have the result. They replace those of earlier
	// answers.
	Jobs []JobRequest `json:"jobs,omitempty"`
}

// NewReportBatch returns a batch whose ID is derived from its content.
func NewReportBatch(cluster string, sent time.Time, reports []Report) ReportBatch {
	b := ReportBatch{
		APIVersion: GroupVersion.String(), Kind: KindReportBatch,
		Cluster: cluster, Sent: sent.UTC(), Reports: reports,
	}
	text, _ := json.Marshal(b) //nolint:errchkjson // texts and times up to the year 9999
	sum := sha256.Sum256(text)
	b.ID = hex.EncodeToString(sum[:16])
	return b
}

// Check returns everything that is wrong with a batch; nil if it has the right format and is within the limits.
func (b *ReportBatch) Check() error {
	var problems []error
	if want := GroupVersion.String(); b.APIVersion != want || b.Kind != KindReportBatch {
		problems = append(problems, fmt.Errorf("it is a %.100q of %.100q, want %s of %s", b.Kind, b.APIVersion, KindReportBatch, want))
	}
	problems = append(problems, required("id", b.ID), bounded("id", b.ID, MaxName), bounded("cluster", b.Cluster, MaxName),
		bounded("agent", b.Agent, MaxName), instant("sent", b.Sent))
	if err := checkJobs(b.Jobs); err != nil {
		problems = append(problems, err)
	}
	if b.Dropped < 0 {
		problems = append(problems, errors.New("dropped is negative"))
	}
	if b.Present != nil && len(b.Present.Reconcilers) > MaxPresent {
		problems = append(problems, fmt.Errorf("%d reconcilers present, want at most %d", len(b.Present.Reconcilers), MaxPresent))
	}
	if len(b.Reports) > MaxReports {
		problems = append(problems, fmt.Errorf("%d reports, want at most %d", len(b.Reports), MaxReports))
		return errors.Join(problems...)
	}
	for i := range b.Reports {
		if err := b.Reports[i].Check(); err != nil {
			problems = append(problems, fmt.Errorf("reports[%d]: %w", i, err))
		}
	}
	return errors.Join(problems...)
}

// Check returns everything that is wrong with a report; nil if it is valid.
func (r *Report) Check() error {
	var state error
	if r.State.Severity() == 0 {
		state = fmt.Errorf("state is %.100q, want ready, progressing, failed or suspended", r.State)
	}
	var health error
	if r.Health.Severity() == 0 {
		health = fmt.Errorf("health is %.100q, want healthy, progressing, degraded or unknown", r.Health)
	}
	return errors.Join(
		required("kind", r.Kind), required("name", r.Name), health, checkUnhealthy(r.Unhealthy), bounded("applied", r.Applied, MaxName),
		bounded("kind", r.Kind, MaxName), bounded("namespace", r.Namespace, MaxName), bounded("name", r.Name, MaxName+8),
		bounded("repository", r.Repository, MaxAddress), bounded("ref", r.Ref, MaxAddress), bounded("path", r.Path, MaxAddress),
		bounded("revision", r.Revision, MaxName), bounded("message", r.Message, MaxMessage), state, instant("observed", r.Observed),
	)
}

func checkUnhealthy(objects []ObjectHealth) error {
	if len(objects) > MaxUnhealthy {
		return fmt.Errorf("%d unhealthy objects, want at most %d", len(objects), MaxUnhealthy)
	}
	var problems []error
	for i, o := range objects {
		err := errors.Join(required("kind", o.Kind), required("name", o.Name),
			bounded("kind", o.Kind, MaxName), bounded("namespace", o.Namespace, MaxName), bounded("name", o.Name, MaxName),
			bounded("message", o.Message, MaxObjectMessage))
		if o.Health.Severity() == 0 {
			err = errors.Join(err, fmt.Errorf("health is %.100q, want progressing, degraded or unknown", o.Health))
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("unhealthy[%d]: %w", i, err))
		}
	}
	return errors.Join(problems...)
}

// SameReconciler reports whether r and o are about the same reconciler of a cluster.
func (r *Report) SameReconciler(o *Report) bool {
	return r.Kind == o.Kind && r.Namespace == o.Namespace && r.Name == o.Name
}

// SameOutcome reports whether r and o are equal except for the time of observation.
func (r *Report) SameOutcome(o *Report) bool {
	return r.SameReconciler(o) && r.Repository == o.Repository && r.Ref == o.Ref && r.Path == o.Path && r.Revision == o.Revision &&
		r.State == o.State && r.Message == o.Message && r.Applied == o.Applied && r.Health.Severity() == o.Health.Severity() &&
		slices.Equal(r.Unhealthy, o.Unhealthy)
}

func required(name, text string) error {
	if text == "" {
		return fmt.Errorf("%s is required", name)
	}
	return nil
}

// bounded checks that a text is on one line, and not longer than limit bytes.
func bounded(name, text string, limit int) error {
	switch {
	case len(text) > limit:
		return fmt.Errorf("%s has %d bytes, want at most %d", name, len(text), limit)
	case !utf8.ValidString(text):
		return fmt.Errorf("%s is not UTF-8", name)
	case strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c >= 0x7f && c < 0xa0 }):
		return fmt.Errorf("%s has control characters", name)
	}
	return nil
}

// instant checks that ledgers can store a time.
func instant(name string, t time.Time) error {
	if t.Year() < 1971 || t.Year() > 9999 {
		return fmt.Errorf("%s is %s, want a time", name, t.Format(time.RFC3339))
	}
	return nil
}
