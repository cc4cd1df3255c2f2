package v1alpha1

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// KindReportBatch is the kind of a [ReportBatch].
const KindReportBatch = "ReportBatch"

// Limits of a batch. Who sends more is refused; agents cut messages, and split batches.
const (
	MaxReports       = 500
	MaxPresent       = 10_000 // reconcilers in a list of all
	MaxName          = 253    // of clusters, kinds, namespaces, names and revisions, in bytes
	MaxAddress       = 2048
	MaxMessage       = 1024
	MaxReportedBytes = 4 << 20 // of a batch as JSON, not compressed
)

// ReportBatch is what a cluster says about its reconcilers since the batch before: the body of POST /api/v1/reports,
// as JSON, with Content-Encoding gzip or none, under the cluster's credential as bearer token.
// A batch without reports is a heartbeat: the cluster is alive, and nothing has changed.
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
// Batches may be repeated, and may arrive late and in any order: each report has the time at which it was observed.
// Fields that a reader does not know are ignored, so that agents may be newer than the server.
//
// +kubebuilder:object:generate=false
type ReportBatch struct {
	// APIVersion is "hub.kalypso.io/v1alpha1", Kind is "ReportBatch".
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// ID is the same when the same batch is sent again, and no other batch of the cluster has it.
	ID string `json:"id"`
	// Cluster is the name of the cluster. Empty stands for the one whose credential it is;
	// files need it. A cluster reports only about itself.
	Cluster string `json:"cluster,omitempty"`
	// Sent is when the batch was made, by the clock of the cluster. Compared with the arrival it tells how wrong the clock is.
	Sent time.Time `json:"sent"`
	// Agent is the version of the reporting program.
	Agent string `json:"agent,omitempty"`
	// Dropped is how many states, ever, the agent had to forget before it could send them. They were all superseded.
	Dropped int64 `json:"dropped,omitempty"`
	// Reports are what was observed, in the order of its times. At most [MaxReports].
	Reports []Report `json:"reports,omitempty"`
	// Present, when it is there, are all reconcilers of the cluster at the time of Sent, but for kinds in Unread. Others that the
	// server knows are gone. An agent says it when it starts, since it may have forgotten what it said of them, and when the server
	// asks to have everything again.
	Present *Present `json:"present,omitempty"`
}

// Present lists the reconcilers of a cluster.
//
// +kubebuilder:object:generate=false
type Present struct {
	// Reconcilers are at most [MaxPresent]; where there are more, Present is left out.
	Reconcilers []ReconcilerRef `json:"reconcilers"`
	// Unread are kinds that could not be read, so that nothing is known about them.
	Unread []string `json:"unread,omitempty"`
}

// ReconcilerRef names a reconciler: an object in the cluster.
//
// +kubebuilder:object:generate=false
type ReconcilerRef struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Reconciler names what the report is about.
func (r *Report) Reconciler() ReconcilerRef { return ReconcilerRef{r.Kind, r.Namespace, r.Name} }

// Gone is the report on a reconciler that is no longer in its cluster.
func (r ReconcilerRef) Gone(observed time.Time) Report {
	return Report{
		Kind: r.Kind, Namespace: r.Namespace, Name: r.Name,
		State: StateSuspended, Message: "no longer in the cluster", Observed: observed,
	}
}

// Report is what one reconciler follows, at which revision, in what state.
//
// A reconciler that is no longer in its cluster follows nothing: its repository, ref, path and revision are empty,
// its state is suspended.
//
// +kubebuilder:object:generate=false
type Report struct {
	// Kind, Namespace and Name are the reconciler: the object in the cluster. Namespace is empty for what is in none.
	// One that follows several sources is several reconcilers: from the second on, "#2" and so on is appended to the name.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`

	// Repository is the URL of the repository that it follows, without credentials; empty when it is not known.
	Repository string `json:"repository,omitempty"`
	// Ref is a branch by its name, or a tag as refs/tags/<name>.
	Ref string `json:"ref,omitempty"`
	// Path is the folder in the repository, relative to the root, which is "".
	Path string `json:"path,omitempty"`
	// Revision is the full hash of a commit, the digest of an artifact without its algorithm, or the version of a chart.
	// It is what was applied last, and of a reconciler that progresses or failed, what it tried to apply.
	Revision string `json:"revision,omitempty"`

	State State `json:"state"`
	// Message says more, on one line; at most [MaxMessage] bytes.
	Message string `json:"message,omitempty"`
	// Observed is when the cluster first saw it so, by its own clock. Later observations of a reconciler have later times,
	// whatever happens to the clock.
	Observed time.Time `json:"observed"`
}

// ReportReceipt is the answer to a batch that was taken.
//
// +kubebuilder:object:generate=false
type ReportReceipt struct {
	// Resend asks for the present state of every reconciler, because the server does not have it.
	Resend bool `json:"resend,omitempty"`
}

// NewReportBatch makes a batch. Its ID is made of its content.
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

// Check says everything that is wrong with a batch; nil means that it keeps to the format and its limits.
func (b *ReportBatch) Check() error {
	var problems []error
	if want := GroupVersion.String(); b.APIVersion != want || b.Kind != KindReportBatch {
		problems = append(problems, fmt.Errorf("it is a %.100q of %.100q, want %s of %s", b.Kind, b.APIVersion, KindReportBatch, want))
	}
	problems = append(problems, required("id", b.ID), bounded("id", b.ID, MaxName), bounded("cluster", b.Cluster, MaxName),
		bounded("agent", b.Agent, MaxName), instant("sent", b.Sent))
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

// Check says everything that is wrong with a report.
func (r *Report) Check() error {
	var state error
	if r.State.Severity() == 0 {
		state = fmt.Errorf("state is %.100q, want ready, progressing, failed or suspended", r.State)
	}
	return errors.Join(
		required("kind", r.Kind), required("name", r.Name),
		bounded("kind", r.Kind, MaxName), bounded("namespace", r.Namespace, MaxName), bounded("name", r.Name, MaxName+8),
		bounded("repository", r.Repository, MaxAddress), bounded("ref", r.Ref, MaxAddress), bounded("path", r.Path, MaxAddress),
		bounded("revision", r.Revision, MaxName), bounded("message", r.Message, MaxMessage), state, instant("observed", r.Observed),
	)
}

// SameReconciler says whether two reports are about one reconciler of a cluster.
func (r *Report) SameReconciler(o *Report) bool {
	return r.Kind == o.Kind && r.Namespace == o.Namespace && r.Name == o.Name
}

// SameOutcome says whether two reports say the same, whenever they were observed.
func (r *Report) SameOutcome(o *Report) bool {
	a, b := *r, *o
	a.Observed, b.Observed = time.Time{}, time.Time{}
	return a == b
}

func required(name, text string) error {
	if text == "" {
		return fmt.Errorf("%s is required", name)
	}
	return nil
}

// bounded wants a text of one line that is no longer than a limit.
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

// instant wants a time that ledgers can keep.
func instant(name string, t time.Time) error {
	if t.Year() < 1971 || t.Year() > 9999 {
		return fmt.Errorf("%s is %s, want a time", name, t.Format(time.RFC3339))
	}
	return nil
}
