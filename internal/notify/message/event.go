// Package message holds what people are told about a promotion, as an [Event], and its text for each kind of receiver.
//
//	Event ─┬─► CloudEvent   JSON in CloudEvents' structured mode
//	       ├─► Slack        an incoming webhook's blocks
//	       ├─► Teams        an adaptive card for a workflow's webhook
//	       ├─► Mail         subject and text
//	       └─► Flux         an event of Flux's notification controller
//
// Names, reasons and errors come from repositories and clusters. Each format escapes them, so that they cannot mention people,
// become links or add headers.
package message

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/kalypso-io/kalypso/internal/fleet"
	"github.com/kalypso-io/kalypso/internal/text/visible"
)

// Kind is the kind of an event.
type Kind string

// The kinds of events.
const (
	// Waiting means that a user has to act.
	Waiting Kind = "waiting"
	// Failed means that the rollout of a commit failed, or that a deployed commit no longer runs.
	Failed Kind = "failed"
	// RolledBack means that an environment went back to an earlier commit.
	RolledBack Kind = "rolledBack"
	// Done means that a commit, or a later change of the environment, is deployed.
	Done Kind = "done"
	// Test is a message that a user requested to test a receiver.
	Test Kind = "test"
)

// Kinds are those that routes can select.
var Kinds = []Kind{Waiting, Failed, RolledBack, Done}

// Severity says how urgent an event is.
type Severity string

// The severities, in Flux's words.
const (
	Info  Severity = "info"
	Error Severity = "error"
)

// Severity returns the severity of events of a kind.
func (k Kind) Severity() Severity {
	if k == Failed || k == RolledBack {
		return Error
	}
	return Info
}

// Event is something that people may want to know. It is stored in the outbox as JSON, and is the data of CloudEvents.
type Event struct {
	// ID is the same whenever, and by whichever server, the event is derived from the ledger.
	ID   string    `json:"id"`
	Kind Kind      `json:"kind"`
	At   time.Time `json:"at"`
	// Subject is the URL of a control plane, or of an application's source with "#" and the workload.
	Subject string `json:"subject,omitempty"`
	// Environment is the name of an environment; of a ring in it, the environment, "/" and the ring.
	Environment string `json:"environment,omitempty"`
	// Workload and Workspace are those of an application; empty for a control plane.
	Workload  string `json:"workload,omitempty"`
	Workspace string `json:"workspace,omitempty"`
	Commit    string `json:"commit,omitempty"`
	// Version is the built version of an application's commit, if it is known.
	Version string `json:"version,omitempty"`
	// Revision is the commit of the GitOps branch.
	Revision string `json:"revision,omitempty"`
	// From is the commit that a rollback replaced.
	From string `json:"from,omitempty"`
	// By is the user who took the commit back, aborted it, or requested the earlier one; empty if the rules did it.
	By string `json:"by,omitempty"`
	// Reason is why it failed, what a user has to do, or why it went back.
	Reason string `json:"reason,omitempty"`
}

// Place is the application or platform and its environment, such as "shop in prod".
func (e Event) Place() string {
	what := e.Workload
	if what == "" {
		what = "platform"
	}
	return what + " in " + e.Environment
}

// what is the version or the short commit.
func (e Event) what() string {
	if e.Version != "" {
		return e.Version
	}
	return fleet.ShortCommit(e.Commit)
}

// Title says what happened, on one line.
func (e Event) Title() string {
	switch e.Kind {
	case Waiting:
		return visible.Line(e.Place() + " waits for a person")
	case Failed:
		return visible.Line(fmt.Sprintf("%s: %s failed", e.Place(), e.what()))
	case RolledBack:
		return visible.Line(fmt.Sprintf("%s: rolled back to %s", e.Place(), e.what()))
	case Done:
		return visible.Line(fmt.Sprintf("%s: %s is deployed", e.Place(), e.what()))
	default:
		return "Test message of Kalypso"
	}
}

// maxReason limits a reason in a message, in characters. A page or pull request has the whole.
const maxReason = 1500

// reason is the reason as one line of plain text.
func (e Event) reason() string {
	text := []rune(visible.Line(e.Reason))
	if len(text) > maxReason {
		return string(text[:maxReason]) + "..."
	}
	return string(text)
}

// Page returns the page of the event on a server; empty without a server.
func (e Event) Page(server string) string {
	server = strings.TrimSuffix(server, "/")
	environment, _, _ := strings.Cut(e.Environment, "/")
	switch {
	case server == "" || e.Kind == Test:
		return server
	case e.Workload != "":
		return server + "/workloads/" + url.PathEscape(e.Workload)
	default:
		return server + "/environments/" + url.PathEscape(environment)
	}
}

// fact is a named detail.
type fact struct{ name, value string }

// facts returns the details that are set, in a fixed order.
func (e Event) facts() []fact {
	repository := strings.TrimSuffix(e.Subject, "#"+e.Workload)
	var set []fact
	for _, f := range []fact{
		{"Environment", e.Environment},
		{"Application", e.Workload},
		{"Workspace", e.Workspace},
		{"Version", e.Version},
		{"Commit", e.Commit},
		{"Was", e.From},
		{"By", e.By},
		{"Repository", repository},
		{"Time", e.At.UTC().Format("2006-01-02 15:04:05 UTC")},
	} {
		if f.value = visible.Line(f.value); f.value != "" {
			set = append(set, f)
		}
	}
	return set
}
