package model

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kalypso-io/kalypso/internal/fleet/casetest"
)

// fleets are those of cases that are written by hand.
var fleets = map[string][]placeConfig{
	"two environments": {
		{name: "dev", after: -1, clusters: 1, smoke: true, users: true},
		{name: "stage", clusters: 1, soak: 2, users: true},
	},
	"two clusters": {
		{name: "dev", after: -1, clusters: 2},
		{name: "stage", clusters: 1, soak: 2},
	},
	"by hand": {
		{name: "dev", after: -1, clusters: 1, users: true, back: true, delivers: true},
		{name: "stage", clusters: 1, byHand: true, users: true, back: true},
	},
	"rings": {
		{name: "dev", after: -1, users: true},
		{name: "canary", ring: true, clusters: 1, soak: 2, users: true, back: true},
		{name: "others", ring: true, clusters: 2, users: true, back: true},
	},
	"rings and an environment": {
		{name: "dev", after: -1, users: true},
		{name: "canary", ring: true, clusters: 1, users: true},
		{name: "others", ring: true, clusters: 1, users: true},
		{name: "stage", clusters: 1, soak: 2, users: true},
	},
}

// TestCompared shows what decide does where other systems have rules of their own. The text of each case says what the other one does, and
// section Compared of docs/reference/promotion.md why this one differs.
func TestCompared(t *testing.T) { runCases(t, "testdata/compared/*.txtar", true) }

// TestFound replays sequences of events that the model found, and that led to a violation before they were mended. Events that cannot happen any
// more are left out.
func TestFound(t *testing.T) { runCases(t, "testdata/found/*.txtar", false) }

func runCases(t *testing.T, pattern string, all bool) {
	casetest.Run(t, pattern, func(t *testing.T, c casetest.Case) {
		var is struct{ Fleet string }
		if err := yaml.UnmarshalStrict([]byte(c.Text("case")), &is); err != nil {
			t.Fatal(err)
		}
		m := newModel(configuration{
			places: fleets[is.Fleet], commits: maxCommits - 1, faults: 9, commands: maxOrders - 1, records: true,
			events: []kind{failsThere, breaks, cuts, drifts, failsSmoke, pauses, closes, rollsBack, requests, aborts},
		})
		if m.places == nil {
			t.Fatalf("there is no fleet %q", is.Fleet)
		}
		got := m.replay(t, strings.Split(strings.TrimSpace(c.Text("events")), "\n"))
		if all && strings.Contains(got, "not: ") {
			t.Errorf("some events cannot happen:\n%s", got)
		}
		c.Golden(t, "then", got)
	})
}
