package message

import (
	"encoding/json"
	"time"
)

// FluxController is the name under which Flux events are reported.
const FluxController = "kalypso"

// fluxEvent is an event as Flux's notification controller sends it to a generic provider:
// https://fluxcd.io/flux/components/notification/providers/#generic-webhook
// https://fluxcd.io/flux/components/notification/events/
type fluxEvent struct {
	InvolvedObject      fluxObject        `json:"involvedObject"`
	Severity            Severity          `json:"severity"`
	Timestamp           time.Time         `json:"timestamp"`
	Message             string            `json:"message"`
	Reason              string            `json:"reason"`
	Metadata            map[string]string `json:"metadata,omitempty"`
	ReportingController string            `json:"reportingController"`
	ReportingInstance   string            `json:"reportingInstance,omitempty"`
}

type fluxObject struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Name       string `json:"name"`
}

// reasons are the reasons of Flux events: words in camel case.
var reasons = map[Kind]string{Waiting: "WaitingForPerson", Failed: "RolloutFailed", RolledBack: "RolledBack", Done: "RolloutSucceeded", Test: "Test"}

// Flux returns an event in the format of Flux's notification controller. The object is the workload or the environment.
func Flux(e Event, server string) ([]byte, error) {
	f := fluxEvent{
		InvolvedObject: fluxObject{APIVersion: "scheduler.kalypso.io/v1alpha1", Kind: "Environment", Name: e.Environment},
		Severity:       e.Kind.Severity(), Timestamp: e.At.UTC().Truncate(time.Second), Message: e.Title(), Reason: reasons[e.Kind],
		ReportingController: FluxController, ReportingInstance: server, Metadata: map[string]string{"id": e.ID},
	}
	if e.Workload != "" {
		f.InvolvedObject.Kind, f.InvolvedObject.Name = "Workload", e.Workload
	}
	if why := e.reason(); why != "" {
		f.Message += ": " + why
	}
	for key, value := range map[string]string{
		"environment": e.Environment, "workspace": e.Workspace, "revision": e.Commit, "version": e.Version, "url": e.Page(server),
	} {
		if value != "" {
			f.Metadata[key] = value
		}
	}
	return json.Marshal(f)
}
