package pullrequest

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kalypso-io/kalypso/internal/check"
	"github.com/kalypso-io/kalypso/internal/forge"
)

func TestDeletionStatus(t *testing.T) {
	labelled := &forge.PullRequest{State: forge.Open, Labels: []string{LabelAllowDeletions}}
	refused := Draft{Removals: 8, Allowed: 5, Refusal: "8 removals exceed the deletion budget of 5"}
	for name, tc := range map[string]struct {
		open  *forge.PullRequest
		draft Draft
		state forge.StatusState
		text  string
	}{
		"within the budget": {nil, Draft{Removals: 3, Allowed: 5}, forge.Success, "3 removals, within the budget of 5"},
		"beyond it":         {nil, refused, forge.Failure, "8 removals exceed the deletion budget of 5; the label kalypso/allow-deletions approves them"},
		"without the label": {&forge.PullRequest{}, refused, forge.Failure, "8 removals exceed the deletion budget of 5; the label kalypso/allow-deletions approves them"},
		"with the label":    {labelled, refused, forge.Success, "8 removals, approved by the label kalypso/allow-deletions"},
	} {
		if got := (&PullRequest{Open: tc.open}).deletionStatus(tc.draft); got.State != tc.state || got.Description != tc.text {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestWhatIsBrokenFailsTheChecks(t *testing.T) {
	refusal := []check.Finding{{Level: check.Refuse, Message: "a secret"}}
	for _, tc := range []struct {
		findings []check.Finding
		broken   string
		want     forge.StatusState
	}{{nil, "", forge.Success}, {refusal, "", forge.Failure}, {nil, "target web cannot be rendered", forge.Failure}} {
		if got := CheckStatus(tc.findings, tc.broken); got.State != tc.want {
			t.Errorf("%+v: got %+v", tc, got)
		}
	}
}

func TestTextShowsThatRemovalsAreApproved(t *testing.T) {
	page := func(int, bool) string { return "the plan\n" }
	p := &PullRequest{Base: "dev"}
	for refusal, want := range map[string]bool{"8 removals": true, "": false} {
		text := p.text(Draft{Page: page, Refusal: refusal, Source: "Scheduled by Kalypso from", From: "dev@1"}, true, 0)
		if got := strings.Contains(text, "approved by the label"); got != want {
			t.Errorf("%q:\n%s", refusal, text)
		}
	}
}

// Whatever the page does with its limit, the text with its mark has at most as many bytes as the forge takes characters.
func TestTextFitsTheForge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(1500, 70_000).Draw(t, "limit")
		words := rapid.SampledFrom([]string{"long ", "größer ", "語"}).Draw(t, "words")
		p := &PullRequest{Base: "dev", Limits: forge.Limits{Body: limit}}
		page := func(limit int, _ bool) string {
			text := strings.Repeat(words, 20_000)
			return strings.ToValidUTF8(text[:min(limit, len(text))], "")
		}
		d := Draft{Page: page, Refusal: "8 removals", Source: "Scheduled by Kalypso from", From: "dev@1"}
		proposal := &Proposal{Body: func(limit int) string { return p.text(d, true, limit) }}
		body := p.body(proposal, &Mark{Commit: "c"})
		if len(body) > limit || MarkOf(body).Commit != "c" || !strings.Contains(body, "Merging it publishes it") {
			t.Fatalf("limit %d: %d bytes, mark %+v", limit, len(body), MarkOf(body))
		}
	})
}

// A page that ignores its limit is cut before the mark.
func TestTextIsCutBeforeTheMark(t *testing.T) {
	p := &PullRequest{Limits: forge.Limits{Body: 1000}}
	body := p.body(&Proposal{Body: func(int) string { return strings.Repeat("long ", 1000) }}, &Mark{Commit: "c"})
	if len(body) > 1002 || MarkOf(body).Commit != "c" { // an ellipsis is one character, of three bytes
		t.Errorf("%d bytes, mark %+v", len(body), MarkOf(body))
	}
}
