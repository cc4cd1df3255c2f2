package web_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/kalypso-io/kalypso/internal/forge"
	"github.com/kalypso-io/kalypso/internal/hub/query"
	"github.com/kalypso-io/kalypso/internal/promote"
	"github.com/kalypso-io/kalypso/internal/promote/decide"
	"github.com/kalypso-io/kalypso/internal/schedule"
	"github.com/kalypso-io/kalypso/internal/schedule/plan"
	"github.com/kalypso-io/kalypso/internal/serve/access"
)

// calm is a fleet in which nothing needs a user.
func calm() query.ControlPlane {
	return query.ControlPlane{
		URL: controlPlane, Environments: []string{"dev"},
		Promotion:  &promote.Outcome{Environments: []promote.Standing{{Environment: "dev", Phase: decide.Good}}},
		Scheduling: map[string]*query.Scheduled{"dev": {At: noon, Outcome: &schedule.Outcome{Plan: &plan.Plan{}}}},
	}
}

func TestACalmFleetSaysSoOnlyIfItIsKnown(t *testing.T) {
	w := newWorld(t)
	w.fleet = fleet{calm()}
	w.see("/").wants(".calm", "Nothing needs you.")
	unread := calm()
	unread.Scheduling = nil
	w = newWorld(t)
	w.fleet = fleet{unread}
	p := w.see("/")
	if len(p.all(".calm")) > 0 {
		t.Error("the page says that nothing needs the user, and dev was not read")
	}
	p.wants(".needs-panel", "Could not check everything:")
	p.wants(".needs-panel li", "dev : its repositories have not been read yet")
}

func TestNeedsAreOnTheFirstPage(t *testing.T) {
	p := newWorld(t).fleetOfThree().see("/")
	p.wants(".needs-panel header", "Needs you 4")
	p.wants(".needs li", "✕ clusters fail no <b>image</b> dev · large-03 · 30 min ago Show clusters")
	p.wants(".needs li", "✕ problem a <tab> where spaces belong dev · write spaces Show cluster-types/large.yaml:7")
	if got := p.all(".needs a[href=/clusters?environment=dev&state=failed]"); len(got) != 1 {
		t.Error("the failed clusters are not linked")
	}
}

// TestActionsAreThoseOfTheRole checks that only users who may act are offered the confirmation page.
func TestActionsAreThoseOfTheRole(t *testing.T) {
	w := newWorld(t).fleetOfThree()
	standings := w.standings()
	standings.Scheduling["dev"].Outcome.PullRequest = &forge.PullRequest{Number: 12, Title: "dev: 2 added", URL: "https://git.example.com/pulls/12"}
	w.fleet = fleet{standings}
	w.pages.Guard.Others = []access.Authenticator{roleHeader{}}
	reader, operator := w.seeAs(access.Reader, "/needs"), w.seeAs(access.Operator, "/needs")
	reader.wants(".needs li", "an operator can do this")
	reader.wants(".needs a[href=https://git.example.com/pulls/12]", "Open #12")
	operator.wants(".needs a.button", "Review and merge")
	operator.wants(".needs a.button", "Resume")
	for _, a := range reader.all(".needs a") {
		if href := attribute(a, "href"); strings.Contains(href, "/approve") || strings.Contains(href, "/merge") || strings.Contains(href, "/resume") {
			t.Errorf("a reader is offered %s", href)
		}
	}
}

func TestNeedsAreFiltered(t *testing.T) {
	w := newWorld(t).fleetOfThree()
	if got := len(w.see("/needs?kind=problem").all(".needs li")); got != 1 {
		t.Errorf("got %d problems", got)
	}
	w.see("/needs?kind=value&environment=dev").wants(".calm", "Nothing needs you here.")
	if a := w.ask("/needs?kind=everything"); a.Code != http.StatusBadRequest {
		t.Errorf("an unknown kind: got %d", a.Code)
	}
	var got query.Needs
	a := w.ask("/needs?environment=dev", "Accept", "application/json")
	w.must(json.Unmarshal(a.Body.Bytes(), &got))
	if got.Total != 3 || got.Items[0].Kind != query.NeedClusters || len(got.Unsure) != 0 {
		t.Errorf("got %s", a.Body)
	}
}
