package ingest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// KindArgoNotification is the kind of an [ArgoNotification].
const KindArgoNotification = "ArgoNotification"

// ArgoNotification is what a template for Argo CD's notifications sends about an application.
// docs/reference/reports.md has the template, which sends only what is needed.
type ArgoNotification struct {
	APIVersion string `json:"apiVersion"` // hub.kalypso.io/v1alpha1
	Kind       string `json:"kind"`       // ArgoNotification
	Namespace  string `json:"namespace"`
	Name       string `json:"name"`
	// Destination is the name or the URL of the cluster that it applies to. Default: the cluster of Argo CD.
	Destination string `json:"destination,omitempty"`
	// Sources are those of the application's specification.
	Sources []ArgoSource `json:"sources"`
	// Revisions are those of the sync status, Operated those of the last operation: one for each source.
	Revisions []string `json:"revisions"`
	Operated  []string `json:"operated"`
	// Sync and Health are the statuses, Phase is that of the last operation.
	Sync   string `json:"sync"`
	Health string `json:"health"`
	Phase  string `json:"phase"`
	// Message is that of the last operation, HealthMessage that of the health.
	Message       string `json:"message"`
	HealthMessage string `json:"healthMessage"`
	// Automated means that the application syncs automatically.
	Automated bool `json:"automated"`
	// Sent is when it was created, by the clock of the cluster; defaults to the time of arrival.
	Sent time.Time `json:"sent"`
}

// ArgoSource is one source of an application.
type ArgoSource struct {
	RepoURL        string `json:"repoURL"`
	Path           string `json:"path"`
	Chart          string `json:"chart"`
	TargetRevision string `json:"targetRevision"`
}

// ParseArgoNotification parses the body of a notification and ignores unknown fields.
func ParseArgoNotification(body []byte) (*ArgoNotification, error) {
	var n ArgoNotification
	if err := parseEvent(body, &n); err != nil {
		return nil, err
	}
	return &n, nil
}

// TakeArgo stores a notification of Argo CD in a cluster; now is when it arrived.
func (i *Intake) TakeArgo(ctx context.Context, cluster string, n *ArgoNotification, now time.Time) error {
	sent := n.Sent.Truncate(time.Microsecond)
	if sent.IsZero() {
		sent = now
	}
	if err := n.check(sent); err != nil {
		return err
	}
	clock, err := i.clockOf(ctx, arrival{cluster, sent, now, []time.Time{sent}})
	if err != nil {
		return err
	}
	return i.store(ctx, cluster, n.reports(sent), clock, now)
}

// maxSources limits the sources of an application.
const maxSources = 100

func (n *ArgoNotification) check(sent time.Time) error {
	switch want := hub.GroupVersion.String(); {
	case n.APIVersion != want || n.Kind != KindArgoNotification:
		return refuse(ErrInvalid, "it is a %.100q of %.100q, want %s of %s: use the template in the documentation", n.Kind, n.APIVersion, KindArgoNotification, want)
	case n.Name == "":
		return refuse(ErrInvalid, "name is missing")
	case len(n.Sources) > maxSources:
		return refuse(ErrInvalid, "%d sources, want at most %d", len(n.Sources), maxSources)
	case !slices.Contains([]string{"", "in-cluster", "https://kubernetes.default.svc"}, strings.TrimSuffix(n.Destination, "/")):
		return refuse(ErrDenied, "the application applies to another cluster, %.253q: notifications are only about the cluster of Argo CD; use the agent with --destination",
			oneLine(n.Destination, hub.MaxName))
	case sent.Year() < 1971 || sent.Year() > 9999:
		return refuse(ErrInvalid, "sent is not a valid time")
	}
	return nil
}

// reports returns a report for each source, like those of the agent.
func (n *ArgoNotification) reports(observed time.Time) []hub.Report {
	sources := n.Sources
	if len(sources) == 0 {
		sources = []ArgoSource{{}}
	}
	state, text := n.state()
	health := hub.ParseHealth(n.Health)
	if n.Sync != "Synced" && n.Sync != "OutOfSync" {
		health = "" // what it was before Argo CD could not compare any more
	}
	reports := make([]hub.Report, len(sources))
	for i, s := range sources {
		reports[i] = hub.Report{
			Kind: "Application", Namespace: oneLine(n.Namespace, hub.MaxName), Name: oneLine(n.Name, hub.MaxName),
			Repository: s.RepoURL, Ref: s.ref(), Path: s.Path, Revision: n.revision(i),
			State: state, Message: text, Observed: observed, Applied: n.applied(i), Health: health,
		}
		if s.Chart != "" {
			reports[i].Path = s.Chart
		}
		if i > 0 {
			reports[i].Name += fmt.Sprintf("#%d", i+1)
		}
	}
	return reports
}

// applied returns the revision of a source that was synced last; empty if it is unknown.
func (n *ArgoNotification) applied(source int) string {
	if n.Sync == "Synced" && n.Phase != "Running" {
		return n.revision(source)
	}
	return ""
}

// ref returns the branch that is followed. A chart has a version and no ref.
func (s ArgoSource) ref() string {
	switch {
	case s.Chart != "":
		return ""
	case s.TargetRevision == "" && s.RepoURL != "":
		return "HEAD"
	}
	return s.TargetRevision
}

// state derives the state from the sync status, the health and the last operation.
// An unknown sync status is neither ready nor failed: the previous revision may still run.
func (n *ArgoNotification) state() (hub.State, string) {
	switch {
	case n.operationFailed():
		return hub.StateFailed, n.Message
	case n.Phase == "Running":
		return hub.StateProgressing, "is syncing"
	case n.Sync == "OutOfSync" && !n.Automated:
		return hub.StateSuspended, "is out of sync, and syncs only manually"
	case n.Sync == "OutOfSync":
		return hub.StateProgressing, "is out of sync"
	case n.Sync != "Synced":
		return hub.StateProgressing, "cannot be compared"
	}
	switch n.Health {
	case "Healthy":
		return hub.StateReady, ""
	case "Degraded":
		return hub.StateFailed, strings.TrimSuffix("health is Degraded: "+n.HealthMessage, ": ")
	case "Suspended":
		return hub.StateSuspended, n.HealthMessage
	case "":
		return hub.StateProgressing, "health is not known yet"
	}
	return hub.StateProgressing, "health is " + n.Health // Progressing, Missing, Unknown
}

// operationFailed reports whether the last operation failed for the current revisions.
func (n *ArgoNotification) operationFailed() bool {
	if n.Phase != "Failed" && n.Phase != "Error" || n.Sync == "Synced" {
		return false
	}
	return len(n.Operated) == 0 || len(n.Revisions) == 0 || slices.Equal(n.Operated, n.Revisions)
}

// revision returns the revision of a source that runs. The sync status has the wanted one, which runs only if it is in sync.
func (n *ArgoNotification) revision(source int) string {
	of := n.Operated
	if n.Sync == "Synced" {
		of = n.Revisions
	}
	if source >= len(of) {
		return ""
	}
	return of[source]
}
