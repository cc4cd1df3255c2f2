package message

import (
	"encoding/json"

	"github.com/kalypso-io/kalypso/internal/text/markdown"
)

// The message that a workflow of Microsoft Teams takes, with an adaptive card:
// https://learn.microsoft.com/en-us/microsoftteams/platform/webhooks-and-connectors/how-to/connectors-using
// https://adaptivecards.io/explorer/
type teamsMessage struct {
	Type        string            `json:"type"`
	Attachments []teamsAttachment `json:"attachments"`
}

type teamsAttachment struct {
	ContentType string    `json:"contentType"`
	ContentURL  *string   `json:"contentUrl"` // null
	Content     teamsCard `json:"content"`
}

type teamsCard struct {
	Schema  string         `json:"$schema"`
	Type    string         `json:"type"`
	Version string         `json:"version"`
	Body    []teamsElement `json:"body"`
	Actions []teamsAction  `json:"actions,omitempty"`
}

type teamsElement struct {
	Type   string      `json:"type"`
	Text   string      `json:"text,omitempty"`
	Weight string      `json:"weight,omitempty"`
	Size   string      `json:"size,omitempty"`
	Color  string      `json:"color,omitempty"`
	Wrap   bool        `json:"wrap,omitempty"`
	Facts  []teamsFact `json:"facts,omitempty"`
}

type teamsFact struct {
	Title string `json:"title"`
	Value string `json:"value"`
}

type teamsAction struct {
	Type  string `json:"type"`
	Title string `json:"title"`
	URL   string `json:"url"`
}

// colors are the colors of titles, by kind.
var colors = map[Kind]string{Waiting: "warning", Failed: "attention", RolledBack: "warning", Done: "good"}

// Teams returns the body for the webhook of a Microsoft Teams workflow. Text blocks and facts are Markdown there.
func Teams(e Event, server string) ([]byte, error) {
	card := teamsCard{
		Schema: "http://adaptivecards.io/schemas/adaptive-card.json", Type: "AdaptiveCard", Version: "1.4",
		Body: []teamsElement{{Type: "TextBlock", Text: markdown.Escape(e.Title()), Weight: "Bolder", Size: "Medium", Color: colors[e.Kind], Wrap: true}},
	}
	if why := e.reason(); why != "" {
		card.Body = append(card.Body, teamsElement{Type: "TextBlock", Text: markdown.Escape(why), Wrap: true})
	}
	facts := teamsElement{Type: "FactSet"}
	for _, f := range e.facts() {
		facts.Facts = append(facts.Facts, teamsFact{f.name, markdown.Escape(f.value)})
	}
	card.Body = append(card.Body, facts)
	if page := e.Page(server); page != "" {
		card.Actions = []teamsAction{{Type: "Action.OpenUrl", Title: "Open in Kalypso", URL: page}}
	}
	return json.Marshal(teamsMessage{
		Type: "message", Attachments: []teamsAttachment{{ContentType: "application/vnd.microsoft.card.adaptive", Content: card}},
	})
}
