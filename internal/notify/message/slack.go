package message

import (
	"encoding/json"
	"strings"
)

// The limits of Slack, in characters: https://docs.slack.dev/reference/block-kit/blocks/section-block
const (
	maxSlackHeader = 150
	maxSlackText   = 3000
	maxSlackField  = 500
)

// slackText escapes what Slack looks for in formatted text, so that it has no mentions and no links:
// https://docs.slack.dev/messaging/formatting-message-text
var slackText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

type slackMessage struct {
	// Text is shown in notifications.
	Text        string       `json:"text"`
	Markdown    bool         `json:"mrkdwn"`
	Blocks      []slackBlock `json:"blocks"`
	UnfurlLinks bool         `json:"unfurl_links"`
	UnfurlMedia bool         `json:"unfurl_media"`
}

type slackBlock struct {
	Type   string       `json:"type"`
	Text   *slackObject `json:"text,omitempty"`
	Fields []slackPlain `json:"fields,omitempty"`
}

// slackObject is formatted text of ours, or text that Slack shows as it is.
type slackObject struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type slackPlain struct {
	slackObject
	// Emoji is false: names with colons stay as they are.
	Emoji bool `json:"emoji"`
}

// Slack returns the body for a Slack incoming webhook. Only the link to the page is formatted text.
func Slack(e Event, server string) ([]byte, error) {
	m := slackMessage{
		Text:   slackText.Replace(e.Title()),
		Blocks: []slackBlock{{Type: "header", Text: plainText(e.Title(), maxSlackHeader)}},
	}
	if why := e.reason(); why != "" {
		m.Text += ": " + slackText.Replace(why)
		m.Blocks = append(m.Blocks, slackBlock{Type: "section", Text: plainText(why, maxSlackText)})
	}
	facts := slackBlock{Type: "section"}
	for _, f := range e.facts() {
		facts.Fields = append(facts.Fields, slackPlain{slackObject: *plainText(f.name+": "+f.value, maxSlackField)})
	}
	m.Blocks = append(m.Blocks, facts)
	if page := e.Page(server); page != "" {
		link := "<" + strings.NewReplacer("&", "&amp;", "<", "%3C", ">", "%3E", "|", "%7C").Replace(page) + "|Open in Kalypso>"
		m.Blocks = append(m.Blocks, slackBlock{Type: "section", Text: &slackObject{Type: "mrkdwn", Text: link}})
	}
	return json.Marshal(m)
}

func plainText(text string, limit int) *slackObject {
	return &slackObject{Type: "plain_text", Text: cut(text, limit)}
}

// cut shortens text to a number of characters.
func cut(text string, limit int) string {
	if r := []rune(text); len(r) > limit {
		return string(r[:limit-3]) + "..."
	}
	return text
}
