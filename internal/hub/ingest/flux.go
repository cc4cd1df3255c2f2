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

// ParseFluxEvent reads the body of an event. Fields that are not known are ignored.
func ParseFluxEvent(body []byte) (*FluxEvent, error) {
	var e FluxEvent
	if err := parseEvent(body, &e); err != nil {
		return nil, err
	}
	return &e, nil
}

// FluxSigned says whether a header X-Signature ("sha256=" and hexadecimal digits) is that of a body, under a key.
// The body is what was sent, before it is parsed. It takes the same time whatever is wrong.
func FluxSigned(header string, body []byte, key secret.Value) bool {
	digits, ok := strings.CutPrefix(strings.TrimSpace(header), "sha256=")
	return ok && forge.Signed(digits, body, key)
}

// FluxKey is the key with which one cluster signs its events, made from a secret of the server and the credential of the
// cluster: so that a cluster can only sign for itself, the server keeps no key of each, and a key ends with the credential
// that it was given with. Without a secret or a credential there is no key, and nothing is signed with that.
func FluxKey(server secret.Value, r ledger.Registration) secret.Value {
	if server.IsZero() || r.Cluster == "" || r.CredentialHash == "" || r.Revoked {
		return secret.Value{}
	}
	mac := hmac.New(sha256.New, []byte(server.Reveal()))
	_, _ = mac.Write([]byte("kalypso flux events of cluster " + r.Cluster + " with credential " + r.CredentialHash))
	return secret.New(hex.EncodeToString(mac.Sum(nil)))
}

// TakeFlux takes an event of Flux's notification controller in a cluster; now is when it arrived.
// Events that say nothing about the state of a reconciler only show that the cluster is alive.
//
// Events do not say what a reconciler follows. What the ledger knows of it counts, and if that is nothing, the source is empty:
// the event is kept, and counts nowhere until an agent or a file says more about the reconciler.
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
	if f.Source, err = i.sourceOf(ctx, f.Reconciler); err != nil {
		return err
	}
	return i.record(ctx, cluster, []ledger.Report{f}, now)
}

// sourceOf is what a reconciler is known to follow.
func (i *Intake) sourceOf(ctx context.Context, id ledger.ReconcilerID) (ledger.Source, error) {
	page, err := i.Ledger.States(ctx, ledger.StateQuery{Cluster: id.Cluster})
	for _, s := range page.States {
		if s.Reconciler == id {
			return s.Source, err
		}
	}
	return ledger.Source{}, err
}

// check says what is wrong with an event. Its texts may be of any length and content.
func (e *FluxEvent) check() error {
	o := &e.InvolvedObject
	switch {
	case o.Kind == "" || o.Name == "":
		return refuse(ErrInvalid, "involvedObject has no kind or no name")
	case e.Timestamp.Year() < 1971 || e.Timestamp.Year() > 9999:
		return refuse(ErrInvalid, "timestamp is missing, or no time of this world")
	case e.Severity == "":
		return refuse(ErrInvalid, "severity is missing: is this an event of Flux?")
	}
	return nil
}

// report is what an event says, without a source; there may be nothing.
func (e *FluxEvent) report() (hub.Report, bool) {
	o := &e.InvolvedObject
	state, final := e.state()
	r := hub.Report{
		Kind: oneLine(o.Kind, hub.MaxName), Namespace: oneLine(o.Namespace, hub.MaxName), Name: oneLine(o.Name, hub.MaxName),
		Revision: e.revision(), State: state, Observed: e.Timestamp.Truncate(time.Microsecond),
	}
	if state == hub.StateFailed {
		r.Message = e.Message // others say how long it took, and are new each time
	}
	if final {
		// Events have whole seconds. What a reconciliation came to comes after that it was under way.
		r.Observed = r.Observed.Add(time.Microsecond)
	}
	return r, state != "" && r.Kind != "" && r.Name != ""
}

// state is how the reconciler is doing, and whether it has come to an end; "" when the event does not say.
// The reasons are those that the Ready condition has.
func (e *FluxEvent) state() (state hub.State, final bool) {
	group, _, _ := strings.Cut(e.InvolvedObject.APIVersion, "/")
	switch group {
	case "source.toolkit.fluxcd.io", "image.toolkit.fluxcd.io", "notification.toolkit.fluxcd.io":
		return "", false // those apply nothing
	}
	switch e.Reason {
	case "ReconciliationSucceeded", "InstallSucceeded", "UpgradeSucceeded", "TestSucceeded":
		if e.Severity == "info" {
			return hub.StateReady, true
		}
	case "RollbackSucceeded", "UninstallSucceeded":
		return hub.StateFailed, true // what should run does not
	case "Progressing", "ProgressingWithRetry", "DependencyNotReady":
		return hub.StateProgressing, false
	}
	if e.Severity == "error" {
		return hub.StateFailed, true
	}
	return "", false
}

// revision is the one that the metadata names, with or without the group of the controller before it.
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
