package ingest

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/ledger"
	"github.com/kalypso-io/kalypso/internal/text/secret"

	hub "github.com/kalypso-io/kalypso/api/hub/v1alpha1"
)

// FluxEvent is what Flux's notification controller sends to providers of the types generic and generic-hmac.
type FluxEvent struct {
	InvolvedObject struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Namespace  string `json:"namespace"`
		Name       string `json:"name"`
	} `json:"involvedObject"`
	// Severity is info, error or trace.
	Severity            string            `json:"severity"`
	Timestamp           time.Time         `json:"timestamp"`
	Reason              string            `json:"reason"`
	Message             string            `json:"message"`
	Metadata            map[string]string `json:"metadata"`
	ReportingController string            `json:"reportingController"`
}

// ParseFluxEvent parses the body of an event and ignores unknown fields.
func ParseFluxEvent(body []byte) (*FluxEvent, error) {
	var e FluxEvent
	if err := parseEvent(body, &e); err != nil {
		return nil, err
	}
	return &e, nil
}

// FluxSigned reports whether a header X-Signature ("sha256=" and hexadecimal digits) is valid for a raw body and a key.
// It runs in constant time.
func FluxSigned(header string, body []byte, key secret.Value) bool {
	digits, ok := strings.CutPrefix(strings.TrimSpace(header), "sha256=")
	return ok && forge.Signed(digits, body, key)
}

// FluxKey returns the key with which a cluster signs its events, derived from a secret of the server and the cluster's
// credential. So a cluster can sign only for itself, the server stores no keys, and a key ends with the credential.
// The key is zero without a secret or a credential; it signs nothing.
func FluxKey(server secret.Value, r ledger.Registration) secret.Value {
	if server.IsZero() || r.Cluster == "" || r.CredentialHash == "" || r.Revoked {
		return secret.Value{}
	}
	mac := hmac.New(sha256.New, []byte(server.Reveal()))
	_, _ = mac.Write([]byte("kalypso flux events of cluster " + r.Cluster + " with credential " + r.CredentialHash))
	return secret.New(hex.EncodeToString(mac.Sum(nil)))
}

// TakeFlux stores an event of Flux's notification controller in a cluster; now is when it arrived.
// An event without a state of a reconciler counts as a heartbeat.
//
// Events do not contain the source of a reconciler. It is taken from the ledger. If the ledger has none, the source stays empty,
// and the state counts nowhere until an agent or a file reports the reconciler.
//
// Nor do events contain the health. It stays as it was reported if state and revision do, and is unknown otherwise.
func (i *Intake) TakeFlux(ctx context.Context, cluster string, event *FluxEvent, now time.Time) error {
	if err := event.check(); err != nil {
		return err
	}
	report, ok := event.report()
	clock, err := i.clockOf(ctx, arrival{cluster, report.Observed, now, []time.Time{report.Observed}})
	if err != nil {
		return err
	}
	if !ok {
		return i.record(ctx, cluster, nil, now)
	}
	f := fact(cluster, &report, spelling{})
	f.Observed, f.Received = clock.correct(report.Observed), now
	last, err := i.lastOutcome(ctx, f.Reconciler)
	if err != nil {
		return err
	}
	f.Source = last.Source
	if f.State == last.State && f.Revision == last.Revision {
		f.Applied, f.Health, f.Unhealthy = last.Applied, last.Health, last.Unhealthy
	}
	return i.record(ctx, cluster, []ledger.Report{f}, now)
}

// lastOutcome returns the known outcome of a reconciler; empty if there is none.
func (i *Intake) lastOutcome(ctx context.Context, id ledger.ReconcilerID) (ledger.Outcome, error) {
	page, err := i.Ledger.States(ctx, ledger.StateQuery{Cluster: id.Cluster})
	for _, s := range page.States {
		if s.Reconciler == id {
			return s.Outcome, err
		}
	}
	return ledger.Outcome{}, err
}

// check validates an event. It does not limit texts.
func (e *FluxEvent) check() error {
	o := &e.InvolvedObject
	switch {
	case o.Kind == "" || o.Name == "":
		return refuse(ErrInvalid, "involvedObject has no kind or no name")
	case e.Timestamp.Year() < 1971 || e.Timestamp.Year() > 9999:
		return refuse(ErrInvalid, "timestamp is missing or invalid")
	case e.Severity == "":
		return refuse(ErrInvalid, "severity is missing: is this a Flux event?")
	}
	return nil
}

// report returns the report in an event, without a source; ok is false if there is none.
func (e *FluxEvent) report() (hub.Report, bool) {
	o := &e.InvolvedObject
	state, final := e.state()
	r := hub.Report{
		Kind: oneLine(o.Kind, hub.MaxName), Namespace: oneLine(o.Namespace, hub.MaxName), Name: oneLine(o.Name, hub.MaxName),
		Revision: e.revision(), State: state, Observed: e.Timestamp.Truncate(time.Microsecond),
	}
	if state == hub.StateFailed {
		r.Message = e.Message // others contain durations and differ each time
	}
	if final {
		// Events have whole seconds. The result must be later than the progress.
		r.Observed = r.Observed.Add(time.Microsecond)
	}
	return r, state != "" && r.Kind != "" && r.Name != ""
}

// state returns the state of the reconciler and whether the reconciliation ended; "" if the event does not say.
// The reasons are those of the Ready condition.
func (e *FluxEvent) state() (state hub.State, final bool) {
	group, _, _ := strings.Cut(e.InvolvedObject.APIVersion, "/")
	switch group {
	case "source.toolkit.fluxcd.io", "image.toolkit.fluxcd.io", "notification.toolkit.fluxcd.io":
		return "", false // they apply nothing
	}
	switch e.Reason {
	case "ReconciliationSucceeded", "InstallSucceeded", "UpgradeSucceeded", "TestSucceeded":
		if e.Severity == "info" {
			return hub.StateReady, true
		}
	case "RollbackSucceeded", "UninstallSucceeded":
		return hub.StateFailed, true // the wanted version does not run
	case "Progressing", "ProgressingWithRetry", "DependencyNotReady":
		return hub.StateProgressing, false
	}
	if e.Severity == "error" {
		return hub.StateFailed, true
	}
	return "", false
}

// revision returns the revision in the metadata, whose key may have the controller's group as prefix.
func (e *FluxEvent) revision() string {
	if text, ok := e.Metadata["revision"]; ok {
		return revision(text)
	}
	for _, key := range slices.Sorted(maps.Keys(e.Metadata)) {
		if strings.HasSuffix(key, ".toolkit.fluxcd.io/revision") {
			return revision(e.Metadata[key])
		}
	}
	return ""
}
