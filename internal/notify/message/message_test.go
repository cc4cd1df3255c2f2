package message_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/kalypso-io/kalypso/internal/notify/message"
)

const server = "https://kalypso.example/"

// hostile has what formats give a meaning to.
var hostile = message.Event{
	ID: "6e44", Kind: message.Failed, At: time.Date(2026, 11, 20, 10, 5, 0, 0, time.UTC), Subject: "https://git.example/team/shop#shop",
	Environment: "prod/canary", Workload: "shop", Workspace: "kaizen", Commit: strings.Repeat("a", 40),
	Reason: "<!channel> <@U1> [click](https://evil.example) *bold* @all\r\nnext\u202eline",
}

func body(t *testing.T, format func(message.Event, string) ([]byte, error)) string {
	t.Helper()
	text, err := format(hostile, server)
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return string(text)
}

func TestSlack(t *testing.T) {
	var m struct {
		Text   string
		Blocks []struct {
			Type   string
			Text   struct{ Type, Text string }
			Fields []struct{ Type, Text string }
		}
	}
	if err := json.Unmarshal([]byte(body(t, message.Slack)), &m); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(m.Text, "<>") || !strings.Contains(m.Text, "&lt;!channel&gt;") {
		t.Errorf("the text mentions people: %q", m.Text)
	}
	formatted := 0
	for _, b := range m.Blocks {
		if b.Text.Type == "mrkdwn" {
			formatted++
			if b.Text.Text != "<https://kalypso.example/workloads/shop|Open in Kalypso>" {
				t.Errorf("formatted text %q", b.Text.Text)
			}
		}
		for _, f := range b.Fields {
			if f.Type != "plain_text" {
				t.Errorf("field %+v", f)
			}
		}
	}
	if formatted != 1 || m.Blocks[0].Text.Text != "shop in prod/canary: aaaaaaa failed" {
		t.Errorf("got %+v", m)
	}
}

func TestTeams(t *testing.T) {
	text := body(t, message.Teams)
	for _, bad := range []string{"[click](", "*bold*\"", "<@U1>", "\u202e"} {
		if strings.Contains(text, bad) {
			t.Errorf("%q is in %s", bad, text)
		}
	}
	for _, want := range []string{`"contentType":"application/vnd.microsoft.card.adaptive"`, `"version":"1.4"`, `"type":"Action.OpenUrl"`, `"color":"attention"`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}

func TestFlux(t *testing.T) {
	text := body(t, message.Flux)
	for _, want := range []string{
		`"involvedObject":{"apiVersion":"scheduler.kalypso.io/v1alpha1","kind":"Workload","name":"shop"}`, `"severity":"error"`,
		`"reason":"RolloutFailed"`, `"timestamp":"2026-11-20T10:05:00Z"`, `"reportingController":"kalypso"`, `"environment":"prod/canary"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}

func TestMail(t *testing.T) {
	subject, text := message.Mail(hostile, server)
	if subject != "[kalypso] shop in prod/canary: aaaaaaa failed" || strings.Contains(text, "\r") || strings.Contains(text, "\u202e") ||
		!strings.Contains(text, "Workspace:   kaizen\n") || !strings.HasSuffix(text, "\nhttps://kalypso.example/workloads/shop\n") {
		t.Errorf("%q\n%s", subject, text)
	}
}

// TestPages: the page of a ring is that of its environment.
func TestPages(t *testing.T) {
	for want, e := range map[string]message.Event{
		"https://kalypso.example/environments/prod": {Kind: message.Done, Environment: "prod/canary"},
		"https://kalypso.example/workloads/a%2Fb":   {Kind: message.Done, Environment: "prod", Workload: "a/b"},
		"https://kalypso.example":                   {Kind: message.Test},
	} {
		if got := e.Page(server); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := (message.Event{Kind: message.Done, Environment: "prod"}).Page(""); got != "" {
		t.Errorf("without a server: %q", got)
	}
}
