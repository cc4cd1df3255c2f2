package message

import (
	"fmt"

	"github.com/cloudevents/sdk-go/v2/event"
)

// CloudEventType is the content type of a CloudEvent in structured mode.
// https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/http-protocol-binding.md
const CloudEventType = "application/cloudevents+json; charset=utf-8"

// types are the types of CloudEvents. They are an interface, documented in docs/reference/notifications.md.
var types = map[Kind]string{
	Waiting:    "io.kalypso.promotion.waiting",
	Failed:     "io.kalypso.promotion.failed",
	RolledBack: "io.kalypso.promotion.rolledback",
	Done:       "io.kalypso.promotion.done",
	Test:       "io.kalypso.test",
}

// data is the data of a CloudEvent: the event, with what receivers would otherwise have to compute.
type data struct {
	Event
	Severity Severity `json:"severity"`
	Title    string   `json:"title"`
	URL      string   `json:"url,omitempty"`
}

// CloudEvent returns an event as JSON in structured mode. The source is the server.
func CloudEvent(e Event, server string) ([]byte, error) {
	c := event.New(event.CloudEventsVersionV1)
	c.SetID(e.ID)
	c.SetSource(server)
	c.SetType(types[e.Kind])
	c.SetTime(e.At.UTC())
	if e.Environment != "" {
		c.SetSubject(e.subject())
	}
	if err := c.SetData(event.ApplicationJSON, data{Event: e, Severity: e.Kind.Severity(), Title: e.Title(), URL: e.Page(server)}); err != nil {
		return nil, fmt.Errorf("encode the event: %w", err)
	}
	text, err := c.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encode the event: %w", err)
	}
	return text, nil
}

// subject is the application and its environment, "shop/prod"; for a control plane, the environment.
func (e Event) subject() string {
	if e.Workload == "" {
		return e.Environment
	}
	return e.Workload + "/" + e.Environment
}
